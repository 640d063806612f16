# Directives that are accepted: where they may stand, what is inherited, and
# what holds where nothing is said.
#
#   --- send    SECRET PATH a line: one callback each, signed with the secret
#   --- keys    the keys that are in the first Redis then
#   --- others  ... and in the other one, its database 3 first
#
# The batch of a request is b1, b2, ... of its block.

use CouponNginx;
use CouponTest;
use Test::More;
use Test::Nginx::Socket 'no_plan';

$ENV{TEST_NGINX_OTHER_PORT} = free_port();
$ENV{TEST_NGINX_SECRET} = write_file(workdir() . '/secret', "from-file\n");
$ENV{TEST_NGINX_CRLF} = write_file(workdir() . '/crlf', "from-file\r\n");
$ENV{TEST_NGINX_SOCKET} = workdir() . '/redis.sock';

my $redis = start_redis(port => $ENV{TEST_NGINX_REDIS_PORT},
                        unixsocket => $ENV{TEST_NGINX_SOCKET});
my $other = start_redis(port => $ENV{TEST_NGINX_OTHER_PORT});

add_block_preprocessor(sub {
    my ($block) = @_;

    $_->cmd('FLUSHALL') for $redis, $other;

    my @calls = map { [ split ] } split /\n/, $block->send // return;
    my @bodies = map { callback("b$_", { code => '007', status => 2 }) }
                 1 .. @calls;

    $block->set_value('request',
        [ map { "POST $calls[$_][1]\n$bodies[$_]" } 0 .. $#calls ]);
    $block->set_value('more_headers',
        [ map { 'X-Signature: ' . sign($bodies[$_], $calls[$_][0]) }
          0 .. $#calls ]);
    $block->set_value('error_code',
        [ split ' ', $block->error_code // '200 ' x @calls ]);
});

add_response_body_check(sub {
    my ($block, $body, $request) = @_;

    return unless $block->send && $request == $#{ $block->request };
    is(keys_of($redis), $block->keys, 'keys') if defined $block->keys;
    is(keys_of($other, 3, 0), $block->others, 'keys of the other Redis')
        if defined $block->others;
});

sub keys_of
{
    my ($server, @dbs) = @_;

    return join '', map {
        $server->cmd('SELECT', $_);
        map { "$_\n" } sort @{ $server->cmd('KEYS', '*') };
    } (@dbs ? @dbs : 0);
}

no_long_string();
run_tests();

__DATA__

=== TEST 1: the least that a receiver needs, and the keys it uses
--- config
    location = /cb {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
        coupon_callback_secret s3cret;
    }
--- send
s3cret /cb
--- keys
{coupons}:inbox
{coupons}:seen:sportapi:b1



=== TEST 2: everything in http
--- http_config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT db=0 connections=1;
    coupon_callback_prefix a;
    coupon_callback_secret s3cret;
    coupon_callback_signature $http_x_signature hash=sha256 encoding=hex;
    coupon_callback_signed_prefix "";
    coupon_callback_timestamp off;
    coupon_callback_batch_id "^b";
    coupon_callback_coupon_code "^0";
    coupon_callback_max_coupons 1;
    coupon_callback_dedup_window 9d;
    coupon_callback_ack enqueued;
    coupon_callback_timeout 1s;
    coupon_callback_max_pending 10;
    coupon_callback_quarantine 10;
--- config
    location = /cb { coupon_callback sportapi; }
--- send
s3cret /cb
--- keys
a:inbox
a:seen:sportapi:b1
--- no_error_log
[warn]
[error]



=== TEST 3: everything in the server, and again in a location
--- http_config
    coupon_callback_redis 127.0.0.1:1;
    coupon_callback_prefix http;
    coupon_callback_secret http;
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_OTHER_PORT;
    coupon_callback_prefix server;
    coupon_callback_secret server;
    location = /1 { coupon_callback sportapi; }
    location = /2 {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
        coupon_callback_prefix location;
        coupon_callback_secret location;
    }
--- send
server /1
location /2
http /1
server /2
--- error_code: 200 200 401 401
--- keys
location:inbox
location:seen:sportapi:b2
--- others
server:inbox
server:seen:sportapi:b1



=== TEST 4: a nested location inherits values, but receives nothing by itself
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    location /a {
        coupon_callback sportapi;
        coupon_callback_secret s3cret;
        location = /a/b { coupon_callback sportapi; }
        location = /a/c { return 404; }
    }
--- send
s3cret /a
s3cret /a/b
s3cret /a/c
--- error_code: 200 200 404
--- keys
{coupons}:inbox
{coupons}:seen:sportapi:b1
{coupons}:seen:sportapi:b2



=== TEST 5: secrets of one level stay together; any of them may match
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret old;
    coupon_callback_secret new;
    location = /1 { coupon_callback sportapi; }
    location = /2 {
        coupon_callback sportapi;
        coupon_callback_secret own;
    }
--- send
old /1
new /1
own /1
own /2
old /2
--- error_code: 200 200 401 200 401



=== TEST 6: secrets from files, encoded or not
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    location = /file {
        coupon_callback sportapi;
        coupon_callback_secret file:$TEST_NGINX_SECRET;
    }
    location = /crlf {
        coupon_callback sportapi;
        coupon_callback_secret file:$TEST_NGINX_CRLF;
    }
    location = /hex {
        coupon_callback sportapi;
        coupon_callback_secret 733363726574 encoding=hex;
    }
    location = /base64 {
        coupon_callback sportapi;
        coupon_callback_secret czNjcmV0 encoding=base64;
    }
--- send
from-file /file
from-file /crlf
s3cret /hex
s3cret /base64



=== TEST 7: another database, a socket, a name
--- config
    coupon_callback_secret s3cret;
    location = /1 {
        coupon_callback sportapi;
        coupon_callback_redis localhost:$TEST_NGINX_OTHER_PORT db=3 tls=off;
    }
    location = /2 {
        coupon_callback sportapi;
        coupon_callback_redis unix:$TEST_NGINX_SOCKET;
    }
--- send
s3cret /1
s3cret /2
--- keys
{coupons}:inbox
{coupons}:seen:sportapi:b2
--- others
{coupons}:inbox
{coupons}:seen:sportapi:b1



=== TEST 8: "if" in a receiving location
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret s3cret;
    location = /cb {
        coupon_callback sportapi;
        if ($request_method = POST) {
            set $a b;
        }
    }
--- send
s3cret /cb
--- keys
{coupons}:inbox
{coupons}:seen:sportapi:b1



=== TEST 9: "limit_except" in a receiving location
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret s3cret;
    location = /cb {
        coupon_callback sportapi;
        limit_except GET {
            allow 127.0.0.1;
            deny all;
        }
    }
--- send
s3cret /cb
--- keys
{coupons}:inbox
{coupons}:seen:sportapi:b1



=== TEST 10: reached by rewrite, by a regular expression, by a prefix
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret s3cret;
    location = /old { rewrite ^ /cb/new last; }
    location /cb/ { coupon_callback sportapi; }
    location ~ ^/re/\d+$ { coupon_callback sportapi; }
--- send
s3cret /old
s3cret /re/12
s3cret /cb/x?y=z



=== TEST 11: a timestamp that the signed prefix covers
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret s3cret;
    coupon_callback_timestamp $http_x_t tolerance=1m;
    location = /1 {
        coupon_callback sportapi;
        coupon_callback_signed_prefix $http_x_t;
    }
    location = /2 {
        coupon_callback sportapi;
        coupon_callback_signed_prefix "$http_x_t_no.$http_x_t:";
    }
    location = /3 {
        coupon_callback sportapi;
        coupon_callback_timestamp ${http_x_t};
        coupon_callback_signed_prefix "v${http_x_t}0";
    }
    location = /4 {
        coupon_callback sportapi;
        coupon_callback_timestamp off;
    }
    location = /5 {
        coupon_callback sportapi;
        coupon_callback_signed_prefix "v${http_x_t}0";
    }
    location = /6 {
        coupon_callback sportapi;
        coupon_callback_timestamp ${http_x_t}000;
        coupon_callback_signed_prefix "v$http_x_t_no.${http_x_t}000.";
    }
    location = /7 {
        coupon_callback sportapi;
        coupon_callback_timestamp ${http_x_t};
        coupon_callback_signed_prefix $http_x_t;
    }
--- send
s3cret /1
s3cret /4
--- error_code: 401 200



=== TEST 12: a dedup window that is too short is a warning
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret s3cret;
    coupon_callback_dedup_window 80m;
    location = /cb { coupon_callback sportapi; }
--- send
s3cret /cb
--- error_log eval
qr/\[warn\] .*"coupon_callback_dedup_window" is shorter than the 81 minutes/



=== TEST 13: a dedup window that is long enough is none
--- config
    coupon_callback_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    coupon_callback_secret s3cret;
    coupon_callback_dedup_window 81m;
    location = /cb { coupon_callback sportapi; }
--- send
s3cret /cb
--- no_error_log
[warn]



=== TEST 14: loaded and not used, it needs nothing and connects nowhere
--- config
    coupon_callback_redis 127.0.0.1:1;
    location = /ok { return 200 ok; }
--- request
GET /ok
--- response_body chomp
ok
--- no_error_log
coupon_callback
[error]



=== TEST 15: metrics where nothing receives
--- config
    location = /metrics { coupon_callback_metrics; }
--- request
GET /metrics
--- response_body_like: coupon_callback_pending 0
--- no_error_log
[error]
