package CouponStores;

# Apple and Google, played by a test: a throw-away App Store PKI and a
# throw-away key of Google, both made by openssl in the test's folder, and what
# the two send with them, signed now.
#
#   my $apple = apple_pki();                      { root => PATH, ... }
#   apple_body($apple, type => 'REFUND', uuid => '...', transaction => {...})
#   my $key = google_key('kid-1');
#   jwks($key, ...)                               the text of a key file
#   google_token($key, email => '...')            for "Authorization: Bearer"
#   google_body(id => '1', data => {...})         a wrapped push
#   google_notification(data => {...})            the body of an unwrapped one
#   google_lines(id => '1')                       ... and its lines of the head
#
# An option with the value undef leaves that member out.

use strict;
use warnings;

use Exporter 'import';
use JSON::PP ();
use MIME::Base64 qw(encode_base64 encode_base64url);
use Time::HiRes 'time';

use CouponTest;

our @EXPORT = qw(
    apple_pki apple_jws apple_transaction apple_payload apple_body
    google_key jwks google_token google_body google_notification google_lines
    BUNDLE APP_ID AUDIENCE EMAIL SUBSCRIPTION PACKAGE
);

use constant {
    BUNDLE       => 'com.example.refunds',
    APP_ID       => 1234567890,
    AUDIENCE     => 'https://pay.example.com/hooks/google',
    EMAIL        => 'push@refund-demo.iam.gserviceaccount.com',
    SUBSCRIPTION => 'projects/refund-demo/subscriptions/play',
    PACKAGE      => 'com.example.refunds',
};

my $json = JSON::PP->new->canonical;
my $made = 0;


# --- Apple ------------------------------------------------------------------

