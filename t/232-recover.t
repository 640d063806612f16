#!/usr/bin/perl

# After a break: which window is asked for, when codes and creation periods are,
# and that nothing is missing or paid twice in the end.  Then the commands for
# the person on call: resolve by the API, reconcile.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponTest;
use JSON::PP;
use Test::More;
use Time::HiRes 'time';

my $minute = 60_000;
my $base = '/api/partner/coupons';
my $api = start_api();
my $config = settle_config(url => 'redis://127.0.0.1:1/0', api_config($api));


# As if the last successful round had been so many minutes ago.
sub last_round
{
    my ($minutes) = @_;

    my $then = int(1000 * time() - $minutes * $minute);

    ledger_write($config, "UPDATE poll_marks SET value = $then
                           WHERE name = 'polled_at'");
    return;
}


sub mark
{
    my ($name) = @_;
    my ($row) = ledger($config, "SELECT value FROM poll_marks
                                 WHERE name = '$name'");

    return $row ? $row->[0] : 0;
}


sub operations
{
    my ($code) = @_;

    return join ' ', map { $_->[0] } ledger($config,
        "SELECT amount FROM coupon_operations WHERE coupon_code = '$code'
         ORDER BY settlement_generation, kind DESC");
}


sub command
{
    my ($status, $out, $err) = settle_command($config, @_);

    return ($status, $out . $err);
}


# The creation periods among requests, as [start, end].
sub periods
{
    return map { my $body = decode_json($_); [@$body{qw(start_date end_date)}] }
           map { /(\{"start_date".*)/ ? $1 : () } @_;
}


my ($status, $said) = command('poll', '--once');
is($status, 0, 'the first round of all');
is_deeply([$api->requests], ["GET $base/calculated?time=10"],
          '... looks back as configured');


# --- breaks

# none so near to the next window that a slow command slips into it
for my $break ([5, 10], [6.5, 10], [40.1, 51], [100.1, 111], [118, 120]) {
    my ($minutes, $window) = @$break;

    $api->coupon("b$window-$minutes", status => 2, real_win => 1,
                 calculated => $api->now - int(($minutes - 0.05) * $minute));
    last_round($minutes);
    ($status) = command('poll', '--once');
    is($status, 0, "a break of $minutes minutes");
    is_deeply([$api->requests], ["GET $base/calculated?time=$window"],
              "... is covered by time=$window");
    is(operations("b$window-$minutes"), '1', '... and misses nothing');
}

# 40 minutes are 50, as in the contract's example; the clock runs on while the
# command starts

last_round(39.1);
command('poll', '--once');
is_deeply([$api->requests], ["GET $base/calculated?time=50"],
          '40 minutes: time=50');

for my $break (121, 3 * 24 * 60) {
    my $then = $api->now - ($break - 1) * $minute;

    # known and open; known, confirmed, and recalculated; unknown

    $api->coupon("open-$break", status => 1, created => $then - 5 * $minute);
    $api->coupon("paid-$break", status => 2, real_win => 10,
                 calculated => $api->now, created => 1);
    $api->coupon("none-$break", status => 2, real_win => 30,
                 created => $then + $minute);
    command('resolve', "open-$break");
    command('poll', '--once');
    is(operations("paid-$break"), '10', "before $break minutes");

    $api->coupon("open-$break", status => 3, real_win => 20,
                 calculated => $then + 2);
    $api->coupon("paid-$break", status => 2, real_win => 15,
                 calculated => $then + 3);
    $api->coupon("none-$break", calculated => $then + 4);
    ledger_write($config, "DELETE FROM $_ WHERE coupon_code = 'none-$break'")
        for qw(coupon_operations coupon_events coupons);
    last_round($break);
    $api->requests;

    ($status, $said) = command('poll', '--once');
    my @asked = $api->requests;

    is($status, 0, "a break of $break minutes");
    is($asked[0], "GET $base/calculated?time=120",
       '... begins with all that a window has');
    ok((grep { /coupon_ids.*"open-$break"/ } @asked),
       '... asks for what is open, by code');
    ok((grep { /coupon_ids.*"paid-$break"/ } @asked),
       '... and for what was confirmed lately');
    ok(@asked > 7 * 24, '... and for what was created');
    ok(!(grep { $_->[1] - $_->[0] > 86_400_000 } periods(@asked)),
       '... in periods of at most a day');
    like($said, qr/"recovery is finished" requests=\d+/, '... and says so');
    is(operations("open-$break"), '20', 'what was open is paid');
    is(operations("paid-$break"), '10 -10 15', 'what was recalculated, too');
    is(operations("none-$break"), '30', 'what nobody told of is paid');
    is(mark('gap_since'), 0, 'the break is over');
}


# --- groups of at most 100, and a recovery that breaks off

$api->coupon("many-$_", status => 1) for 1 .. 250;
command('recover');
is((ledger($config, "SELECT count(*) FROM coupons
                     WHERE coupon_code LIKE 'many%'"))[0][0], 250,
   'recover finds what was created lately');
$api->requests;

$api->coupon("many-$_", status => 2, real_win => 1) for 1 .. 250;
last_round(200);
$api->fault('none', 'none', '401');
($status, $said) = command('poll', '--once');
is($status, 1, 'a recovery that breaks off');
cmp_ok(mark('gap_since'), '>', 0, '... is remembered');
is((grep { /coupon_ids/ } $api->requests), 2, '... after the first group');

($status, $said) = command('poll', '--once');
is($status, 0, '... and the next round begins it anew');
my @groups = map { /coupon_ids":(\[.*\])/ ? decode_json($1) : () }
             $api->requests;
ok(!(grep { @$_ > 100 } @groups), '... in groups of at most 100');
ok((grep { @$_ == 100 } @groups) >= 2, '... and not of less');
is((ledger($config, "SELECT count(*) FROM coupon_operations
                     WHERE coupon_code LIKE 'many%'"))[0][0], 250,
   '... pays each once');
is(mark('gap_since'), 0, '... and ends');

$api->requests;
$api->fault('none', 'none', '500', '503/1', 'cut');
my $earliest = $api->now - 10 * 86_400_000;
($status, $said) = command('recover', '--created-since', '10d');
is($status, 0, 'recover tries again by itself');
my ($first) = sort { $a <=> $b } map { $_->[0] } periods($api->requests);
cmp_ok($first, '>=', $earliest, '--created-since is how far it goes back');
cmp_ok($first, '<=', $api->now - 10 * 86_400_000, '... and no less');


# --- a coupon that cannot be read holds up only itself

$api->coupon('many-20', status => '"2"');
$api->coupon('many-21', status => 2, real_win => 3);
$api->requests;
($status, $said) = command('recover');
is($status, 0, 'one coupon of a group is none');
like($said, qr/level=error [^\n]*be used" coupon=many-20 reason="[^"]+status/,
     '... it is said which');
is(operations('many-21'), '1 -1 3', '... and its neighbours are read');
is((ledger($config, "SELECT doubt FROM coupons
                     WHERE coupon_code = 'many-20'"))[0][0],
   'what the API says of it cannot be used', '... it is in doubt');
like($said, qr/recovery is finished"[^\n]* held=[1-9]/, '... it is counted');
cmp_ok(scalar(grep { /coupon_ids/ } $api->requests), '<', 8,
       '... and asked for with the others, and once more');
$api->coupon('many-20', status => 2);
$api->coupon('many-21', real_win => 1);
command('recover');


# --- resolve by the API

$api->coupon('r1', status => 2, real_win => '3.50');
($status, $said) = command('resolve', 'r1');
is($status, 0, 'resolve asks the API');
like($said, qr/^r1 is final, generation 0$/m, '... and says what it is');
is(operations('r1'), '3.50', '... even of a coupon that was not known');
is_deeply([grep { /get/ } $api->requests], ["GET $base/get?coupon_code=r1"],
          '... by its code');

($status, $said) = command('resolve', 'r0 &%');
is($status, 1, 'a coupon that the API does not know');
like($said, qr/error_code 471: Coupon not found/, '... is said');
is_deeply([$api->requests], ["GET $base/get?coupon_code=r0%20%26%25"],
          '... its code is escaped');

$api->fault('401');
($status, $said) = command('resolve', 'r1');
is($status, 1, 'resolve with a wrong token');
like($said, qr/refuses the token/, '... says so');

$api->coupon('r1', status => 2, real_win => 4);
($status, $said) = command('resolve', 'r1', '--status', 2, '--real-win', '3.5');
is($status, 0, 'a person may say it still');
is(operations('r1'), '3.50', '... and decides');


# --- reconcile

$api->coupon('r1', real_win => '3.5');
($status, $said) = command('reconcile', '--since', '30d');
is($status, 0, 'ledger and API agree') or diag $said;
like($said, qr/^\d+ coupons compared, 0 differ$/m, '... which is said');

$api->coupon('r1', real_win => 5);
$api->coupon('r2', status => 2, real_win => 6);
$api->coupon('many-7', status => 15);
$api->coupon('many-8');
($status, $said) = command('reconcile', '--since', '1d');
is($status, 1, 'they differ');
like($said, qr/^r1  ledger: final, paid 3\.50  API: status 2, real_win 5$/m,
     '... in an amount');
like($said, qr/^r2  ledger: none, paid 0  API: status 2, real_win 6$/m,
     '... in a coupon that is not there');
like($said, qr/^many-7  ledger: final, paid 1  API: status 15/m,
     '... in a recalculation');
like($said, qr/^many-8  ledger: final, paid 1  API: does not know it$/m,
     '... in one that the API does not have');
like($said, qr/ 4 differ$/m, '... and in nothing else');
is(operations('r1'), '3.50', 'nothing was changed');

$api->fault('500');
($status, $said) = command('reconcile', '--since', '1d');
is($status, 1, 'an API that is away');
like($said, qr/comparison is not complete: .*HTTP 500/, '... is no agreement');


# --- an answer with more in it than was asked for

$api->requests;
$api->coupon('r3', status => 15);
command('resolve', 'r3');
$api->fault('none', 'extra');
($status, $said) = command('poll', '--once');
like($said, qr/not asked for" coupon=extra/, 'an unasked coupon is said');
is(operations('extra'), '', '... and not settled');

done_testing;
