#!/usr/bin/perl

# kill -9 of every relay there is, at moments chosen by chance, while coupons are
# settled and recalculated, and Redis loses the end of the stream: the stream
# ends with every operation once and in order, and with the money of the ledger.
#
# COUPON_SEED repeats a run; COUPON_SECONDS makes it longer (make soak).

use strict;
use warnings;

use lib 't/lib';
use CouponPostgres;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

my $stream = '{coupons}:operations';
my $seconds = ($ENV{COUPON_SECONDS} // 20) / 2;
my $seed = $ENV{COUPON_SEED} // int time;
my $redis = start_redis();

diag("COUPON_SEED=$seed");
srand $seed;


# A relay of its own, beside the one that `run` has.
sub start_relay
{
    my ($config) = @_;
    my $log = $config =~ s/settle\.ini$/relay.log/r;

    return CouponProcess->new(name => 'relay', dir => workdir(), log => $log,
        command => [($ENV{COUPON_BUILD} || 'build') . '/coupon-settle',
                    'relay', '-c', $config])->start;
}


# Consumers with the names 1 to $n.  Several change the order in which a coupon's
# callbacks are settled, and so its money, but not that of the stream.
sub start_consumers
{
    my ($n, $store) = @_;

    return map {
        my $config = settle_config(redis => $redis, store => $store,
                                   operations => { stream => 'yes' });
        write_file($config, read_file($config)
            =~ s/^\[redis\]$/[redis]\nclaim_after = 1s\nconsumer = c$_/mr);
        start_settle(config => $config);
    } 1 .. $n;
}


# An amount as a whole number of hundredths.
sub cents
{
    my ($sign, $whole, $part) = $_[0] =~ /^(-?)(\d+)(?:\.(\d\d?))?$/ or die;

    return ($sign ? -1 : 1) * ($whole * 100 + substr(($part // '') . '00', 0, 2));
}


# What one coupon is told next: paid, and then recalculated and paid anew.
sub next_batch
{
    my ($state) = @_;
    my $code = 'c' . int rand 20;
    my $paid = $state->{$code} = !$state->{$code};

    return callback('b-' . ++$state->{number}, { code => $code,
        $paid ? (status => 2, real_win => sprintf('%.2f', rand 100))
              : (status => 15) });
}


# Order of the entries and sum of their amounts, each by coupon; keys seen twice.
sub look_at
{
    my (@entries) = @_;
    my (%last, %sum, %seen, @wrong);

    for my $e (@entries) {
        my $step = 2 * $e->{settlement_generation}
                   + ($e->{kind} eq 'final_credit');

        push @wrong, $e->{operation_key}
            if $seen{ $e->{operation_key} }++
               || $step <= ($last{ $e->{coupon_code} } // -1);
        $last{ $e->{coupon_code} } = $step;
        $sum{ $e->{coupon_code} } += cents($e->{amount});
    }

    return (\@wrong, \%sum);
}


sub storm
{
    my ($consumers, $store) = @_;
    my @all = start_consumers($consumers, $store);
    my $config = $all[0]{config};
    my ($kills, $losses, $dump, %state) = (0, 0);
    my $end = time + $seconds;

    push @all, start_relay($config) for 1, 2;

    # on a slow machine for longer, until there were enough
    while (time < $end || $kills <= $seconds && time < $end + 120) {
        inbox_add($redis, next_batch(\%state)) for 1 .. 1 + int rand 30;

        # at once, or when the stream has grown by so many
        my $enough = ($redis->cmd('XLEN', $stream)) + int rand 15;
        wait_for { $redis->cmd('XLEN', $stream) >= $enough } 0.2 if rand() < 0.7;

        my $one = $all[rand @all];
        $kills++ if $one->kill9 == 137;
        $one->start;

        # as a failover does, whose replica was a little behind
        if (rand() < 0.05 && $dump) {
            $redis->cmd('RESTORE', $stream, 0, $dump, 'REPLACE');
            $losses++;
        }
        $dump = $redis->cmd('DUMP', $stream) if rand() < 0.2;
    }

    my $empty = wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0 } 300;
    ok($empty, "$state{number} batches are settled");
    my ($n) = @{ (ledger($config, 'SELECT count(*) FROM coupon_operations'))[0] };
    my $whole = wait_for { $redis->cmd('XLEN', $stream) == $n } 300;
    ok($whole, "$n operations are relayed") or diag $redis->cmd('XLEN', $stream);
    note "killed $kills times, the end was lost $losses times";
    cmp_ok($kills, '>', $seconds, '... though relays were killed');

    my @entries = $redis->entries($stream);
    my ($wrong, $sum) = look_at(@entries);
    is_deeply($wrong, [], '... each once, and in the order of its coupon');
    is_deeply([map { $_->{entry} } @entries], [map { "$_-0" } 1 .. $n],
              '... the ids one behind the other');

    my %ledger;
    $ledger{ $_->[0] } += cents($_->[1])
        for ledger($config, 'SELECT coupon_code, amount FROM coupon_operations');
    is_deeply($sum, \%ledger, '... with the money of the ledger');

    is($_->stop, 0, 'SIGTERM') for @all;
    $redis->cmd('FLUSHALL');
}


subtest sqlite => sub { storm(1, 'sqlite:' . workdir() . '/storm.db') };
subtest postgresql => sub { storm(3, start_postgres()->url) };

done_testing;
