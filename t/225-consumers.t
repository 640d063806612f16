#!/usr/bin/perl

# Three consumers on PostgreSQL, killed at moments chosen by chance, while
# PostgreSQL crashes and Redis restarts under them: every batch is settled, none
# twice, nothing stays pending, and no dead consumer stays in the group.
#
# COUPON_SEED repeats a run; COUPON_SECONDS makes it longer (make soak).

use strict;
use warnings;

use lib 't/lib';
use CouponPostgres;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

my $inbox = '{coupons}:inbox';
my $seconds = $ENV{COUPON_SECONDS} // 25;
my $seed = $ENV{COUPON_SEED} // time;
my $redis = start_redis();
my $postgres = start_postgres();
my $url = $postgres->url;
my ($number, $names, %state, %money) = (0, 0);
my (%killed, @bodies);

diag("COUPON_SEED=" . int $seed);
srand int $seed;


# A consumer with a name that was never there before.
sub consumer
{
    my $process = start_settle(redis => $redis, store => $url);
    my $config = $process->{config};

    $process->kill9;
    write_file($config, read_file($config)
        =~ s/^\[redis\]$/"[redis]\nclaim_after = 1s\nconsumer = c" . ++$names/mer);
    $process->start;
    return $process;
}


# A batch of coupons that are paid once, and of some that many batches speak of,
# so that consumers meet at their rows.
sub add
{
    my $id = 'batch-' . ++$number;
    my @coupons = map { { code => "$number-$_", status => 2, real_win => 1 } }
                  1 .. 1 + int rand 8;

    push @coupons, map { { code => 'shared-' . int(rand 12), status => 1 } }
                   1 .. int rand 6;
    $money{$id} = grep { $_->{status} == 2 } @coupons;
    push @bodies, callback($id, @coupons);
    return $bodies[-1];
}


sub deliver
{
    my ($body) = @_;

    return eval { inbox_add($redis, $body); 1 };
}


sub trouble
{
    my ($consumers) = @_;
    my $dice = rand;

    if ($dice < 0.55) {
        my $i = int rand @$consumers;
        $killed{consumer}++ if $consumers->[$i]->kill9 == 137;
        $consumers->[$i] = consumer();
    } elsif ($dice < 0.7) {
        my $one = $consumers->[rand @$consumers];
        $one->pause;
        my $awake = time + 1.5;     # longer than claim_after: it is that dead
        wait_for { time > $awake };
        $one->resume;
        $killed{paused}++;
    } elsif ($dice < 0.85) {
        $postgres->crash;
        $postgres->restart;
        $killed{postgres}++;
    } else {
        $redis->kill9;
        $redis->restart;
        $killed{redis}++;
    }
}


my @consumers = map { consumer() } 1 .. 3;
my $end = time + $seconds;
my $next = time + 1;
my @undelivered;

# there are consumers that were killed, and servers that crashed
sub enough
{
    return $killed{consumer} && ($killed{postgres} || $killed{redis});
}

# on a slow machine for longer, until there was trouble
while (time < $end || !enough() && time < $end + 120) {
    # sometimes the same again, as a provider does whose 200 was lost
    my $body = @undelivered ? shift @undelivered
             : @bodies && rand() < 0.1 ? $bodies[rand @bodies] : add();

    push @undelivered, $body unless deliver($body);
    select undef, undef, undef, 0.004;      # as fast as callbacks come

    if (time > $next) {
        trouble(\@consumers);
        $next = time + rand 1.5;
    }
}

deliver($_) or die 'redis is away' for @undelivered;
note join ', ', map { "$_: $killed{$_}" } sort keys %killed;
ok(enough(), 'consumers were killed, and servers crashed');

my $empty = wait_for { $redis->cmd('XLEN', $inbox) == 0 } 300;
ok($empty, "all of $number batches are done with");
is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0, 'nothing is pending');
is($postgres->value('SELECT count(*) FROM coupon_callback_batches'), $number,
   'every batch is settled');
is($postgres->value('SELECT count(*) FROM rejected'), 0, 'none is rejected');

my $paid = 0;
$paid += $_ for values %money;
is_deeply([$postgres->sql('SELECT count(*), count(DISTINCT coupon_code),
               sum(amount) FROM coupon_operations')],
          [[$paid, $paid, $paid]], 'every coupon is paid, and once');
is($postgres->value('SELECT count(*) FROM coupon_callback_batches b
    WHERE (SELECT count(*) FROM coupon_operations o
           WHERE o.batch_id = b.batch_id) = 0'), 0, 'no batch is half there');


sub consumers_of_group
{
    return map { { @$_ }->{name} }
        @{ $redis->cmd('XINFO', 'CONSUMERS', $inbox, 'settle') };
}


# before 7.2 a consumer that waits on a quiet stream looks idle, and may be left
# out as well until it takes something: what must not stay is a dead one
my %alive = map { read_file($_->{config}) =~ /^consumer = (\w+)$/m ? ($1 => 1)
                                                                  : () }
            @consumers;
my $tidy = wait_for { !grep { !$alive{$_} } consumers_of_group() };
ok($tidy, 'no dead consumer is left');

is($_->stop, 0, 'SIGTERM') for @consumers;
unlike($postgres->log_text, qr/deadlock detected/, 'nobody was in a deadlock');

done_testing;
