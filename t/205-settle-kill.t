#!/usr/bin/perl

# kill -9 of the daemon: exactly between commit and acknowledgement, and at
# moments chosen by chance.  Nothing is lost, nothing is settled twice.
#
# COUPON_SEED repeats a run.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use IO::Handle;
use Test::More;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $config = settle_config(redis => $redis);
my $database = $config =~ s/settle\.ini$/coupons.db/r;
my $seed = $ENV{COUPON_SEED} // time;
my $number = 0;
my $coupons = 0;

diag("COUPON_SEED=$seed");
srand $seed;


# One more batch of some coupons, each final and paid 1.
sub add
{
    my $n = 1 + int rand 20;
    my $id = 'batch-' . ++$number;

    $coupons += $n;
    inbox_add($redis, callback($id, map { { code => "$number-$_", status => 2,
                                            real_win => 1 } } 1 .. $n));
    return $id;
}


sub batches
{
    return (ledger($config, 'SELECT count(*) FROM coupon_callback_batches'))[0][0];
}


# Each coupon has one credit of 1, and there are no others.
sub paid_once
{
    my ($name) = @_;

    is_deeply([ledger($config, "SELECT count(*), count(DISTINCT coupon_code),
                   min(amount), max(amount) FROM coupon_operations")],
              [[$coupons, $coupons, 1, 1]], $name);
}


# --- between commit and acknowledgement

my $settle = start_settle(config => $config);
my $first = add();
wait_for { $settle->log_text =~ /batch settled" batch=$first / } or die;

my $between = 0;

for (1 .. 5) {

    # the daemon holds a delivery and waits for the store; then Redis is told
    # to hold every write, and the store is released: the daemon commits and
    # cannot acknowledge

    open my $lock, '|-', "exec sqlite3 '$database' > $database.lock" or die $!;
    $lock->autoflush(1);
    print {$lock} ".timeout 60000\nBEGIN IMMEDIATE;\nSELECT 'locked';\n";
    wait_for { read_file("$database.lock") =~ /locked/ } or die 'no lock';

    my $before = batches();
    my $id = add();
    wait_for { $redis->cmd('XPENDING', $inbox, 'settle')->[0] > 0 } or die;
    $redis->cmd('CLIENT', 'PAUSE', 60000, 'WRITE');
    print {$lock} "COMMIT;\n";
    close $lock;
    unlink "$database.lock";

    my $committed = wait_for { batches() > $before } 2;
    $settle->kill9;
    $redis->cmd('CLIENT', 'UNPAUSE');

    my $pending = $redis->cmd('XPENDING', $inbox, 'settle')->[0];
    $settle->start;
    wait_for { $redis->cmd('XLEN', $inbox) == 0 } or last;

    # on a slow machine the daemon may have given up the lock before

    next unless $committed;

    is($pending, 1, 'killed after the commit, before the acknowledgement');
    like($settle->log_text, qr/batch was settled already" batch=$id$/m,
         '... the next start knows the batch');
    is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0,
       '... and acknowledges it');
    paid_once('... without paying again');
    $between = 1;
    last;
}

ok($between, 'the moment was met');


# --- at any moment

my $kills = 0;

for my $round (1 .. 25) {
    add() for 1 .. 5 + int rand 40;

    # some die in the middle of work, some at a line of the log, some at once

    my $moment = int rand 3;

    if ($moment == 0) {
        my $enough = batches() + int rand 30;
        wait_for { batches() >= $enough || $redis->cmd('XLEN', $inbox) == 0 };

    } elsif ($moment == 1) {
        my $size = (-s $settle->{log}) + int rand 20000;
        wait_for { -s $settle->{log} >= $size
                   || $redis->cmd('XLEN', $inbox) == 0 };
    }

    $kills++ if $settle->kill9 == 137;

    my ($broken) = ledger($config, 'SELECT count(*) FROM coupon_callback_batches
        b WHERE b.coupon_count <> (SELECT count(*) FROM coupon_operations o
                                   WHERE o.batch_id = b.batch_id)');
    last unless is($broken->[0], 0, "round $round: every batch is whole");
    $settle->start;
}

is($kills, 25, 'the daemon was killed in every round');
my $empty = wait_for { $redis->cmd('XLEN', $inbox) == 0 } 300;
ok($empty, 'the rest is settled');
is(batches(), $number, 'every batch is settled');
paid_once('every coupon is paid once');
is((ledger($config, 'SELECT count(*) FROM rejected'))[0][0], 0,
   'nothing was rejected');
is((ledger($config, 'PRAGMA integrity_check'))[0][0], 'ok', 'the store is whole');
is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0, 'nothing is pending');

done_testing;
