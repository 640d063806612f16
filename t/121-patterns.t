# The default shapes of batch ids and coupon codes are told by a table; the same
# patterns in a directive by PCRE.  Do both, and Perl, judge every text the same?
# A pattern that takes everything does not take control characters.
#
# Every character up to U+00FF, as it is and escaped, in the first place, in the
# middle, in the last and alone, and every length around the limits, as a batch
# id and as a coupon code.  What is no JSON there, or no UTF-8, all refuse.

use strict;
use warnings;

use CouponTest;
use Test::More;

use constant AT_ONCE => 64;

my %pattern = (batch_id => '^[\x21-\x7e]{1,64}$',
               coupon_code => '^[0-9A-Za-z_-]{1,64}$');
my $redis = start_redis(appendonly => 'no');
my $nginx = start_nginx(server => <<"END");
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_ack enqueued;
    coupon_callback_secret s3cret;
    coupon_callback_quarantine off;
    location = /table { coupon_callback sportapi; }
    location = /pcre {
        coupon_callback sportapi;
        coupon_callback_prefix pcre;
        coupon_callback_batch_id "$pattern{batch_id}";
        coupon_callback_coupon_code "$pattern{coupon_code}";
    }
    location = /all {
        coupon_callback sportapi;
        coupon_callback_prefix all;
        coupon_callback_batch_id (?s).;
        coupon_callback_coupon_code (?s).;
    }
END


# What a field may hold, as bytes that are read, and as JSON text.
sub texts
{
    my @texts = map { [('a' x $_) x 2] } 0 .. 2, 63 .. 66, 128;
    push @texts, ['a' x $_, '\u0061' x $_] for 1, 63 .. 65;

    for my $code (0 .. 255) {
        my $read = chr $code;
        utf8::encode($read);

        my $raw = $read =~ s/(["\\])/\\$1/r;
        my $lone = chr $code;

        # a byte that is no character by itself is never read
        push @texts, place(undef, $lone) if $code > 127;
        push @texts, place($code < 32 ? undef : $read, $raw);
        push @texts, place($code ? $read : undef, sprintf '\u%04x', $code);
    }

    return @texts;
}


sub place
{
    my ($read, $text) = @_;

    return map { [defined $read ? "$_->[0]$read$_->[1]" : undef,
                  "$_->[0]$text$_->[1]"] }
           ['', ''], ['', 'a'], ['a', 'a'], ['a', ''],
           ['a' x 63, ''], ['a' x 64, ''];
}


sub body
{
    my ($field, $text) = @_;
    my %fields = (batch_id => 'b', coupon_code => '7', $field => $text);

    return qq({"batchId":"$fields{batch_id}","couponCount":1,"coupons":)
           . qq([{"coupon_code":"$fields{coupon_code}","status":2}]});
}


# The statuses of all these bodies, some at once.
sub statuses
{
    my ($path, @bodies) = @_;
    my @statuses;

    while (my @some = splice @bodies, 0, AT_ONCE) {
        push @statuses, map { $_->{status} }
            post_all($nginx, map { [$path, $_, secret => 's3cret'] } @some);
    }

    return @statuses;
}


for my $field (sort keys %pattern) {
    my @texts = texts();
    my @bodies = map { body($field, $_->[1]) } @texts;
    my $shape = qr/^(?!.*\n\z)(?:$pattern{$field})/s;
    my %shape = ('/table' => $shape, '/pcre' => $shape,
                 '/all' => qr/^[^\x00-\x1f\x7f]+\z/);

    for my $path (sort keys %shape) {
        my @got = statuses($path, @bodies);
        my @wanted = map { defined $_->[0] && $_->[0] =~ $shape{$path} ? 200 : 400 }
                     @texts;
        my $taken = grep { $_ == 200 } @wanted;
        my @wrong = grep { $got[$_] != $wanted[$_] } 0 .. $#texts;

        is scalar @wrong, 0, "$field by $path: " . @texts . " texts, $taken good";
        diag map { "$got[$_] instead of $wanted[$_]: $bodies[$_]\n" }
             @wrong[0 .. ($#wrong < 4 ? $#wrong : 4)] if @wrong;

        cmp_ok $taken, '>', 200, '... as it should be';
    }
}

done_testing;
