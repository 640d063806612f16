#!/usr/bin/perl

# coupon_callback_ack replicas=N: a 200 means that N replicas have it, on their
# disk where the server's WAITAOF is honest (Redis 8), else in their memory; and
# who does not ask for replicas does not wait for them.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $secret = 'replicas';
my $number = 0;
my $nginx;


sub request
{
    my ($path) = @_;
    my $id = 'batch-' . ++$number;

    return [$path, callback($id, { code => "c$number", status => 2,
                                   real_win => 1 }), secret => $secret];
}


sub deliver
{
    my ($path) = @_;

    return (post_all($nginx, request($path)))[0];
}


sub taken
{
    return deliver(@_)->{status} == 200;
}


# Not confirmed, and said when the time of the fence is over.
sub unconfirmed
{
    my ($path, $what) = @_;
    my $answer = deliver($path);

    like "$answer->{status} $answer->{body}", qr/^503 .*"unavailable"/,
         "$what: 503";
    cmp_ok $answer->{time}, '<', 8, '... sooner than that of the request';
}


sub replica
{
    my ($of, $program) = @_;
    my $replica = start_redis(program => $program, appendfsync => 'everysec',
                              replicaof => "127.0.0.1 $of->{port}",
                              'repl-diskless-sync-delay' => 0);

    wait_for { $replica->cmd('INFO', 'replication') =~ /master_link_status:up/ }
        or die 'the replica is not linked';
    return $replica;
}


# A server, and nginx in front of it, with a location for each way.
sub servers
{
    my ($program, %conf) = @_;
    my $master = start_redis(program => $program, %conf,
                             'repl-diskless-sync-delay' => 0);

    $nginx = start_nginx(server => <<"END");
        coupon_callback_redis 127.0.0.1:$master->{port} connections=1;
        coupon_callback_secret $secret;
        location = /alone {
            coupon_callback sportapi;
            coupon_callback_ack enqueued;
        }
        location = /one {
            coupon_callback sportapi;
            coupon_callback_ack replicas=1 timeout=1500ms;
        }
        location = /two {
            coupon_callback sportapi;
            coupon_callback_ack replicas=2 timeout=1500ms;
        }
END
    return $master;
}


sub logged
{
    my ($pattern) = @_;

    return read_file($nginx->{error_log}) =~ $pattern;
}


for my $case (
    ['Redis 8', CouponRedis::beside('redis-server'), 'WAITAOF'],
    ['Valkey 8', CouponRedis::beside('valkey-server'), 'WAIT'],
    ["the system's Redis", 'redis-server', qr/WAIT(?:AOF)?/],
) {
    my ($name, $program, $way) = @$case;

    if (!$program) {
        note "no $name (t/bin/fetch-redis.sh)";
        next;
    }

    my $master = servers($program, appendfsync => 'everysec');

    ok +(wait_for { taken('/alone') }), "$name without replicas: enqueued";
    unconfirmed('/one', '... one is wanted');
    ok +(wait_for { logged(qr/: 1 replicas by a fence, $way\n/) }),
       '... the log says in which way it would be known';

    my $replica = replica($master, $program);
    ok +(wait_for { taken('/one') }), 'with a replica: taken';
    unconfirmed('/two', '... two are wanted');

    my $request = request('/one');
    my $duplicate = [@$request];
    $replica->pause;
    my ($answer, $again) = post_all($nginx, $request, $duplicate);
    is "$answer->{status} $again->{status}", '503 503',
       'the replica is silent: 503, to the duplicate too';
    ok taken('/alone'), '... who does not ask for it goes on';
    $replica->resume;
    ok +(wait_for { (post_all($nginx, $request))[0]{status} == 200 }),
       '... and it goes on: what is sent again is taken';
    is scalar(grep { $request->[1] eq $_->{body} }
              $replica->entries('{coupons}:inbox')), 1, '... the replica has it';

    my $second = replica($master, $program);
    ok +(wait_for { taken('/two') }), 'with two: taken';
    $replica->kill9;
    ok +(wait_for { taken('/one') }),
       'one of the two is killed: taken, where one is enough';
    unconfirmed('/two', '... where it is not');
    $_->stop for $nginx, $second, $master;
}

done_testing;