# Root, intermediate and leaf with Apple's extensions; all valid from now on.
sub apple_pki
{
    my $dir = workdir() . '/apple' . ++$made;

    mkdir $dir or die "$dir: $!";
    ec_key("$dir/$_.key") for qw(root inter leaf);

    openssl('req', '-x509', '-new', '-key', "$dir/root.key", '-out',
            "$dir/root.pem", '-subj', '/CN=Test Root', '-days', 3650,
            '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
    certificate($dir, 'inter', 'root', <<'END');
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign
1.2.840.113635.100.6.2.1 = DER:0500
END
    certificate($dir, 'leaf', 'inter', <<'END');
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
1.2.840.113635.100.6.11.1 = DER:0500
END

    return {
        root => "$dir/root.pem", key => "$dir/leaf.key",
        x5c => [ map { encode_base64(der("$dir/$_.pem"), '') }
                     qw(leaf inter root) ],
    };
}


sub certificate
{
    my ($dir, $name, $issuer, $extensions) = @_;

    write_file("$dir/$name.ext", $extensions . <<'END');
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
END
    openssl('req', '-new', '-key', "$dir/$name.key", '-subj', "/CN=Test $name",
            '-out', "$dir/$name.csr");
    openssl('x509', '-req', '-in', "$dir/$name.csr", '-CA',
            "$dir/$issuer.pem", '-CAkey', "$dir/$issuer.key", '-set_serial',
            ++$made, '-days', 3650, '-extfile', "$dir/$name.ext",
            '-out', "$dir/$name.pem");
}


sub ec_key
{
    openssl('genpkey', '-algorithm', 'EC', '-pkeyopt',
            'ec_paramgen_curve:P-256', '-out', $_[0]);
}


sub der
{
    return openssl('x509', '-in', $_[0], '-outform', 'DER');
}


# A JWS by the leaf of the PKI.
sub apple_jws
{
    my ($pki, $payload) = @_;
    my $text = encode_base64url($json->encode({ alg => 'ES256',
                                                x5c => $pki->{x5c} }))
               . '.' . encode_base64url($json->encode($payload));

    # DER: SEQUENCE { INTEGER r, INTEGER s }, each maybe with a zero in front
    my ($r, $s) = unpack 'xx x C/a x C/a', signature($pki->{key}, $text);

    return "$text." . encode_base64url(join '',
        map { substr("\0" x 32 . $_, -32) } $r, $s);
}


sub apple_transaction
{
    my ($pki, %fields) = @_;

    return apple_jws($pki, members(
        transactionId => '2000000001', originalTransactionId => '2000000001',
        bundleId => BUNDLE, environment => 'Production',
        productId => 'coins.500', signedDate => now_ms(),
        revocationDate => now_ms(), %fields));
}


# The payload of a notification.  Options: type, uuid, date, version, transaction
# (a hash of its fields, or a JWS), and everything else is a member of data.
sub apple_payload
{
    my ($pki, %options) = @_;
    my %own = (type => 'REFUND', uuid => uuid(), date => now_ms(),
               transaction => {}, version => '2.0');

    exists $options{$_} and $own{$_} = delete $options{$_} for keys %own;

    my $inner = $own{transaction};
    $inner = apple_transaction($pki, %$inner) if ref $inner;

    return members(
        notificationType => $own{type}, notificationUUID => $own{uuid},
        signedDate => $own{date}, version => $own{version},
        data => members(bundleId => BUNDLE, appAppleId => APP_ID,
                        environment => 'Production',
                        signedTransactionInfo => $inner, %options));
}


sub apple_body
{
    my ($pki, %options) = @_;

    return $json->encode({ signedPayload =>
        apple_jws($pki, apple_payload($pki, %options)) });
}


# --- Google -----------------------------------------------------------------

# An RSA key: { kid, path, n }.
sub google_key
{
    my ($kid, $bits) = @_;
    my $path = workdir() . '/google' . ++$made . '.key';

    openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt',
            'rsa_keygen_bits:' . ($bits // 2048), '-out', $path);
    my ($modulus) = openssl('rsa', '-in', $path, '-noout', '-modulus')
        =~ /Modulus=([0-9A-F]+)/;

    return { kid => $kid, path => $path,
             n => encode_base64url(pack 'H*', $modulus) };
}


# The text of a key file; a number among the keys is when the set expires.
sub jwks
{
    my (@keys) = @_;
    my ($expires) = grep { !ref } @keys;

    return $json->encode(members(
        expires => $expires,
        keys => [ map { { kty => 'RSA', alg => 'RS256', use => 'sig',
                          kid => $_->{kid}, n => $_->{n}, e => 'AQAB' } }
                  grep { ref } @keys ]));
}


sub google_token
{
    my ($key, %claims) = @_;
    my $now = int time;
    my $text = encode_base64url($json->encode({ alg => 'RS256', typ => 'JWT',
                                                kid => $key->{kid} }))
        . '.' . encode_base64url($json->encode(members(
            iss => 'https://accounts.google.com', aud => AUDIENCE,
            email => EMAIL, email_verified => JSON::PP::true,
            sub => '1', iat => $now - 600, exp => $now + 3000, %claims)));

    return "$text." . encode_base64url(signature($key->{path}, $text));
}


# A push.  Options: id, subscription, data (a hash; a string as it is), more
# (members of the envelope).
sub google_body
{
    my (%options) = @_;
    my $data = $options{data} // {};

    $data = encode_base64(google_notification(%options), '') if ref $data;

    return $json->encode(members(
        message => members(data => $data, messageId => $options{id},
                           message_id => $options{id}),
        subscription => exists $options{subscription} ? $options{subscription}
                                                      : SUBSCRIPTION,
        %{ $options{more} // {} }));
}


sub google_notification
{
    my (%options) = @_;
    my $data = $options{data} // { testNotification => { version => '1.0' } };

    return $json->encode(members(
        version => '1.0', packageName => PACKAGE,
        eventTimeMillis => now_ms() . '', %$data));
}


# The lines of an unwrapped push with metadata: a hash for post().  Options: id,
# subscription, time.
sub google_lines
{
    my (%options) = (subscription => SUBSCRIPTION,
                     time => '2026-11-30T19:59:37.118Z', @_);

    return %{ members(
        'X-Goog-Pubsub-Message-Id' => $options{id},
        'x-goog-pubsub-subscription-name' => $options{subscription},
        'x-goog-pubsub-publish-time' => $options{time}) };
}


# --- both -------------------------------------------------------------------

sub members
{
    my (%all) = @_;

    return { map { $_ => $all{$_} } grep { defined $all{$_} } keys %all };
}


sub now_ms
{
    return int 1000 * time;
}


sub uuid
{
    return join '-', map { join '', map { sprintf '%x', rand 16 } 1 .. $_ }
                         8, 4, 4, 4, 12;
}


# The bytes of a signature over a text, SHA-256.
sub signature
{
    my ($key, $text) = @_;
    my $file = write_file(workdir() . '/to-sign', $text);

    return openssl('dgst', '-sha256', '-sign', $key, $file);
}


sub openssl
{
    my (@arguments) = @_;
    my $log = workdir() . '/openssl.log';

    my $pid = open(my $out, '-|') // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', $log;
        exec 'openssl', @arguments or POSIX::_exit(127);
    }

    binmode $out;
    local $/;
    my $text = <$out> // '';
    close $out or die "openssl @arguments: ", read_file($log);

    return $text;
}


1;
