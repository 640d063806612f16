#!/usr/bin/perl

# Histories through everything: callbacks into a real Redis, late, twice or not
# at all, an API that fails now and then, a wallet that is closed for some, and
# a daemon that is killed on the way.  In the end the ledger says of each coupon
# what the API says.
#
# COUPON_SEED repeats what happens; when it happens is up to the machine.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponTest;
use CouponWallet;
use List::Util 'shuffle';
use Test::More;

my $seed = $ENV{COUPON_SEED} // time;

diag("COUPON_SEED=$seed");
srand $seed;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $api = start_api();
my $settle = start_settle(redis => $redis, api_config($api, interval => '1s',
    window => '2s', confirm_after => '1s', timeout => '60s'));
my $config = $settle->{config};

my @wins = ('0', '10', '10.00', '"12.34"', '1e2', '0.01');
my $number = 0;
my (%truth, @late);


# A turn of a coupon: in the API at once, and told by a callback or not.
sub turn
{
    my ($code, $status, $win) = @_;
    my $final = $status != 1 && $status != 15;

    $truth{$code} = $final ? $win : undef;
    $api->coupon($code, status => $status, real_win => $final ? $win : undef,
                 calculated => $final ? $api->now : undef);

    my $body = callback('t' . ++$number,
        { code => $code, status => $status,
          real_win => $final ? $win : undef });
    my $fate = rand;

    return if $fate < 0.3;                              # lost
    return push @late, $body if $fate < 0.6;
    inbox_add($redis, $body) for 1 .. ($fate < 0.75 ? 2 : 1);
}


sub one_of
{
    return $_[int rand @_];
}


# In cents, as the model of t/206-settle-histories.t.
sub cents
{
    my ($amount) = $_[0] =~ /^"?(.*?)"?$/;

    return sprintf '%.0f', 100 * $amount;
}


# Coupons that an answer of the API told of, and that the wallet was closed for.
sub held
{
    my $held = () = $settle->log_text =~ /it waits" coupon=/g;

    return $held;
}


my @codes = map { sprintf '%04d', $_ } 1 .. 40;

wait_for { (settle_command($config, 'doubts'))[0] == 0 } or die 'no tables';
wallet($config);

for (my $round = 1; $round <= 6 || ($round <= 60 && !held()); $round++) {
    my @closed = grep { rand() < 0.4 } @codes;

    closed($config, @closed);

    for my $code (shuffle @codes) {
        my $final = defined $truth{$code};

        turn($code, $final ? 15 : one_of(2, 3, 1), one_of(@wins))
            if rand() < 0.5;
    }

    $api->fault(map { one_of(qw(500 cut none none html 429/1 close)) } 1 .. 4);
    inbox_add($redis, $_) for splice @late, 0, int rand 1 + @late;

    if ($round % 2 == 0) {
        $settle->kill9;
        $settle->start;
    }

    wait_for { $redis->cmd('XLEN', $inbox)
               == $redis->cmd('XPENDING', $inbox, 'settle')->[0] }
        or die 'not taken';
    $api->requests;
    wait_for { grep { /calculated/ } $api->requests } or die 'not polled';
}

cmp_ok(held(), '>', 0, 'the wallet held coupons that the API told of');
closed($config);

$api->calm;
turn($_, one_of(2, 3), one_of(@wins)) for grep { !defined $truth{$_} } @codes;
inbox_add($redis, $_) for shuffle @late;
wait_for { $redis->cmd('XLEN', $inbox) == 0 } or die 'not settled';


# --- the API's truth

sub differing
{
    my (%paid, %open, @wrong);

    for (ledger($config, 'SELECT coupon_code, amount FROM coupon_operations')) {
        $paid{ $_->[0] } += cents($_->[1]);
    }

    $open{ $_->[0] } = 1 for ledger($config, "SELECT coupon_code FROM coupons
        WHERE doubt IS NOT NULL OR state <> 'final'");

    return grep { ($paid{$_} // 'none') ne cents($truth{$_}) || $open{$_} }
           @codes;
}


ok((wait_for { !differing() } 300), 'the ledger is at the truth of the API')
    or diag join ' ', 'differing:', differing();

my ($twice) = ledger($config, 'SELECT count(*) FROM (SELECT 1
    FROM coupon_operations GROUP BY coupon_code, settlement_generation, kind
    HAVING count(*) > 1) AS twice');
is($twice->[0], 0, 'nothing was paid twice');

my ($status, $out, $err) = settle_command($config, 'reconcile',
                                          '--since', '1d');
is($status, 0, 'reconcile finds nothing') or diag $out, $err;
like($out, qr{^\d+ coupons compared, 0 differ$}m,
     '... in all of them');
is($settle->stop, 0, 'SIGTERM');

done_testing;
