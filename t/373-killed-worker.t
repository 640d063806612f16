#!/usr/bin/perl

# A worker is killed with its transaction on the way to Redis: nobody is left to
# look at the reply, so what Redis makes of it has to be right by itself.  Mark
# and entry are there, or neither; and what comes again is a duplicate, or taken.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use IO::Socket::INET;
use Test::More;

my $secret = 'killed';
my $inbox = '{coupons}:inbox';
my $number = 0;

allow_log(qr/exited on signal 9/);

my $redis = start_redis();
my $nginx = start_nginx(server => <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=1;
            coupon_callback_secret $secret;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END


sub taken
{
    my ($body) = @_;

    return post($nginx, '/cb', $body, secret => $secret)->{status} == 200;
}


# Redis gets it from a worker that is dead by then.
sub orphan
{
    my ($body) = @_;
    my $executed = calls();

    # the one before has left a young worker
    wait_for { get($nginx, '/metrics')->{body}
               =~ /^coupon_callback_redis_connections_up 1$/m };
    my ($worker) = $nginx->children;

    $redis->pause;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";
    print {$socket} request_text('/cb', $body, secret => $secret);
    ok +(wait_for { get($nginx, '/metrics')->{body}
                    =~ /^coupon_callback_pending 1$/m }),
       'a callback is with Redis';
    kill 'KILL', $worker;
    ok +(wait_for { !grep { $_ == $worker } $nginx->children }),
       '... the worker is killed';
    $redis->resume;
    ok +(wait_for { calls() == $executed + 1 }), '... Redis executes it';
}


# How many transactions there were.
sub calls
{
    return $redis->cmd('INFO', 'commandstats') =~ /^cmdstat_exec:calls=(\d+)/m
           ? $1 : 0;
}


sub batch
{
    my $id = 'batch-' . ++$number;

    return ($id, callback($id, { code => 'c', status => 2, real_win => 1 }));
}


sub marked
{
    my ($id) = @_;

    return $redis->cmd('EXISTS', "{coupons}:seen:sportapi:$id");
}


sub stored
{
    my ($id) = @_;

    return scalar grep { $_->{id} eq $id } $redis->entries($inbox);
}


my ($id, $body) = batch();
ok +(wait_for { taken($body) }), 'ready';

($id, $body) = batch();
orphan($body);
is stored($id) . marked($id), '11', 'a new one: entry and mark';
ok +(wait_for { taken($body) }), '... it comes again: 200';
is stored($id), 1, '... as a duplicate';

orphan($body);
is stored($id) . marked($id), '11', 'a duplicate: nothing is added';

($id, $body) = batch();
$redis->cmd('RENAME', $inbox, 'aside');
$redis->cmd('SET', $inbox, 'text');
orphan($body);
is marked($id), 0, 'the inbox is no stream: no mark';
$redis->cmd('RENAME', 'aside', $inbox);
ok +(wait_for { taken($body) }), '... it comes again: 200';
is stored($id), 1, '... and is stored';

done_testing;
