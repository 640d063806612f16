#!/usr/bin/perl

# A name with two addresses, a master's and its replica's: wherever connections
# and fence begin, they meet at the master by themselves.
#
# The name stands in an /etc/hosts that only this nginx sees.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $secret = 'addresses';
my $number = 0;
my $hosts = write_file(workdir() . '/hosts',
                       "127.0.0.1 two.test\n127.0.0.2 two.test\n");
my @own_hosts = ('unshare', '-m', 'sh', '-c',
                 'mount --bind "$0" /etc/hosts && exec "$@"', $hosts);

plan skip_all => 'needs a mount namespace, and so root'
    if system("@own_hosts[0, 1] true 2>&1") != 0
        || (() = qx(@own_hosts[0, 1] sh -c 'mount --bind $hosts /etc/hosts &&
                    getent ahosts two.test' 2>&1) =~ /STREAM/g) != 2;

my $port = free_port();
my $master = start_redis(port => $port);
my $replica = start_redis(port => $port, bind => '127.0.0.2',
                          host => '127.0.0.2', replicaof => "127.0.0.1 $port",
                          'repl-diskless-sync-delay' => 0);

ok +(wait_for { $replica->cmd('INFO', 'replication')
                =~ /master_link_status:up/ }), 'a master and its replica';

# With one connection the fence begins at the second address, with two at the
# first, where also a connection does: one of these fences is the replica's.

my $nginx = start_nginx(prefix => \@own_hosts, server => <<"END");
        coupon_callback_secret $secret;
        coupon_callback_ack replicas=1 timeout=4s;
        location = /one {
            coupon_callback sportapi;
            coupon_callback_redis two.test:$port connections=1;
        }
        location = /two {
            coupon_callback sportapi;
            coupon_callback_redis two.test:$port connections=2;
        }
END


sub deliver
{
    my ($path) = @_;
    my $id = 'batch-' . ++$number;

    return post($nginx, $path, callback($id, { code => "c$number",
        status => 2, real_win => 1 }), secret => $secret)->{status};
}


for my $path ('/one', '/two') {
    ok +(wait_for { deliver($path) == 200 }), "$path: 200 after a while";
    is deliver($path), 200, '... and from then on' for 1 .. 10;
}

is $replica->cmd('XLEN', '{coupons}:inbox'),
   $master->cmd('XLEN', '{coupons}:inbox'), 'the replica has all of it';

done_testing;
