#!/usr/bin/perl

# Whatever Redis does, a callback that is not safely in the inbox is answered
# 503 with Retry-After, soon enough; the rest of nginx does not notice; and when
# Redis is well again, so is nginx, without a reload.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use CouponTrace;
use Test::More;
use Time::HiRes 'time';

use constant {
    TIMEOUT  => 3,          # coupon_callback_timeout, seconds
    PATIENCE => 10,         # of the provider
    MANY     => 32,         # deliveries, so that each worker has some
};

my $secret = 'faults';
my $inbox = '{coupons}:inbox';
my $port = free_port();
my $number = 0;
my @unanswered;                     # batches that have got a 503
my @taken;                          # batches that have got a 200

# --- Redis is not there yet when nginx starts

my $nginx = start_nginx(workers => 2, listen => 'reuseport', server => <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$port connections=2;
            coupon_callback_secret $secret;
            coupon_callback_timeout @{[ TIMEOUT ]}s;
        }
        location = /strict {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$port password=geheim;
            coupon_callback_secret $secret;
            coupon_callback_timeout @{[ TIMEOUT ]}s;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
        location = /other {
            return 200 "as ever\n";
        }
END


# New batches, at the same time; the answers.
sub deliver
{
    my ($path, $n) = @_;
    my @batches = map { my $id = 'batch-' . ++$number; [$id, callback($id,
        { code => "c$number", status => 2, real_win => 1 })] } 1 .. $n;

    return send_all($path, @batches);
}


sub send_all
{
    my ($path, @batches) = @_;
    my @answers = post_all($nginx, map { [$path, $_->[1], secret => $secret] }
                                   @batches);

    push @{ $answers[$_]{status} == 200 ? \@taken : \@unanswered },
        $batches[$_] for 0 .. $#answers;
    return @answers;
}


# One new batch is taken.
sub taken
{
    my ($path) = @_;

    return (deliver($path, 1))[0]{status} == 200;
}


# Sends what was refused again; true if nothing of it is left.
sub retry
{
    my ($path) = @_;

    send_all($path, splice @unanswered);
    return !@unanswered;
}


# In this state of Redis nothing is acknowledged, and the rest goes on.
sub refused
{
    my ($what, $path) = @_;
    my @answers = deliver($path //= '/cb', MANY);

    is_deeply([map { $_->{status} } @answers], [(503) x MANY], "$what: 503");
    is_deeply([grep { !$_->{headers}{'retry-after'} } @answers], [],
              '... with Retry-After');
    is_deeply([grep { $_->{body} !~ /^\{"success":false,"error":"
                      (?:unavailable|timeout)","message":"[^"]+"\}$/x }
               @answers], [], '... and a reason');
    is_deeply([grep { $_ >= PATIENCE } map { $_->{time} } @answers], [],
              '... in time');

    # authentic, and to be kept aside before it is refused for good
    is(post($nginx, $path, 'not JSON', secret => $secret)->{status}, 503,
       '... what is malformed has to come again, too');
    is(post($nginx, $path, 'not JSON', secret => 'guess')->{status}, 401,
       '... what is forged has not');

    my $other = get($nginx, '/other');
    is($other->{body}, "as ever\n", '... other locations are unharmed');
    ok($other->{time} < TIMEOUT, '... and do not wait for Redis');
}


# Everything is taken in the end, by whichever worker, without a reload; and not
# one is called a duplicate that was refused before.
sub recovered
{
    my ($redis, $what) = @_;

    ok +(wait_for { taken('/cb') }), "$what: taken again";
    ok +(wait_for { retry('/cb') }), '... and so are the refused ones';

    my %count;
    $count{ $_->{id} }++ for $redis->entries($inbox);
    is_deeply([grep { ($count{ $_->[0] } // 0) != 1 } @taken], [],
              '... each is in the inbox once');
}


# So many connections of the two workers are up: all 4 of /cb, or none.
sub up
{
    my ($n) = @_;

    return wait_for { get($nginx, '/metrics')->{body}
                      =~ /^coupon_callback_redis_connections_up $n$/m };
}


sub error_count
{
    my ($kind) = @_;
    my ($n) = get($nginx, '/metrics')->{body}
        =~ /^coupon_callback_redis_errors_total\{[^}]*"$kind"\} (\d+)/m;

    return $n;
}


# How many clients have connected to Redis, ever.
sub connects
{
    my ($redis) = @_;
    my ($n) = $redis->cmd('INFO', 'stats') =~ /^total_connections_received:(\d+)/m;

    return $n;
}


# All clients but this one are sent away, so that they have to log in again.
sub disconnect
{
    my ($redis) = @_;

    $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}


refused('Redis is absent at the start');

my $redis = start_redis(port => $port, 'busy-reply-threshold' => 100,
                        'enable-protected-configs' => 'yes');
recovered($redis, 'Redis has come');


# --- killed, gone for a while, restarted

$redis->kill9;
refused('Redis is killed');
$redis->restart;
recovered($redis, 'Redis is back');

for my $round (1 .. 5) {
    $redis->kill9;
    $redis->restart;
    recovered($redis, "killed and restarted at once, round $round");
}

$redis->stop;
refused('Redis is stopped');
$redis->restart;
recovered($redis, 'Redis is started again');


# --- killed while it has a callback in its hands

$redis->pause;
my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                   PeerPort => $nginx->{port}) or die $!;
print {$socket} request_text('/cb', callback('in-hand', { code => 'h',
    status => 2, real_win => 1 }), secret => $secret);
ok +(wait_for { get($nginx, '/metrics')->{body} =~ /^coupon_callback_pending 1$/m }),
   'a callback is with Redis';
$redis->kill9;
like(do { local $/; <$socket> }, qr/^HTTP\/1\.1 503 .*"unavailable"/s,
     '... which is killed: 503, without waiting for the deadline');
$redis->restart;
recovered($redis, 'Redis is here again');


# --- gone while nginx is slow: each turn of a worker's loop takes 3.5 s, so that it
#     finds a closed connection and a probe that is due in the same turn

SKIP: {
    my @workers = $nginx->children;
    ok(up(4), 'each worker has its connections');
    my $trace = eval { trace([@workers], '-e', 'trace=epoll_wait',
                             '-e', 'inject=epoll_wait:delay_exit=3500000') }
        or skip 'strace is not here, or may not attach to a process', 1;

    $redis->kill9;
    ok(up(0), '... which notice, slow as they are, that Redis has gone');
    traced($trace);
    is_deeply([sort $nginx->children], [sort @workers], '... and survive it');
    $redis->restart;
    recovered($redis, 'Redis has come back to them');
}


# --- refusing every write

for my $case (
    ['out of memory', 'oom', ['maxmemory', '1mb'], ['maxmemory', '0']],
    ['without its replicas', 'noreplicas', ['min-replicas-to-write', 1],
     ['min-replicas-to-write', 0]],
) {
    my ($what, $kind, $broken, $well) = @$case;
    my $before = error_count($kind);

    ok(up(4), 'all connections are up');

    $redis->cmd('CONFIG', 'SET', @$broken);
    refused("Redis is $what");
    ok(error_count($kind) >= $before + MANY, "... counted as $kind");
    $redis->cmd('CONFIG', 'SET', @$well);
    recovered($redis, "Redis is not $what");
}

my $before = error_count('readonly');
$redis->cmd('REPLICAOF', '127.0.0.1', free_port());
refused('Redis is a replica');
ok(error_count('readonly') > $before, '... counted as readonly');

# each of the 4 connections comes back after 50 ms at the earliest
my ($begin, $connected) = (time, connects($redis));
deliver('/cb', 1) for 1 .. 300;
cmp_ok(connects($redis) - $connected, '<=', 4 + 4 * (time - $begin) / 0.05,
       '... and is not flooded with new connections');
$redis->cmd('REPLICAOF', 'NO', 'ONE');
recovered($redis, 'Redis is a master again');

# a snapshot that failed makes Redis refuse writes
$redis->cmd('CONFIG', 'SET', 'save', '3600 1');
mkdir "$redis->{dir}/gone" or die $!;
$redis->cmd('CONFIG', 'SET', 'dir', "$redis->{dir}/gone");
rmdir "$redis->{dir}/gone" or die $!;
$redis->cmd('BGSAVE');
ok(up(4), 'all connections are up');
ok +(wait_for { $redis->cmd('INFO', 'persistence') =~ /last_bgsave_status:err/ }),
   'a snapshot has failed';
refused('Redis cannot save');
ok(error_count('misconf') >= MANY, '... counted as misconf');
$redis->cmd('CONFIG', 'SET', 'dir', $redis->{dir});
$redis->cmd('CONFIG', 'SET', 'save', '');
recovered($redis, 'Redis need not save');


# --- not durable any more

# where a fence is possible, everysec is durable as well (t/361-fence.t)
for my $case (
    [['appendfsync', $redis->fenced ? 'no' : 'everysec'],
     ['appendfsync', 'always']],
    [['maxmemory-policy', 'allkeys-lru'], ['maxmemory-policy', 'noeviction']],
    [['appendonly', 'no'], ['appendonly', 'yes']],
) {
    my ($weak, $strong) = @$case;

    $redis->cmd('CONFIG', 'SET', @$weak);
    ok +(wait_for { !grep { $_->{status} != 503 } deliver('/cb', MANY) }),
        "@$weak is noticed";
    refused("@$weak");
    like(read_file($nginx->{error_log}),
         qr/durability is not proven: [^\n]*\bset "@$strong"/,
         '... and the error log says what to set');
    $redis->cmd('CONFIG', 'SET', @$strong);
    recovered($redis, "@$strong");
}


# --- alive and silent

$redis->pause;
refused('Redis is stopped by a signal');
ok +(wait_for { error_count("silent") > 0 }), '... and given up after a while';
refused('Redis is still stopped');
$redis->resume;
recovered($redis, 'Redis goes on');

# a script that does not end: Redis answers BUSY
$before = error_count('busy');
my $script = CouponRedis->new(name => 'script', port => $port, pid => 0);
print { $script->connected } CouponRedis::encode('EVAL', 'while true do end', 0);
ok +(wait_for { $redis->try('PING') =~ /^BUSY/ }), 'a script runs and runs';
refused('Redis is busy');
ok(error_count('busy') > $before, '... counted as busy');
$redis->cmd('SCRIPT', 'KILL');
recovered($redis, 'the script is killed');


# --- loading, slowed down to some 15 seconds

$redis->cmd('BGREWRITEAOF');
ok +(wait_for { $redis->cmd('INFO', 'persistence')
                =~ /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/ }),
   'one file to load';
my $delay = int(15_000_000 / $redis->cmd('DBSIZE'));
$redis->stop;
write_file("$redis->{dir}/redis.conf", read_file("$redis->{dir}/redis.conf")
           . "key-load-delay $delay\n"
           . "loading-process-events-interval-bytes 1024\n");
$redis->start;
ok +(wait_for { $redis->try('PING') =~ /^LOADING/ }), 'Redis is loading';
$before = error_count('loading');
refused('Redis is loading');
ok +(wait_for { deliver('/cb', 1); error_count('loading') > $before } 10),
   '... counted as loading';
ok($redis->try('PING') =~ /^LOADING/, '... and still at it');
recovered($redis, 'Redis has loaded');
$redis->cmd('CONFIG', 'SET', 'key-load-delay', 0);


# --- passwords

refused('a password where Redis wants none', '/strict');
$redis->cmd('CONFIG', 'SET', 'requirepass', 'geheim');
disconnect($redis);
ok +(wait_for { taken('/strict') }),
   'the right password: taken';
refused('no password where Redis wants one');
ok(error_count('auth') > 0, '... counted as auth');
$redis->cmd('CONFIG', 'SET', 'requirepass', 'another');
disconnect($redis);
refused('a wrong password', '/strict');
$redis->cmd('CONFIG', 'SET', 'requirepass', '');
recovered($redis, 'no password is wanted');


# --- too many clients

$redis->cmd('CONFIG', 'SET', 'maxclients', 1);
disconnect($redis);
refused('Redis takes no more clients');
$redis->cmd('CONFIG', 'SET', 'maxclients', 10_000);
recovered($redis, 'Redis takes clients');


# --- full of callbacks that nobody settles; then somebody does

my ($used) = $redis->cmd('INFO', 'memory') =~ /^used_memory:(\d+)/m;
my $big = 'y' x 100_000;
my $answer;

$redis->cmd('CONFIG', 'SET', 'maxmemory', $used + 5_000_000);
ok +(wait_for {
    my $body = callback('big-' . ++$number, { code => "c$number", status => 2,
                                              real_win => 1 });
    substr $body, -1, 0, qq(,"more":"$big");
    $answer = post($nginx, '/cb', $body, secret => $secret);
    $answer->{status} != 200;
}), 'callbacks fill the memory of Redis';
is($answer->{status}, 503, '... until there is a 503');

my $settle = start_settle(redis => $redis);
ok +(wait_for { $redis->cmd('XLEN', $inbox) == 0 }),
   '... the daemon settles them nevertheless';
ok +(wait_for { retry('/cb') && taken('/cb') }), '... and there is room again';
is($settle->stop, 0, '... the daemon ends with 0');


# --- what stays behind

my $log = read_file($nginx->{error_log});
my %lines;

$lines{$1}++
    while $log =~ /^(\S+ \S+ \[error\] \d+#\d+): coupon_callback: Redis/mg;
is_deeply([grep { $lines{$_} > 2 } keys %lines], [],
          'a worker writes one line a second about each of the two Redis');
unlike($log, qr/geheim|another|$secret/, 'no password is in the log');
like(get($nginx, '/metrics')->{body}, qr/^coupon_callback_pending 0$/m,
     'nothing is pending');

done_testing;
