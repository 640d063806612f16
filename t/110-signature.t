# Who may send a callback: the signature and the time it was made at.
#
#   --- receiver      what stands in the receiving location; its secret is
#                     s3cret unless it says another
#   --- server        what stands around it
#   --- more_headers  an array: one request with the same callback for each
#   --- error_code    what each is answered
#
# 200 is a callback that was let in, 401 one that was not.

use CouponNginx;
use CouponTest;
use Digest::SHA qw(hmac_sha1 hmac_sha1_hex hmac_sha256 hmac_sha256_hex
                   hmac_sha512 hmac_sha512_hex);
use MIME::Base64 'encode_base64';
use Test::More;
use Test::Nginx::Socket 'no_plan';

our $body = callback('b1', { code => '007', status => 2 });
our $hex = hmac_sha256_hex($body, 's3cret');
our $base64 = encode_base64(hmac_sha256($body, 's3cret'), '');
our $wrong = hmac_sha256_hex($body, 'S3cret');

# nginx joins header lines of one name from 1.23 on
my ($release) = `$ENV{TEST_NGINX_BINARY} -v 2>&1` =~ m{nginx/1\.(\d+)};
our $joined = $release >= 23 ? 200 : 401;

my $redis = start_redis(port => $ENV{TEST_NGINX_REDIS_PORT});

add_block_preprocessor(sub {
    my ($block) = @_;
    my $receiver = $block->receiver // '';
    my $server = $block->server // '';
    my $secret = $receiver =~ /callback_secret/ ? ''
                                                : 'coupon_callback_secret s3cret;';
    my @headers = @{ $block->more_headers };
    my $text = $block->body // $body;

    $block->set_value('config', <<"END");
        $server
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:\$TEST_NGINX_REDIS_PORT;
            $secret
            $receiver
        }
END
    $block->set_value('request', [ map { "POST /cb\n$text" } @headers ]);
    $block->set_value('error_code', [ split ' ', $block->error_code ]);
});


# Headers, one each of these values.
sub header
{
    my ($name, @values) = @_;

    return [ map { "$name: $_" } @values ];
}


# What a sender makes of it that signs its clock as well: "TIME.BODY".
sub stamped
{
    my ($time) = @_;

    return "X-Time: $time\nX-Signature: " . hmac_sha256_hex("$time.$body", 's3cret');
}


sub now_ms
{
    return int 1000 * Time::HiRes::time();
}


no_long_string();
run_tests();

is_deeply([ sort @{ $redis->cmd('KEYS', '*') } ],
          ['{coupons}:inbox', '{coupons}:rejected', '{coupons}:seen:sportapi:b1'],
          'nothing else was kept,');
is_deeply([ map { $_->{body} } $redis->entries('{coupons}:rejected') ], [''],
          '... and nothing unsigned at all');

__DATA__

=== TEST 1: hex, in either case
--- more_headers eval
::header('X-Signature', $::hex, uc $::hex, ucfirst $::hex, "  $::hex  ")
--- error_code: 200 200 200 200



=== TEST 2: no signature, an empty one, and what is none
--- more_headers eval
['X-Other: 1', "X-Signature: ", @{ ::header('X-Signature', ',', ', ,', 'x',
 $::wrong, '0' x 64, $::hex . '0', $::hex . '00', substr($::hex, 1),
 substr($::hex, 0, 62), substr($::hex, 0, 2), $::hex . 'g', '0x' . $::hex,
 $::hex . $::hex, 'g' x 64, 'sha256=' . $::hex, $::base64, 'f' x 7000) }]
--- error_code eval
'401 ' x 19



=== TEST 3: one changed digit, in many places
--- more_headers eval
::header('X-Signature', map { my $s = $::hex;
    substr($s, 4 * $_, 1) =~ tr/0-9a-f/1-9a-f0/; $s } 0 .. 15)
--- error_code eval
'401 ' x 16



=== TEST 4: several, parted by commas or spaces; one match is enough
--- more_headers eval
::header('X-Signature', "$::wrong,$::hex", "$::hex,$::wrong",
         "$::wrong $::hex", "$::wrong, $::hex", ",,$::hex,,",
         "x $::wrong $::wrong  $::hex x", "$::wrong;$::hex",
         "$::wrong,$::wrong")
--- error_code: 200 200 200 200 200 200 401 401



=== TEST 5: in two lines they are a list where nginx joins them
--- more_headers eval
["X-Signature: $::hex\nX-Signature: $::wrong",
 "X-Signature: $::wrong\nX-Signature: $::hex"]
--- error_code eval
"200 $::joined"



=== TEST 6: several headers by one value
--- receiver
coupon_callback_signature "$http_x_new $http_x_old";
--- more_headers eval
["X-New: $::hex", "X-Old: $::hex", "X-New: $::wrong\nX-Old: $::hex",
 "X-New: $::wrong\nX-Old: $::wrong", "X-Signature: $::hex"]
--- error_code: 200 200 200 401 401



=== TEST 7: base64, with padding or without
--- receiver
coupon_callback_signature $http_x_signature encoding=base64;
--- more_headers eval
my $bare = $::base64 =~ s/=+$//r;
::header('X-Signature', $::base64, $bare, "x,$::base64", $::base64 . '=',
         '=' . $::base64, lc $::base64, $::hex, substr($::base64, 0, 40))
