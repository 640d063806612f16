# What nginx -t refuses: everything that would fail open or lose money.
#
#   --- in_location   what stands in a receiving location, else complete
#   --- config        what stands in the server, instead
#   --- says          a pattern of the message; it always names the directive
#
# No message may hold a secret: all secrets and passwords here begin with hush.

use CouponNginx;
use CouponTest;
use Test::Nginx::Socket 'no_plan';

$ENV{TEST_NGINX_DIR} = workdir();

write_file(workdir() . '/empty', '');
write_file(workdir() . '/newline', "\n");
write_file(workdir() . '/long', 'hush' x 2000);
write_file(workdir() . '/not-hex', "hush\n");

add_block_preprocessor(sub {
    my ($block) = @_;

    if (defined(my $text = $block->in_location)) {
        $block->set_value('config', <<"END");
            coupon_callback_redis 127.0.0.1:6379;
            coupon_callback_secret s3cret;
            location = /cb {
                coupon_callback sportapi;
                $text
            }
END
    }

    $block->set_value('must_die', '');
    $block->set_value('error_log', qr/\[emerg\] .*${\ $block->says}/);
    $block->set_value('no_error_log', "hush\n[alert]\n[crit]\n");
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: no secret
--- config
    location = /cb {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:6379;
    }
--- says: "coupon_callback sportapi" .*"coupon_callback_secret"



=== TEST 2: the secret stands in another location
--- config
    coupon_callback_redis 127.0.0.1:6379;
    location = /other {
        coupon_callback sportapi;
        coupon_callback_secret hush;
    }
    location = /cb {
        coupon_callback sportapi;
    }
--- says: "coupon_callback_secret"



=== TEST 3: no Redis
--- config
    location = /cb {
        coupon_callback sportapi;
        coupon_callback_secret hush;
    }
--- says: "coupon_callback" .*"coupon_callback_redis"



=== TEST 4: an empty secret
--- in_location
coupon_callback_secret "";
--- says: "coupon_callback_secret".*empty



=== TEST 5: a secret file that is missing
--- in_location
coupon_callback_secret file:$TEST_NGINX_DIR/missing;
--- says: "coupon_callback_secret".*"/.+/missing".*No such file



=== TEST 6: a secret file that cannot be read: a directory
--- in_location
coupon_callback_secret file:$TEST_NGINX_DIR;
--- says: "coupon_callback_secret" cannot read



=== TEST 7: an empty secret file
--- in_location
coupon_callback_secret file:$TEST_NGINX_DIR/empty;
--- says: "coupon_callback_secret".*empty



=== TEST 8: a secret file with nothing but a line end
--- in_location
coupon_callback_secret file:$TEST_NGINX_DIR/newline;
--- says: "coupon_callback_secret".*empty



=== TEST 9: a secret file that is too long is not cut
--- in_location
coupon_callback_secret file:$TEST_NGINX_DIR/long;
--- says: "coupon_callback_secret".*longer



=== TEST 10: a secret that is not of its encoding: hex
--- in_location
coupon_callback_secret hush encoding=hex;
--- says: "coupon_callback_secret".*encoding



=== TEST 11: a secret that is not of its encoding: base64
--- in_location
coupon_callback_secret hush! encoding=base64;
--- says: "coupon_callback_secret".*encoding



=== TEST 12: a secret file that is not of its encoding
--- in_location
coupon_callback_secret file:$TEST_NGINX_DIR/not-hex encoding=hex;
--- says: "coupon_callback_secret".*encoding



=== TEST 13: an encoding nobody knows
--- in_location
coupon_callback_secret hush encoding=base32;
--- says: "coupon_callback_secret".*encoding



=== TEST 14: an option of the secret nobody knows
--- in_location
coupon_callback_secret hush hash=sha256;
--- says: "coupon_callback_secret"



=== TEST 15: a system nobody knows
--- config
    coupon_callback_redis 127.0.0.1:6379;
    location = /cb {
        coupon_callback SportAPI;
        coupon_callback_secret hush;
    }
--- says: "coupon_callback" .*"SportAPI"



=== TEST 16: twice in one location
--- in_location
coupon_callback sportapi;
--- says: "coupon_callback" directive is duplicate



=== TEST 17: beside another handler
--- in_location
coupon_callback_metrics;
--- says: "coupon_callback_metrics" directive .*handler



=== TEST 18: the other way round
--- config
    coupon_callback_redis 127.0.0.1:6379;
    coupon_callback_secret hush;
    location = /cb {
        coupon_callback_metrics;
        coupon_callback sportapi;
    }
--- says: "coupon_callback" directive .*handler



=== TEST 19: beside proxy_pass
--- in_location
proxy_pass http://127.0.0.1:1;
--- says: "coupon_callback" is in a location that has another handler



=== TEST 20: behind proxy_pass
--- config
    coupon_callback_redis 127.0.0.1:6379;
    coupon_callback_secret hush;
    location = /cb {
        proxy_pass http://127.0.0.1:1;
        coupon_callback sportapi;
    }
--- says: "coupon_callback" directive .*handler



=== TEST 21: in a server
--- config
    coupon_callback sportapi;
--- says: "coupon_callback" directive is not allowed here



=== TEST 22: metrics in a server
--- config
    coupon_callback_metrics;
--- says: "coupon_callback_metrics" directive is not allowed here



=== TEST 23: an address without a port number
--- in_location
coupon_callback_redis 127.0.0.1:port;
--- says: invalid port.*"coupon_callback_redis"



=== TEST 24: a host that cannot be resolved
--- in_location
coupon_callback_redis no-such-host.invalid:6379;
--- says: host not found.*"coupon_callback_redis"



=== TEST 25: a socket without a path
--- in_location
coupon_callback_redis unix:;
--- says: "coupon_callback_redis"



=== TEST 26: several addresses
--- in_location
coupon_callback_redis 127.0.0.1:6379 127.0.0.1:6380;
--- says: "coupon_callback_redis"



=== TEST 27: a password under a misspelt name is not shown
--- in_location
coupon_callback_redis 127.0.0.1:6379 pasword=hush;
--- says: unknown parameter in "coupon_callback_redis"



=== TEST 28: an empty password
--- in_location
coupon_callback_redis 127.0.0.1:6379 password=;
--- says: "coupon_callback_redis"



=== TEST 29: a password file that is missing
--- in_location
coupon_callback_redis 127.0.0.1:6379 password=file:$TEST_NGINX_DIR/missing;
--- says: "coupon_callback_redis".*"/.+/missing".*No such file



=== TEST 30: an empty password file
--- in_location
coupon_callback_redis 127.0.0.1:6379 password=file:$TEST_NGINX_DIR/empty;
--- says: "coupon_callback_redis".*empty



=== TEST 31: a user without a password
--- in_location
coupon_callback_redis 127.0.0.1:6379 user=nginx;
--- says: "coupon_callback_redis".*user without a password



=== TEST 32: TLS, which a build has not, or by nobody
--- in_location
coupon_callback_redis 127.0.0.1:6379 tls=on ca=$TEST_NGINX_DIR/empty password=hush;
--- says: "tls=on" in "coupon_callback_redis".*(?:this build has no TLS|no certificate in it)



=== TEST 33: a certificate without TLS
--- in_location
coupon_callback_redis 127.0.0.1:6379 ca=/etc/ssl/ca.pem;
--- says: "coupon_callback_redis".*"tls=on"



=== TEST 34: Redis twice in one place
--- in_location
coupon_callback_redis 127.0.0.1:6379;
coupon_callback_redis 127.0.0.1:6380;
--- says: "coupon_callback_redis" directive is duplicate



=== TEST 35: waiting for no replicas is no acknowledgement by replicas
--- in_location
coupon_callback_ack replicas=0;
--- says: "coupon_callback_ack" .*"replicas=N" with N from 1 to 16



=== TEST 36: a timestamp without a signed prefix
--- in_location
coupon_callback_timestamp $http_x_timestamp;
--- says: "coupon_callback_timestamp".*"coupon_callback_signed_prefix"



=== TEST 37: a signed prefix without the timestamp
--- in_location
coupon_callback_timestamp $http_x_timestamp;
coupon_callback_signed_prefix "$http_x_id.";
--- says: "coupon_callback_timestamp".*"coupon_callback_signed_prefix"



=== TEST 38: a signed prefix with a variable that only begins alike
--- in_location
coupon_callback_timestamp $http_x_timestamp;
coupon_callback_signed_prefix "$http_x_timestamp_id.";
--- says: "coupon_callback_timestamp".*"coupon_callback_signed_prefix"



=== TEST 39: ... or that begins alike in braces
--- in_location
coupon_callback_timestamp ${http_x_time};
coupon_callback_signed_prefix "${http_x_time_2}";
--- says: "coupon_callback_timestamp".*"coupon_callback_signed_prefix"



=== TEST 40: ... or in braces in one of them only
--- in_location
coupon_callback_timestamp $http_x_time;
coupon_callback_signed_prefix "${http_x_time_2}$http_x_time3${http_x_times}";
--- says: "coupon_callback_timestamp".*"coupon_callback_signed_prefix"



=== TEST 41: a timestamp that is a constant
--- in_location
coupon_callback_timestamp 1700000000;
coupon_callback_signed_prefix 1700000000;
--- says: "coupon_callback_timestamp"



=== TEST 42: the signed prefix is inherited, but does not cover it
--- config
    coupon_callback_redis 127.0.0.1:6379;
    coupon_callback_secret hush;
    coupon_callback_signed_prefix v0:;
    location = /cb {
        coupon_callback sportapi;
        coupon_callback_timestamp $http_x_timestamp;
    }
--- says: "coupon_callback_timestamp".*"coupon_callback_signed_prefix"



=== TEST 42: TLS on a unix socket
--- in_location
coupon_callback_redis unix:/tmp/redis.sock tls=on;
--- says: "tls=on" in "coupon_callback_redis".*unix socket



=== TEST 43: neither on nor off
--- in_location
coupon_callback_redis 127.0.0.1:6379 tls=yes;
--- says: parameter in "coupon_callback_redis"



=== TEST 44: a certificate without a key
--- in_location
coupon_callback_redis 127.0.0.1:6379 tls=on cert=/etc/ssl/redis.pem;
--- says: "cert=" and "key=" in "coupon_callback_redis" go together



=== TEST 45: ... or a key without a certificate
--- in_location
coupon_callback_redis 127.0.0.1:6379 key=/etc/ssl/redis.key tls=on;
--- says: "cert=" and "key=" in "coupon_callback_redis" go together



=== TEST 46: a name without TLS
--- in_location
coupon_callback_redis 127.0.0.1:6379 name=redis.example.com tls=off;
--- says: "name=redis.example.com" in "coupon_callback_redis" needs "tls=on"



=== TEST 47: an empty file name
--- in_location
coupon_callback_redis 127.0.0.1:6379 tls=on ca=;
--- says: parameter in "coupon_callback_redis"
