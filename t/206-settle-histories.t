#!/usr/bin/perl

# Histories chosen by chance: callbacks of coupons in any order, with
# repetitions, several coupons in a batch, a coupon twice in one, decisions by
# hand in between.  The ledger must be what a model of a few lines says, and
# whatever happened, no coupon is paid twice.
#
# COUPON_SEED repeats a run.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $settle = start_settle(redis => $redis);
my $config = $settle->{config};
my $seed = $ENV{COUPON_SEED} // time;

diag("COUPON_SEED=$seed");
srand $seed;

# as it is written in a body => in cents; the model counts in cents
my %wins = ('0' => 0, '10' => 1000, '10.0' => 1000, '"10.00"' => 1000,
            '1e1' => 1000, '12.34' => 1234, '"0.01"' => 1, '999.9' => 99990);
my @wins = sort keys %wins;


# --- the model: the table of the README, in cents

my %model;


sub pay
{
    my ($c, $kind, $cents) = @_;

    push @{ $c->{operations} }, "$c->{generation}:$kind:$cents";
    $c->{paid} += $cents;
}


sub recalculate
{
    my ($c) = @_;

    $c->{generation}++;
    pay($c, 'recalculation_debit', -$c->{paid}) if $c->{state} eq 'final';
    $c->{state} = 'recalculating';
    $c->{confirmed} = 0;
}


sub credit
{
    my ($c, $cents, $known) = @_;

    pay($c, 'final_credit', $cents);
    @$c{qw(state confirmed)} = ('final', $known);
}


# $win: as written, undef if there is none; $known: said by one who knows
sub see
{
    my ($code, $status, $win, $known) = @_;
    my $c = $model{$code} //= { state => 'active', generation => 0, doubt => 0,
                                confirmed => 0, paid => 0, operations => [] };

    return if $c->{doubt} && !$known;
    $c->{doubt} = 0;

    if ($status == 1) {
        $c->{doubt} = 1 if $c->{state} eq 'final';

    } elsif ($status == 15) {
        return if $c->{state} eq 'recalculating';
        $c->{doubt} = 1 if $c->{state} eq 'active' && !$known;
        recalculate($c);

    } elsif (!defined $win) {
        $c->{doubt} = 1;

    } elsif ($c->{state} ne 'final') {
        credit($c, $wins{$win}, $known);

    } elsif ($c->{paid} == $wins{$win}) {
        $c->{confirmed} = 1 if $known;

    } elsif ($known) {
        recalculate($c);
        credit($c, $wins{$win}, 1);

    } else {
        $c->{doubt} = 1;
    }
}


# --- what is stored, in the model's words

sub cents
{
    my ($amount) = @_;
    my ($sign, $whole, $part) = $amount =~ /^(-?)(\d+)(?:\.(\d{1,2}))?$/
        or die "not an amount: $amount";

    return ($sign ? -1 : 1) * ($whole * 100 + substr(($part // '') . '00', 0, 2));
}


sub stored
{
    my %stored;

    for (ledger($config, 'SELECT coupon_code, state, settlement_generation,
                          CASE WHEN doubt IS NULL THEN 0 ELSE 1 END,
                          CASE WHEN confirmed_at IS NULL THEN 0 ELSE 1 END
                          FROM coupons'))
    {
        my ($code, @values) = @$_;
        $stored{$code} = { paid => 0, operations => [] };
        @{ $stored{$code} }{qw(state generation doubt confirmed)} = @values;
    }

    for (ledger($config, 'SELECT coupon_code, settlement_generation, kind, amount
                          FROM coupon_operations
                          ORDER BY settlement_generation, kind DESC'))
    {
        my ($code, $generation, $kind, $amount) = @$_;
        my $cents = cents($amount);
        push @{ $stored{$code}{operations} }, "$generation:$kind:$cents";
        $stored{$code}{paid} += $cents;
    }

    return \%stored;
}


# --- histories

my $number = 0;
my @sent;


sub chance
{
    return $_[int rand @_];
}


# A batch of 1 to 6 snapshots of a few coupons, into the inbox and the model;
# or one that was sent before, which the model must not notice.
sub send_batch
{
    if (@sent && rand() < 0.3) {
        inbox_add($redis, chance(@sent));
        return;
    }

    my @snapshots = map { {
        code => sprintf('%04d', rand 40),
        status => chance(1, 15, 2, 2, 3),
        real_win => rand() < 0.1 ? undef : chance(@wins),
    } } 1 .. 1 + int rand 6;

    see(@$_{qw(code status real_win)}, 0) for @snapshots;

    push @sent, callback('h' . ++$number, @snapshots);
    inbox_add($redis, $sent[-1]);
}


# Somebody who knows decides about a coupon that is in doubt.
sub decide
{
    my ($code) = @_;
    my ($status, $win) = (chance(15, 2), chance(grep { !/"/ } @wins));

    see($code, $status, $status == 15 ? undef : $win, 1);
    settle_command($config, 'resolve', $code, '--status', $status,
                   $status == 15 ? () : ('--real-win', $win));
}


for my $round (1 .. 12) {
    send_batch() for 1 .. 100;
    wait_for { $redis->cmd('XLEN', $inbox) == 0 } or die 'not settled';

    is_deeply(stored(), \%model, "round $round: the ledger is the model's");

    my ($twice) = ledger($config, 'SELECT count(*) FROM (SELECT 1
        FROM coupon_operations GROUP BY coupon_code, settlement_generation, kind
        HAVING count(*) > 1) AS twice');
    is($twice->[0], 0, '... nothing is paid twice');

    # a coupon has been paid what its last final says, or nothing

    my @wrong = grep {
        my $c = $model{$_};
        my $last = $c->{operations}[-1] // '';
        $c->{paid} != ($last =~ /final_credit:(\d+)/ ? $1 : 0);
    } keys %model;
    is_deeply(\@wrong, [], '... and no coupon has been paid more than its result');

    my @doubts = sort grep { $model{$_}{doubt} } keys %model;
    decide($_) for @doubts[0 .. ($#doubts < 9 ? $#doubts : 9)];
}

is_deeply(stored(), \%model, 'the last decisions are in the ledger too');
cmp_ok(scalar(grep { @{$_->{operations}} > 3 } values %model), '>', 5,
       'the histories were long enough to mean something');
unlike($settle->log_text, qr/level=error/, 'nothing was rejected');

done_testing;