--- error_code: 200 200 200 401 401 401 401 401



=== TEST 8: sha1
--- receiver
coupon_callback_signature $http_x_signature hash=sha1;
--- more_headers eval
::header('X-Signature', ::hmac_sha1_hex($::body, 's3cret'), $::hex,
         substr($::hex, 0, 40))
--- error_code: 200 401 401



=== TEST 9: sha512, in base64
--- receiver
coupon_callback_signature $http_x_signature encoding=base64 hash=sha512;
--- more_headers eval
::header('X-Signature',
         ::encode_base64(::hmac_sha512($::body, 's3cret'), ''), $::base64)
--- error_code: 200 401



=== TEST 10: sha512, in hex
--- receiver
coupon_callback_signature $http_x_signature hash=sha512;
--- more_headers eval
::header('X-Signature', ::hmac_sha512_hex($::body, 's3cret'), $::hex,
         $::hex . $::hex)
--- error_code: 200 401 401



=== TEST 11: a prefix must be there, exactly
--- receiver
coupon_callback_signature $http_x_signature prefix=sha256=;
--- more_headers eval
::header('X-Signature', "sha256=$::hex", $::hex, "SHA256=$::hex",
         "sha1=$::hex", "sha256=", "sha256=sha256=$::hex",
         "sha1=$::wrong,sha256=$::hex", "sha256= $::hex")
--- error_code: 200 401 401 401 401 401 200 401



=== TEST 12: rotation: the old secret, the new one, none of them
--- receiver
coupon_callback_secret new;
coupon_callback_secret s3cret;
--- more_headers eval
::header('X-Signature', $::hex, ::hmac_sha256_hex($::body, 'new'), $::wrong)
--- error_code: 200 200 401



=== TEST 13: a long secret, longer than the block of the hash
--- receiver eval
'coupon_callback_secret ' . 'k' x 200 . ';'
--- more_headers eval
::header('X-Signature', map { ::hmac_sha256_hex($::body, 'k' x $_) } 200, 199)
--- error_code: 200 401



=== TEST 14: the body is signed as it is, byte for byte
--- body eval
$::body =~ s/\{/{ /r
--- more_headers eval
::header('X-Signature', $::hex)
--- error_code: 401



=== TEST 15: an unsigned body is not looked at, be it what it may
--- body eval
"\0{\"batchId\": not JSON"
--- more_headers eval
::header('X-Signature', $::hex, '')
--- error_code: 401 401
--- no_error_log
malformed



=== TEST 16: an empty body is signed as any other
--- body
--- more_headers eval
["X-Signature: $::hex", "X-Signature: $::hex\nContent-Length: 0",
 "Content-Length: 0",
 'X-Signature: ' . ::hmac_sha256_hex('', 's3cret') . "\nContent-Length: 0"]
--- error_code: 401 401 401 400



=== TEST 17: a signed prefix with the time: fresh, or stale
--- receiver
# the times are computed when the file is read, so there must be some slack
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time;
--- more_headers eval
[map { ::stamped(time + $_) } 0, -100, 280, -320, 900, -86400, 86400]
--- error_code: 200 200 200 401 401 401 401



=== TEST 18: the time in milliseconds
--- receiver
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time;
--- more_headers eval
[map { ::stamped(::now_ms() + $_) } 0, -100_000, 280_000, -320_000, 900_000]
--- error_code: 200 200 200 401 401



=== TEST 19: another tolerance
--- receiver
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time tolerance=1h;
--- more_headers eval
[map { ::stamped(time + $_) } -3400, 3500, -3700, 4200]
--- error_code: 200 200 401 401



=== TEST 20: what is no time, well signed
--- receiver
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time;
--- more_headers eval
[map { ::stamped($_) } 'now', '-' . time, '+' . time, time . '.5', time . 'x',
 '0x' . sprintf('%x', time), '', '0', '9' x 20, 2 ** 63, 'nan',
 '2026-11-30T22:00:00Z']
--- error_code eval
'401 ' x 12



=== TEST 21: the time is missing, or not the one that was signed
--- receiver
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time;
--- more_headers eval
["X-Signature: $::hex",
 'X-Signature: ' . ::hmac_sha256_hex(".$::body", 's3cret'),
 ::stamped(time - 1000) =~ s/^X-Time: \d+/'X-Time: ' . time/er]
--- error_code: 401 401 401



=== TEST 22: all parts of a directive are inherited together
--- server
coupon_callback_signature $http_x_signature hash=sha1 encoding=base64 prefix=a=;
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time tolerance=1h;
--- more_headers eval
[map { my $text = time - 3000 . ".$::body"; my ($time) = $text =~ /^(\d+)/;
       "X-Time: $time\nX-Signature: $_"
       . ::encode_base64(::hmac_sha1($text, 's3cret'), '') } 'a=', '', 'b=']
--- error_code: 200 401 401



=== TEST 23: ... and replaced together
--- server
coupon_callback_signature $http_x_other hash=sha1 encoding=base64 prefix=a=;
coupon_callback_signed_prefix "$http_x_time.";
coupon_callback_timestamp $http_x_time tolerance=1h;
--- receiver
coupon_callback_signature $http_x_signature;
coupon_callback_timestamp $http_x_time;
--- more_headers eval
[map { ::stamped(time + $_) } 0, -200, -320]
--- error_code: 200 200 401
