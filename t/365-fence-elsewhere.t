#!/usr/bin/perl

# A fence proves something only about the server that has executed the write.
# Behind a balancer, or in a failover, the connections of a worker can lead to
# two servers at once: then there is no 200.
#
# The balancer is a process of this test: new connections go to the server of
# the moment, and a signal cuts those that have carried a fence.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use IO::Select;
use IO::Socket::INET;
use Test::More;

my $redis8 = CouponRedis::beside('redis-server')
    or plan skip_all => 'no Redis 8 (t/bin/fetch-redis.sh)';

my $secret = 'elsewhere';
my $number = 0;
my $port = free_port();
my $target = workdir() . '/target';


package Balancer {
    our @ISA = 'CouponProcess';

    sub become
    {
        POSIX::setpgid(0, 0);
        $SIG{TERM} = 'DEFAULT';
        eval { main::balance() };
        POSIX::_exit(1);
    }
}


sub balance
{
    my (%other, %fence);
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => $port, ReuseAddr => 1, Listen => 64) or die $!;
    my $select = IO::Select->new($listen);
    my $drop = sub {
        for my $socket (@_, map { $other{$_} } @_) {
            $select->remove($socket);
            close $socket;
        }
    };
    my $cut = 0;
    local $SIG{USR1} = sub { $cut = 1 };

    while (1) {
        my @ready = $select->can_read(0.05);

        if ($cut) {
            $drop->($_) for values %fence;
            %fence = ();
            $cut = 0;
            next;
        }

        for my $socket (@ready) {
            if ($socket == $listen) {
                my $client = $listen->accept or next;
                my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                    PeerPort => read_file($target)) or next;
                @other{$client, $server} = ($server, $client);
                $select->add($client, $server);
                next;
            }

            next unless defined fileno $socket;
            my $n = sysread $socket, my $data, 65536;
            if (!$n) {
                delete $fence{$_} for $socket, $other{$socket};
                $drop->($socket);
                next;
            }

            $fence{$socket} = $socket if $data =~ /WAITAOF/;
            syswrite $other{$socket}, $data;
        }
    }
}


my @redis = map { start_redis(program => $redis8, appendfsync => 'everysec') }
            1 .. 2;
write_file($target, $redis[0]{port});
my $balancer = Balancer->new(name => 'balancer', dir => workdir(),
                             log => workdir() . '/balancer.log');
$balancer->start;
wait_for { CouponTest::port_open($port) } or die 'no balancer';

my $nginx = start_nginx(server => <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$port connections=1;
            coupon_callback_secret $secret;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END


sub batch
{
    my $id = 'batch-' . ++$number;

    return callback($id, { code => "c$number", status => 2, real_win => 1 });
}


sub deliver
{
    my ($body) = @_;
    my $answer = post($nginx, '/cb', $body // batch(), secret => $secret);

    return $answer->{status} == 200
           ? 200 : "$answer->{status} $answer->{body}";
}


# Clients of a server that have said this command last.
sub clients
{
    my ($redis, $command) = @_;

    return scalar(() = $redis->cmd('CLIENT', 'LIST') =~ /cmd=$command\b/g);
}


# The next fence is connected to the other server, the rest stays where it is.
sub split_up
{
    write_file($target, $redis[1]{port});
    $balancer->signal('USR1');
    ok +(wait_for { clients($redis[1], 'config\|get') }),
       'the fence is with another server now';
}


sub joined
{
    write_file($target, $redis[0]{port});
    $redis[1]->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    ok +(wait_for { deliver() eq 200 }), 'all are with one server again: 200';
}


ok +(wait_for { deliver() eq 200 }), 'all are with one server: 200';


# --- before the write is sent

split_up();
like deliver(), qr/^503 .*cannot be proven to be durable now/,
     '... 503 before anything is sent';
is $redis[1]->cmd('KEYS', '*')->[0], undef, '... the other has nothing of it';
joined();


# --- after it

$redis[0]->pause;
my $body = batch();
my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
    PeerPort => $nginx->{port}) or die "connect: $!";
print {$socket} request_text('/cb', $body, secret => $secret);
ok +(wait_for { get($nginx, '/metrics')->{body}
                =~ /^coupon_callback_pending 1$/m }), 'a write is under way';
split_up();
$redis[0]->resume;
like do { local $/; <$socket> }, qr/^HTTP\/1\.1 503 .*did not confirm/s,
     '... it is executed, and not covered: 503';
joined();
is deliver($body), 200, '... and what is sent again is taken';

done_testing;
