#!/usr/bin/perl

# When a worker writes to Redis: what a turn of its loop takes in is gathered,
# so that short callbacks share a write; but not until the turn is over, so that
# Redis has something to do meanwhile.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use CouponTrace;
use IO::Socket::INET;
use Test::More;

use constant CLIENTS => 24;

my $secret = 'writes';
my $number = 0;
my $redis = start_redis();
my $nginx = start_nginx(server => <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=1;
            coupon_callback_secret $secret;
        }
END
my ($worker) = $nginx->children;
my @clients = map {
    IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $nginx->{port})
        or die "connect: $!"
} 1 .. CLIENTS;


sub batch
{
    my $id = 'batch-' . ++$number;

    return callback($id, { code => "c$number", status => 2, real_win => 1 });
}


# One request on each connection, all of them there when the worker looks; true
# if all are answered 200.
sub turn
{
    my $ok = 0;

    kill 'STOP', $worker;
    syswrite $_, request_text('/cb', batch(), secret => $secret,
                              headers => { Connection => undef }) for @clients;
    kill 'CONT', $worker;

    for my $client (@clients) {
        my $answer = '';

        while ($answer !~ /\r\n\r\n\{.*\}\s*\z/s) {
            sysread $client, $answer, 4096, length $answer or last;
        }

        $ok++ if $answer =~ m{^HTTP/1\.1 200 };
    }

    return $ok == CLIENTS;
}


ok(turn(), 'connections that are kept');

my $trace = eval { trace([$worker], '-e', 'trace=recvfrom,write,sendto') };

SKIP: {
    skip 'strace is not here, or may not attach to a process', 3 unless $trace;

    ok(turn(), '... and used by all at once');

    my @lines = traced($trace);
    my @read = grep { $lines[$_] =~ /^recvfrom\(.*"POST / } 0 .. $#lines;
    my @sent = grep { $lines[$_] =~ /^(?:write|sendto)\(.*MULTI\\r/ } 0 .. $#lines;

    cmp_ok($sent[0], '<', $read[-1],
           'Redis has the first before the worker has the last');
    cmp_ok(scalar @sent, '<', @read, '... but not each on its own');
}

is($redis->cmd('XLEN', '{coupons}:inbox'), $number, 'all are in the inbox');

done_testing;
