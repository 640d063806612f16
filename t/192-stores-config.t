# What nginx -t refuses of the stores' directives: everything that would let in
# somebody else's notifications; and what it only warns of.
#
#   --- apple, google   the arguments of the directive, in a complete location
#   --- config          what stands in the server, instead
#   --- says            a pattern of the message; it always names the directive
#   --- warns           the same, of a configuration that is taken

use CouponNginx;
use CouponStores;
use CouponTest;
use Test::Nginx::Socket 'no_plan';

my $apple = apple_pki();
my $dir = $ENV{TEST_NGINX_DIR} = workdir();

write_file("$dir/root.pem", read_file($apple->{root}));
write_file("$dir/keys.json", jwks(google_key('a')));
write_file("$dir/none.json", jwks());
write_file("$dir/weak.json", jwks(google_key('a', 1024)));
write_file("$dir/empty", '');
write_file("$dir/large", ' ' x 2_000_000);

add_block_preprocessor(sub {
    my ($block) = @_;

    for my $store (qw(apple google)) {
        defined(my $arguments = $block->$store) or next;
        $arguments =~ s/\s+\z//;
        $block->set_value('config', <<"END");
            coupon_callback_redis 127.0.0.1:6379;
            location = /cb {
                coupon_callback $store;
                coupon_callback_$store $arguments;
                @{[ $block->more // '' ]}
            }
END
    }

    if (defined $block->says) {
        $block->set_value('must_die', '');
        $block->set_value('error_log', qr/\[emerg\] .*${\ $block->says}/);
    } else {
        $block->set_value('request', 'GET /cb');
        $block->set_value('error_code', 405);
        my $warning = $block->warns // '';
        $block->set_value($warning ? 'error_log' : 'no_error_log',
                          qr/\[warn\] .*$warning/);
    }
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: Apple, complete
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/root.pem



=== TEST 2: Sandbox has no app id
--- apple: bundle_id=a.b environment=Sandbox root=$TEST_NGINX_DIR/root.pem



=== TEST 3: no directive
--- config
    location = /cb {
        coupon_callback apple;
        coupon_callback_redis 127.0.0.1:6379;
    }
--- says: "coupon_callback apple" needs "coupon_callback_apple"



=== TEST 4: no Redis
--- config
    location = /cb {
        coupon_callback apple;
        coupon_callback_apple bundle_id=a.b app_apple_id=7
                              root=$TEST_NGINX_DIR/root.pem;
    }
--- says: "coupon_callback" needs "coupon_callback_redis"



=== TEST 5: no bundle id
--- apple: app_apple_id=7 root=$TEST_NGINX_DIR/root.pem
--- says: "coupon_callback_apple" directive needs "bundle_id="



=== TEST 6: an empty bundle id
--- apple: bundle_id= app_apple_id=7 root=$TEST_NGINX_DIR/root.pem
--- says: invalid parameter "bundle_id=" in "coupon_callback_apple"



=== TEST 7: no root
--- apple: bundle_id=a.b app_apple_id=7
--- says: "coupon_callback_apple" directive needs "root="



=== TEST 8: Production without an app id
--- apple: bundle_id=a.b root=$TEST_NGINX_DIR/root.pem
--- says: "coupon_callback_apple" directive needs "app_apple_id="



=== TEST 9: any environment without an app id
--- apple: bundle_id=a.b environment=any root=$TEST_NGINX_DIR/root.pem
--- says: "coupon_callback_apple" directive needs "app_apple_id="



=== TEST 10: an app id that is none
--- apple: bundle_id=a.b app_apple_id=7x root=$TEST_NGINX_DIR/root.pem
--- says: invalid parameter "app_apple_id=7x" in "coupon_callback_apple"



=== TEST 11: an environment that Apple does not sign
--- apple: bundle_id=a.b environment=Xcode root=$TEST_NGINX_DIR/root.pem
--- says: invalid parameter "environment=Xcode" in "coupon_callback_apple"



=== TEST 12: no such root
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/nowhere
--- says: "coupon_callback_apple" cannot use the file ".*/nowhere"



=== TEST 13: a root that is none
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/keys.json
--- says: "coupon_callback_apple" cannot use the file ".*/keys.json"



=== TEST 14: an empty root
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/empty
--- says: "coupon_callback_apple" cannot use the file ".*/empty"



=== TEST 15: twice
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/root.pem
--- more: coupon_callback_apple bundle_id=a.b;
--- says: "coupon_callback_apple" directive is duplicate



=== TEST 16: Google, complete
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json



=== TEST 17: no directive
--- config
    location = /cb {
        coupon_callback google;
        coupon_callback_redis 127.0.0.1:6379;
    }
--- says: "coupon_callback google" needs "coupon_callback_google"



=== TEST 18: no audience
--- google: email=e keys=$TEST_NGINX_DIR/keys.json
--- says: "coupon_callback_google" directive needs "audience="



=== TEST 19: no service account
--- google: audience=a keys=$TEST_NGINX_DIR/keys.json
--- says: "coupon_callback_google" directive needs "email="



=== TEST 20: no keys
--- google: audience=a email=e
--- says: "coupon_callback_google" directive needs "keys="



=== TEST 21: an empty subscription
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json subscription=
--- says: invalid parameter "subscription=" in "coupon_callback_google"



=== TEST 22: no such keys
--- google: audience=a email=e keys=$TEST_NGINX_DIR/nowhere
--- says: "coupon_callback_google" cannot use the file ".*/nowhere"



=== TEST 23: a set without a key
--- google: audience=a email=e keys=$TEST_NGINX_DIR/none.json
--- says: "coupon_callback_google" cannot use the file ".*/none.json"



=== TEST 24: a set without a usable key
--- google: audience=a email=e keys=$TEST_NGINX_DIR/weak.json
--- says: "coupon_callback_google" cannot use the file ".*/weak.json"



=== TEST 25: keys that are none
--- google: audience=a email=e keys=$TEST_NGINX_DIR/root.pem
--- says: "coupon_callback_google" cannot use the file ".*/root.pem"



=== TEST 26: a file without an end in sight
--- google: audience=a email=e keys=$TEST_NGINX_DIR/large
--- says: "coupon_callback_google" cannot use the file ".*/large"



=== TEST 27: Apple's retries go on for longer than that
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/root.pem
--- more: coupon_callback_dedup_window 156h;
--- warns: "coupon_callback_dedup_window" is shorter than the 157 hours



=== TEST 28: but not than this
--- apple: bundle_id=a.b app_apple_id=7 root=$TEST_NGINX_DIR/root.pem
--- more: coupon_callback_dedup_window 157h;



=== TEST 29: Google's go on for longer than that
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json
--- more: coupon_callback_dedup_window 167h;
--- warns: "coupon_callback_dedup_window" is shorter than the 7 days



=== TEST 30: but not than this
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json
--- more: coupon_callback_dedup_window 168h;



=== TEST 31: a system that nobody knows
--- config
    location = /cb {
        coupon_callback amazon;
        coupon_callback_redis 127.0.0.1:6379;
    }
--- says: "coupon_callback" cannot receive "amazon"



=== TEST 32: Google, unwrapped
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json mode=unwrapped



=== TEST 33: Google, wrapped and saying so
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json mode=wrapped



=== TEST 34: a mode that nobody knows
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json mode=unwrap
--- says: invalid parameter "mode=unwrap" in "coupon_callback_google"



=== TEST 35: an empty mode
--- google: audience=a email=e keys=$TEST_NGINX_DIR/keys.json mode=
--- says: invalid parameter "mode=" in "coupon_callback_google"



=== TEST 36: said for the server, used by a location
--- config
    coupon_callback_redis 127.0.0.1:6379;
    coupon_callback_apple bundle_id=a.b app_apple_id=7
                          root=$TEST_NGINX_DIR/root.pem;
    location = /cb {
        coupon_callback apple;
    }
