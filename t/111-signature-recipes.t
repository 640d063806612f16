# The headers of well-known senders, each by the configuration that reads them;
# and, where the file that CC_HMAC_VECTORS names is at hand, the vectors of
# those senders themselves.
#
# A body that is let in is answered 200, or 400 if it is no coupon callback; one
# that is not is answered 401.

use strict;
use warnings;

use CouponTest;
use Digest::SHA qw(hmac_sha256 hmac_sha256_hex);
use JSON::PP 'decode_json';
use MIME::Base64 qw(decode_base64 encode_base64);
use Test::More;

# what the locations of a sender hold, beside the secret; tolerance for the
# vectors is as good as none: they were made years ago
my %recipe = (
    plain_hex => 'coupon_callback_signature $http_x_signature;',

    github =>
        'coupon_callback_signature $http_x_hub_signature_256 prefix=sha256=;',

    github_sha1 => 'coupon_callback_signature $http_x_hub_signature
                    hash=sha1 prefix=sha1=;',

    shopify => 'coupon_callback_signature $http_x_shopify_hmac_sha256
                encoding=base64;',

    typeform => 'coupon_callback_signature $http_typeform_signature
                 encoding=base64 prefix=sha256=;',

    square => 'coupon_callback_signature $http_x_square_hmacsha256_signature
                   encoding=base64;
               coupon_callback_signed_prefix
                   https://pay.example.com/hooks/square;',

    slack => 'coupon_callback_signature $http_x_slack_signature prefix=v0=;
              coupon_callback_signed_prefix
                  "v0:$http_x_slack_request_timestamp:";
              coupon_callback_timestamp $http_x_slack_request_timestamp TOL;',

    standard_webhooks =>
        'coupon_callback_signature $http_webhook_signature
             encoding=base64 prefix=v1,;
         coupon_callback_signed_prefix
             "$http_webhook_id.$http_webhook_timestamp.";
         coupon_callback_timestamp $http_webhook_timestamp TOL;',

    stripe => 'coupon_callback_signature $http_stripe_signature prefix=v1=;
               coupon_callback_signed_prefix "$stripe_timestamp.";
               coupon_callback_timestamp $stripe_timestamp TOL;',

    paddle => 'coupon_callback_signature "$paddle_signature";
               coupon_callback_signed_prefix "$paddle_timestamp:";
               coupon_callback_timestamp $paddle_timestamp TOL;',
);

my $http = <<'END';
    map $http_stripe_signature $stripe_timestamp {
        "~(?:^|,)t=(?<t>[0-9]+)" $t;
    }
    map $http_paddle_signature $paddle_timestamp {
        "~(?:^|;)ts=(?<ts>[0-9]+)" $ts;
    }
    map $http_paddle_signature $paddle_signature {
        "~(?:^|;)h1=(?<h1>[0-9a-f]+)" $h1;
    }
END

my $redis = start_redis();
my $body = callback('b1', { code => '007', status => 2 });
my $now = time;
my $hex = hmac_sha256_hex($body, 's3cret');
my $whsec = encode_base64('k' x 32, '');
my @locations;


# A location for this sender and secret; returns its path.
sub location
{
    my ($sender, $secret, $tolerance) = @_;
    my $path = '/' . scalar @locations;

    push @locations, "location = $path {
        coupon_callback sportapi;
        coupon_callback_secret $secret;
        " . ($recipe{$sender} =~ s/TOL/$tolerance/r) . "\n}";
    return $path;
}


# --- what each of them sends now

