# What nginx -t refuses in the value of one directive.
#
# The table has what stands in a receiving location that is complete otherwise,
# and a pattern of the message, which begins behind the directive's name.

use CouponNginx;
use CouponTest;
use Test::Nginx::Socket 'no_plan';

my $stamped = 'coupon_callback_signed_prefix "$http_x_t.";';

my @refused = (
    ['redis 127.0.0.1 db=one'                  => 'parameter'],
    ['redis 127.0.0.1 db=-1'                   => 'parameter'],
    ['redis 127.0.0.1 db=99999999999999999999' => 'parameter'],
    ['redis 127.0.0.1 connections=0'           => 'parameter'],
    ['redis 127.0.0.1 connections=100000'      => 'parameter'],
    ['redis 127.0.0.1 connections='            => 'parameter'],
    ['redis 127.0.0.1 user='                   => 'parameter'],

    ['prefix ""'             => 'empty'],
    ['ack always'            => '"fsync".*"enqueued"'],
    ['ack replicas=0'        => '"replicas=N"'],
    ['ack replicas=some'     => '"replicas=N"'],
    ['ack fsync timeout=0'   => '"timeout=TIME"'],
    ['ack enqueued timeout=1s' => '"timeout=TIME"'],
    ['ack fsync timeout=10s' => 'less than 10 seconds'],
    ['ack fsync 2s'          => '"timeout=TIME"'],
    ['timeout 10s'           => 'less than the 10 seconds'],
    ['timeout 1h'            => 'less than the 10 seconds'],
    ['timeout 0'             => 'more than 0'],
    ['timeout soon'          => 'invalid'],
    ['dedup_window 0'        => 'more than 0'],
    ['dedup_window ever'     => 'invalid'],
    ['max_pending 0'         => '1 or more'],
    ['max_pending -1'        => 'invalid number'],
    ['max_coupons 0'         => '1 or more'],
    ['max_coupons many'      => 'invalid number'],
    ['quarantine 0'          => '"off"'],
    ['quarantine some'       => '"off"'],
    ['batch_id "^[a-z$"'     => 'pattern'],
    ['coupon_code "("'       => 'pattern'],

    ['signature $http_x_signature hash=md5'      => 'hash=md5'],
    ['signature $http_x_signature encoding=raw'  => 'encoding=raw'],
    ['signature $http_x_signature algorithm=sha' => 'algorithm=sha'],
    ['timestamp $http_x_t tolerance=0'    => '"tolerance=TIME"', $stamped],
    ['timestamp $http_x_t tolerance=soon' => '"tolerance=TIME"', $stamped],
    ['timestamp $http_x_t skew=5m'        => '"tolerance=TIME"', $stamped],
);

# only a secret may be given several times
for my $once ('redis 127.0.0.1', 'prefix "{a}"', 'signature $http_x_s',
              'signed_prefix v0:', 'timestamp off', 'batch_id a',
              'coupon_code a', 'max_coupons 5', 'dedup_window 9d',
              'ack enqueued', 'timeout 2s', 'max_pending 7', 'quarantine 8')
{
    push @refused, [$once, 'duplicate', "coupon_callback_$once;"];
}

my $number = 0;

spec_string(join '', map { block(@$_) } @refused);
no_long_string();
run_tests();


sub block
{
    my ($value, $message, $more) = @_;
    my ($directive) = $value =~ /^(\w+)/;
    my $redis = $value =~ /^redis/ ? '' : 'coupon_callback_redis 127.0.0.1;';

    $number++;
    $more //= '';

    # a message may speak of the value first and of the directive then
    return <<"END";
=== TEST $number: coupon_callback_$value
--- config
    location = /cb {
        coupon_callback sportapi;
        coupon_callback_secret s3cret;
        $redis
        $more
        coupon_callback_$value;
    }
--- must_die
--- error_log eval
qr/^(?=.*\\[emerg\\] .*"coupon_callback_$directive")(?=.*$message)/
--- no_error_log
[alert]

END
}
