#!/usr/bin/perl

# Workers that are slow: strace lets each turn of their loop last up to 0.3 s, so
# that many events meet in one turn: a closed connection and a probe that is due,
# an answer and a client that has gone, a deadline and a signal.  Meanwhile Redis
# is killed, stopped, weakened, throws its clients out, and nginx is reloaded.
# No worker may crash, and what is acknowledged is in the inbox, once.
#
#   COUPON_SECONDS=600 COUPON_SEED=42 prove t/341-slow-workers.t

use strict;
use warnings;

# leaks cannot be looked for in a process that is traced
BEGIN { $ENV{ASAN_OPTIONS} .= ',detect_leaks=0' if $ENV{ASAN_OPTIONS} }

use lib 't/lib';
use CouponLoad;
use CouponTest;
use CouponTrace;
use Test::More;
use Time::HiRes 'time';

my $seconds = $ENV{COUPON_SECONDS} || 25;
my $seed = $ENV{COUPON_SEED} // int time;
my $secret = 'slow';
my $inbox = '{coupons}:inbox';

diag("COUPON_SEED=$seed COUPON_SECONDS=$seconds");
srand $seed;

my $redis = start_redis();
my $nginx = start_nginx(workers => 2, server => <<"END");
        access_log off;
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
            coupon_callback_secret $secret;
            coupon_callback_timeout 700ms;
            coupon_callback_max_pending 64;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END


# --- slow

my @traces;

# All workers that are there now; undef if that is not permitted.
sub slow_down
{
    for my $worker ($nginx->children) {
        my $delay = int(20_000 + rand 280_000);
        my $trace = eval { trace([$worker], '-e', 'trace=epoll_wait',
                                 '-e', "inject=epoll_wait:delay_exit=$delay") };
        push @traces, $trace if $trace;
    }

    return scalar @traces;
}


plan skip_all => 'strace is not here, or may not attach to a process'
    unless slow_down();


# --- the faults

my $end = time + $seconds;
my $next = time + 1;
my ($back, $again);             # when Redis comes back, and strace
my %done = (killed => 0, stopped => 0, weakened => 0, 'thrown out' => 0,
            reloaded => 0);

my %fault = (
    killed       => sub { $redis->kill9; $back = time + rand },
    stopped      => sub { $redis->pause; $back = time + rand 4 },
    weakened     => sub { $redis->try('CONFIG', 'SET', 'appendfsync',
                                      ('everysec', 'always')[rand 2]) },
    'thrown out' => sub { $redis->try('CLIENT', 'KILL', 'TYPE', 'normal',
                                      'SKIPME', 'yes') },
    reloaded     => sub { $nginx->reload; $again = time + 1 },
);


sub repair
{
    undef $back;
    $redis->alive ? $redis->resume : $redis->start;
}


sub strike
{
    repair() if $back && time > $back;

    if ($again && time > $again) {
        undef $again;
        $_->stop for splice @traces;
        slow_down();
    }

    return if $back || time < $next || time > $end;

    my $what = (sort keys %fault)[rand keys %fault];
    $fault{$what}->();
    $done{$what}++;
    $next = time + 0.2 + rand;
}


# Then all is well: Redis is there and safe, and the workers are quick again.
sub over
{
    return 0 if time < $end;

    repair() if $back;
    $redis->wait_ready;
    $redis->cmd('CONFIG', 'SET', 'appendfsync', 'always');
    $_->stop for splice @traces;
    return 1;
}


# --- the load: clients without patience, bodies of all sizes

my $number = 0;

sub batch
{
    my $id = 'batch-' . ++$number;
    my $body = callback($id, { code => "c$number", status => 2, real_win => 1 });

    substr $body, -1, 0, ',"more":"' . 'x' x (rand 40_000) . '"';
    return $id, $body;
}


my $load = CouponLoad->new(nginx => [$nginx], secret => $secret, width => 32,
                           rate => 200, patience => 1.2, next => \&batch,
                           tick => \&strike);

ok($load->run(\&over), "all $number deliveries are acknowledged in the end")
    or diag explain $load->{statuses};
is_deeply($load->{refused}, [], '... and none got an answer that ends the retries');

my %count;
$count{ $_->{id} }++ for $redis->entries($inbox);
is_deeply([grep { ($count{$_} // 0) != 1 } keys %{ $load->{acknowledged} }], [],
          '... each is in the inbox once');
is(scalar keys %count, $number, '... and nothing else');
is(scalar @{ $redis->cmd('KEYS', '{coupons}:seen:*') }, $number,
   '... as many marks');

ok +(wait_for { get($nginx, '/metrics')->{body} =~ /^coupon_callback_pending 0$/m }),
   'nothing is pending';
is($nginx->stop, 0, 'nginx ends with 0');
cmp_ok($load->{statuses}{0} // 0, '>', 0, 'some clients had no patience');
cmp_ok($load->{statuses}{503} // 0, '>', 0, 'some were refused at first');

diag(sprintf 'acknowledged %d, retried %d; Redis and nginx: %s', $number,
     $load->{retried}, join ', ', map { "$done{$_} times $_" } sort keys %done);

done_testing;