my @senders = (
    [plain_hex => { 'X-Signature' => $hex }],
    [github => { 'X-Hub-Signature-256' => "sha256=$hex" }],
    [github_sha1 => { 'X-Hub-Signature' =>
                      'sha1=' . Digest::SHA::hmac_sha1_hex($body, 's3cret') }],
    [shopify => { 'X-Shopify-Hmac-Sha256' => base64($body) }],
    [typeform => { 'Typeform-Signature' => 'sha256=' . base64($body) }],
    [square => { 'X-Square-HmacSha256-Signature' =>
                 base64("https://pay.example.com/hooks/square$body") }],
    [slack => { 'X-Slack-Request-Timestamp' => $now,
                'X-Slack-Signature' => 'v0=' . hex_of("v0:$now:$body") }],
    [stripe => { 'Stripe-Signature' =>
                 "t=$now,v0=" . hex_of('old') . ',v1=' . hex_of('other')
                 . ',v1=' . hex_of("$now.$body") }],
    [paddle => { 'Paddle-Signature' =>
                 "ts=$now;h1=" . hex_of("$now:$body") }],
    [standard_webhooks => { 'Webhook-Id' => 'msg_1',
                            'Webhook-Timestamp' => $now,
                            'Webhook-Signature' => 'v1a,AAAA v1,'
                                . base64("msg_1.$now.$body", 'k' x 32) }],
);

for my $sender (@senders) {
    my $secret = $sender->[0] eq 'standard_webhooks'
                 ? "$whsec encoding=base64" : 's3cret';
    push @$sender, location($sender->[0], $secret, '');
}


# --- their own vectors, if they are at hand

my @vectors;

if (my $file = $ENV{CC_HMAC_VECTORS}) {
    @vectors = grep { $recipe{ $_->{profile} }
                      && $_->{want} =~ /^(?:accept|reject)$/ && !stale($_) }
               @{ decode_json(read_file($file))->{vectors} };
    $_->{path} = location($_->{profile}, secret_of($_), 'tolerance=10000d')
        for @vectors;
}

my $nginx = start_nginx(http => $http, server => <<"END");
    coupon_callback_redis 127.0.0.1:$redis->{port};
    @locations
END

for my $sender (@senders) {
    my ($name, $headers, $path) = @$sender;
    my $answer = post($nginx, $path, $body, headers => $headers);

    is $answer->{status}, 200, "$name: let in";

    for my $header (sort keys %$headers) {
        my %changed = (%$headers,
                       $header => $headers->{$header} =~ s/(\w)(\W*)$/+$2/r);
        $answer = post($nginx, $path, $body, headers => \%changed);
        is $answer->{status}, 401, "... not with another $header";
    }

    $answer = post($nginx, $path, "$body ", headers => $headers);
    is $answer->{status}, 401, '... not with another body';
}

SKIP: {
    skip 'no CC_HMAC_VECTORS', 1 unless @vectors;

    for my $vector (@vectors) {
        # Svix sends the same under its own name
        my %headers = map { s/^svix-/webhook-/r => $vector->{headers}{$_} }
                      keys %{ $vector->{headers} };
        my $answer = post($nginx, $vector->{path},
                          decode_base64($vector->{body_b64}),
                          headers => \%headers);
        is $answer->{status} == 401 ? 'reject' : 'accept', $vector->{want},
           "vector $vector->{id}" or diag explain $vector, $answer;
    }

    cmp_ok scalar @vectors, '>', 40, 'vectors were there';
}

done_testing;


sub base64
{
    my ($text, $secret) = @_;

    return encode_base64(hmac_sha256($text, $secret // 's3cret'), '');
}


sub hex_of
{
    my ($text) = @_;

    return hmac_sha256_hex($text, 's3cret');
}


# Was its time the reason to refuse it?  The clock here is another.
sub stale
{
    my ($vector) = @_;
    my ($time) = map { /(?:^|,|;)ts?=(\d+)/ ? $1 : /^(\d{9,13})$/ ? $1 : () }
                 values %{ $vector->{headers} };

    return 0 unless defined $vector->{now} && defined $time;
    return abs($vector->{now} - $time) > 300;
}


# The secret as the directive takes it.
sub secret_of
{
    my ($vector) = @_;
    my $file = workdir() . "/secret-$vector->{id}";
    my $secret = $vector->{secret};

    if ($vector->{profile} eq 'standard_webhooks') {
        write_file($file, $secret =~ s/^whsec_//r);
        return "file:$file encoding=base64";
    }

    write_file($file, "$secret\n");
    return "file:$file" . ($vector->{secret_form} eq 'hex' ? ' encoding=hex'
                                                           : '');
}
