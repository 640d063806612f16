# Files for TLS to Redis that nginx -t refuses, in a build that has TLS.
#
#   --- options   of coupon_callback_redis
#   --- says      what is said behind the name of the directive

use CouponTLS;
use CouponNginx;
use CouponTest;
use Test::Nginx::Socket 'no_plan';

$ENV{TEST_NGINX_DIR} = pki();

certificate('client');
certificate('other');
openssl('pkey -in client.key -aes256 -passout pass:hush -out locked.key');
write_file(pki() . '/empty', '');

add_block_preprocessor(sub {
    my ($block) = @_;

    $block->set_value('config', <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_secret hush;
            coupon_callback_redis 127.0.0.1:6379 tls=on ${\ $block->options};
        }
END
    $block->set_value('must_die', '');
    $block->set_value('error_log', qr/\[emerg\] .*"tls=on" in "coupon_callback_redis": ${\ $block->says}/);
    $block->set_value('no_error_log', "hush\n[alert]\n[crit]\n");
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: no file of authorities
--- options: ca=$TEST_NGINX_DIR/none
--- says: /.*/none: No such file



=== TEST 2: none in it
--- options: ca=$TEST_NGINX_DIR/client.key
--- says: /.*/client.key: no certificate in it



=== TEST 3: an empty one
--- options: ca=$TEST_NGINX_DIR/empty
--- says: /.*/empty: no certificate in it



=== TEST 4: a relative name is one beside nginx.conf
--- options: ca=none
--- says: /.*/servroot/conf/none: No such file



=== TEST 5: no certificate
--- options: cert=$TEST_NGINX_DIR/none key=$TEST_NGINX_DIR/client.key
--- says: /.*/none: No such file



=== TEST 6: none in it
--- options: cert=$TEST_NGINX_DIR/client.key key=$TEST_NGINX_DIR/client.key
--- says: /.*/client.key: no certificate in it



=== TEST 7: no key
--- options: cert=$TEST_NGINX_DIR/client.pem key=$TEST_NGINX_DIR/none
--- says: /.*/none: No such file



=== TEST 8: none in it
--- options: cert=$TEST_NGINX_DIR/client.pem key=$TEST_NGINX_DIR/client.pem
--- says: /.*/client.pem: no private key in it



=== TEST 9: the key of another certificate
--- options: cert=$TEST_NGINX_DIR/client.pem key=$TEST_NGINX_DIR/other.key
--- says: /.*/other.key: key values mismatch



=== TEST 10: a key with a password: nobody is asked for it
--- options: cert=$TEST_NGINX_DIR/client.pem key=$TEST_NGINX_DIR/locked.key
--- says: /.*/locked.key: no private key in it, .* without a password



=== TEST 11: a name that stands for many
--- options: name=.example.com
--- says: the server's name: no host has it
