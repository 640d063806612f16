package CouponNginx;

# Test::Nginx, set up for this module.  A data-driven test begins with
#
#   use CouponNginx;                        # must come first
#   use Test::Nginx::Socket 'no_plan';
#
# It gives every test file a folder and free ports of its own on 127.0.0.1, so
# that several files run side by side, loads the module, and lets a block fail
# that leaves an [alert] in the error log, also at shutdown (a block that wants
# one: put a pattern with "[alert" into its no_error_log section).
#
# Servers of CouponTest (start_redis, ...) go together with it.  In the blocks
# $TEST_NGINX_REDIS_PORT is a free port, and what the test puts into any other
# $ENV{TEST_NGINX_...} is there as well.
#
# HUP mode does not go together with an address in `listen`: reloads are tested
# with CouponTest::start_nginx.

use strict;
use warnings;

use CouponTest ();

my $port      = CouponTest::free_port();
my $module    = CouponTest::module();
my %sanitizer = CouponTest::sanitizer_env();

$ENV{TEST_NGINX_BINARY}      = CouponTest::nginx();
$ENV{TEST_NGINX_SERVROOT}    = CouponTest::workdir() . '/servroot';
$ENV{TEST_NGINX_SERVER_PORT} = "127.0.0.1:$port";
$ENV{TEST_NGINX_CLIENT_PORT} = $port;
$ENV{TEST_NGINX_STREAM_PORT} = CouponTest::free_port();
$ENV{TEST_NGINX_REDIS_PORT} //= CouponTest::free_port();
$ENV{TEST_NGINX_TIMEOUT} //= 60;
$ENV{$_} = $sanitizer{$_} for keys %sanitizer;

if ($module) {
    $ENV{TEST_NGINX_LOAD_MODULES} = $module;
} else {
    delete $ENV{TEST_NGINX_LOAD_MODULES};
}

# reads the environment when it is loaded
require Test::Nginx::Util;

Test::Nginx::Util::add_block_preprocessor(sub {
    my ($block) = @_;

    return if defined $block->must_die;

    for my $section (qw(no_error_log no_shutdown_error_log)) {
        my $patterns = $block->$section // '';
        next if ref $patterns || $patterns =~ /\[alert/;
        $block->set_value($section, $patterns . "[alert]\n");
    }
});

# what a block with must_die expects need not be said again
$SIG{__WARN__} = sub {
    print STDERR @_ unless $_[0] =~ /^WARNING: .* \[emerg\]/;
};

1;
