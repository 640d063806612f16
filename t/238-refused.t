#!/usr/bin/perl

# One coupon of the API that the wallet does not let through, that the store
# cannot hold, or that is none: it waits or is put aside, it is named, and the
# others are settled; in a round, asked for by code, in a recovery, with a
# restart in between.  What is let through at last is paid once.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponTest;
use CouponWallet;
use Test::More;
use Time::HiRes 'time';

my $minute = 60_000;
my $redis = start_redis();
my $api = start_api();
my $config = settle_config(redis => $redis, api_config($api, interval => '1s',
    window => '2s', confirm_after => '1s'));
my $held = 'the wallet does not let its money through';


sub command
{
    my ($status, $out, $err) = settle_command($config, @_);

    return ($status, $out . $err);
}


sub value
{
    my ($row) = ledger($config, $_[0]);

    return $row ? $row->[0] : undef;
}


sub operations
{
    my ($code) = @_;

    return join ' ', map { $_->[0] } ledger($config,
        "SELECT amount FROM coupon_operations WHERE coupon_code = '$code'
         ORDER BY settlement_generation, kind DESC");
}


sub doubt
{
    return value("SELECT coalesce(doubt, 'none') FROM coupons
                  WHERE coupon_code = '$_[0]'") // 'unknown';
}


# Coupons that a round lists.
sub final
{
    my ($win, @codes) = @_;

    $api->coupon($_, status => 2, real_win => $win, calculated => $api->now)
        for @codes;
    return;
}


# None of what is known now is listed any more, only given by its code.
sub later
{
    $_->{calculated} &&= 1, $_->{created} = 1 for values %{ $api->{coupons} };
    $api->save;
    return;
}


is((command('migrate'))[0], 0, 'migrate');
is((command('poll', '--once'))[0], 0, 'a first round');


# --- a round: the wallet holds a coupon, whatever it raises

my ($status, $said, @closed);
my $before = value("SELECT value FROM poll_marks WHERE name = 'polled_at'");

for my $how (on_postgres() ? qw(P0001 23514 22003) : qw(ABORT FAIL ROLLBACK)) {
    my @others = map { "$how-$_" } 1 .. 20;

    wallet($config, $how);
    closed($config, @closed = (@closed, "$how-held", "$how-too"));
    final(1, @others, "$how-held", "$how-too");
    ($status, $said) = command('poll', '--once');

    is($status, 0, "$how: the round is done");
    is((grep { operations($_) eq '1' } @others), 20, '... the others are paid');
    is(operations("$how-held"), '', '... what is held is not');
    is(doubt("$how-$_"), $held, "... $_ is in doubt") for qw(held too);
    like($said, qr/level=error [^\n]*it waits" coupon=$how-held reason="[^"]*not now/,
         '... named with the reason');
    like($said, qr/msg=polled [^\n]*coupons=22 operations=20 [^\n]* held=2 /,
         '... and counted');
    later();
}

my $now = value("SELECT value FROM poll_marks WHERE name = 'polled_at'");
cmp_ok($now, '>', $before, 'the window moves');
is(value('SELECT count(*) FROM rejected'), 0, 'nothing is rejected');

my ($code) = ledger($config, "SELECT coupon_code FROM coupons
                              WHERE coupon_code LIKE '%-too'");
$code = $code->[0];

($status, $said) = command('doubts');
like($said, qr/^\Q$code\E .*\Q$held\E/m, 'doubts lists it');
($status, $said) = command('resolve', $code);
is($status, 1, 'resolve cannot do more');
like($said, qr/it waits" coupon=$code.*still in doubt: \Q$held\E/s,
     '... and says so');
($status, $said) = command('resolve', $code, '--status', 2, '--real-win', 1);
is($status, 1, 'nor by hand');
like($said, qr/wallet does not let it through: .*not now/, '... with the reason');
($status, $said) = command('reconcile', '--since', '1h');
is(operations($code), '', 'no money moved');

($status, $said) = command('poll', '--once');
is($status, 0, 'another round');
like($said, qr/why=confirm codes=6 coupons=6 operations=0 moved=0 held=6/,
     '... asks for all of them by code');

closed($config);
($status, $said) = command('poll', '--once');
like($said, qr/why=confirm codes=6 coupons=6 operations=6 moved=0 held=0/,
     'when the wallet opens they are paid, though no list has them');
is(operations($code), '1', '... once');
is((ledger($config, 'SELECT 1 FROM coupons WHERE doubt IS NOT NULL')), 0,
   '... and nothing is in doubt');


# --- asked for by code: what was paid is taken back and paid anew, or neither

final(10, 'c1', 'c2');
command('poll', '--once');
closed($config, 'c1');
final(12, 'c1', 'c2');
($status, $said) = command('poll', '--once');
is($status, 0, 'another amount');
is(operations('c2'), '10 -10 12', '... is adopted');
is(operations('c1'), '10', '... but not where the wallet refuses');
is(doubt('c1'), $held, '... that is a doubt');
later();
closed($config);
command('poll', '--once');
is(operations('c1'), '10 -10 12', '... and is adopted then');


# --- a recovery, and one that is started again in the middle

$api->coupon("r$_", status => 1) for 1 .. 5;
command('recover');
is(value("SELECT count(*) FROM coupons WHERE coupon_code IN ('r1', 'r2', 'r3',
         'r4', 'r5')"), 5,
   'coupons that are known');
final(3, map { "r$_" } 1 .. 5);
$api->coupon("n$_", status => 2, real_win => 4) for 1 .. 5;
$_->{calculated} = 1 for values %{ $api->{coupons} };
$api->save;
closed($config, 'r2', 'n2');
$now = int(1000 * time() - 200 * $minute);
ledger_write($config, "UPDATE poll_marks SET value = $now
                       WHERE name = 'polled_at'");
$api->fault('none', 'none', '401');
($status) = command('poll', '--once');
is($status, 1, 'a recovery breaks off');
is(doubt('r2'), $held, '... after it has met what is held');
($status, $said) = command('poll', '--once');
is($status, 0, '... and is finished by the next round');
like($said, qr/recovery is finished" [^\n]*held=[1-9]\d* rejected=0/,
     '... which counts it');
is(value("SELECT value FROM poll_marks WHERE name = 'gap_since'"), 0,
   '... the break is over');
is(join(' ', map { operations("r$_") || '-' } 1 .. 5), '3 - 3 3 3',
   'those that were known are paid');
is(join(' ', map { operations("n$_") || '-' } 1 .. 5), '4 - 4 4 4',
   '... and those that nobody told of');
($status, $said) = command('recover');
is($status, 0, 'recover goes through, too');
closed($config);
command('recover');
is(operations('r2') . ' ' . operations('n2'), '3 4', '... and pays at last');


# --- the store can never hold it

later();
ledger_write($config, 'CREATE UNIQUE INDEX one_four ON coupons (status)
                       WHERE status = 4');
$api->coupon("u$_", status => 4, real_win => 5, calculated => $api->now)
    for 1, 2;
final(6, 'u3', 'u4', 'u5');
($status, $said) = command('poll', '--once');
is($status, 0, 'a round with a coupon that cannot be stored');
is(join(' ', map { operations("u$_") } 3 .. 5), '6 6 6', '... goes on');
my ($bad) = grep { operations("u$_") eq '' } 1, 2;
is(operations('u' . (3 - $bad)), '5', '... only one of the two is not paid');
like($said, qr/level=error [^\n]*is rejected" coupon=u$bad reason="[^\n]*(?:one_four|coupons\.status)/,
     '... it is named');
like($said, qr/msg=polled [^\n]*rejected=1/, '... and counted');

my @rejected = ledger($config, "SELECT source, batch_id, reason, id FROM rejected");
is(@rejected, 1, 'it is kept aside');
is($rejected[0][0], 'api', '... with its source');
like($rejected[0][1], qr/^poll:\d+$/, '... its round');
like($rejected[0][2], qr/^coupon u$bad: .*unique/i, '... its code and why');
my $id = $rejected[0][3];

($status, $said) = command('poll', '--once');
like($said, qr/is rejected" coupon=u$bad/, 'the next round says it again');
is(value('SELECT count(*) FROM rejected'), 1, '... and keeps it once');
($status, $said) = command('rejected', 'show', $id);
like($said, qr/^\{"coupon_code":"u$bad",.*"status":4/m, 'what the API said');
($status, $said) = command('rejected', 'retry', $id);
is($status, 1, 'a retry of that is none');
like($said, qr/$id stays in the quarantine: .*resolve CODE/, '... and says what is');
($status, $said) = command('resolve', "u$bad");
is($status, 1, 'resolve');
like($said, qr/the ledger refuses it: .*unique/i, '... says why it cannot');
is((command('rejected', 'drop', $id))[0], 0, 'a person drops it');
command('poll', '--once');
is(value('SELECT count(*) FROM rejected'), 0, '... and is not asked twice');
ledger_write($config, 'DROP INDEX one_four');
is((command('resolve', "u$bad"))[0], 0, 'when it can be stored, resolve does it');
is(operations("u$bad"), '5', '... and pays');

SKIP: {
    skip 'PostgreSQL only: types that cannot hold it', 2 unless on_postgres();

    $api->coupon('x1', status => '2,"x":1e200000', real_win => 1,
                 calculated => $api->now);
    final(1, 'x2');
    ($status, $said) = command('poll', '--once');
    is("$status " . operations('x2'), '0 1', 'a number that jsonb does not hold');
    like($said, qr/is rejected" coupon=x1 reason="[^"]*numeric/, '... is put aside');
    $api->coupon('x1');
}

SKIP: {
    skip 'SQLite only: a trigger on coupons is waited for', 2 if on_postgres();

    ledger_write($config, "CREATE TRIGGER no BEFORE INSERT ON coupons
        WHEN new.coupon_code = 'y1' BEGIN SELECT RAISE(ABORT, 'no'); END");
    final(1, 'y1', 'y2');
    ($status, $said) = command('poll', '--once');
    is("$status " . operations('y2'), '0 1', 'not even a doubt is taken');
    like($said, qr/is rejected" coupon=y1 reason=no/, '... that is put aside');
    $api->coupon('y1');
    ledger_write($config, 'DROP TRIGGER no');
}


# --- what is none

later();
ledger_write($config, 'DELETE FROM rejected');
final(7, 'm1', 'm2');
$api->coupon('m3', status => '"2"', real_win => 7, calculated => $api->now);
$api->coupon('m4', status => '2,"coupon_code ":1', real_win => 7,
             calculated => $api->now);
final('1.123456789', 'm5');
($status, $said) = command('poll', '--once');
is($status, 0, 'a round with coupons that are none');
is(join(' ', map { operations("m$_") || '-' } 1 .. 5), '7 7 - 7 -',
   '... the others are paid');
is(doubt("m$_"), 'what the API says of it cannot be used', "... m$_ is in doubt")
    for 3, 5;
like($said, qr/be used" coupon=m5 reason="a real_win is not an exact decimal"/,
     '... is named');
like($said, qr/msg=polled [^\n]*malformed=2/, '... and counted');
($status, $said) = command('reconcile', '--since', '1h');
is($status, 1, 'reconcile');
like($said, qr/^m3  API: cannot be used: a coupon's status/m, '... names it');

later();
($status, $said) = command('poll', '--once');
like($said, qr/why=confirm codes=2 coupons=2 operations=0 [^\n]*malformed=2/,
     'they are asked for by code');
$api->coupon('m3', status => 2);
$api->coupon('m5', real_win => '1.5');
command('poll', '--once');
is(operations('m3') . ' ' . operations('m5'), '7 1.5', '... until they are right');
is(doubt('m3'), 'none', '... and out of doubt');

final(8, 'm6');
$api->fault('nameless');
($status, $said) = command('poll', '--once');
is($status, 0, 'a coupon whose code cannot be read');
is(operations('m6'), '8', '... does not keep its neighbour');
like(value('SELECT reason FROM rejected'), qr/coupon_code is not a string/,
     '... and is put aside');
$api->fault('nameless');
command('poll', '--once');
is(value('SELECT count(*) FROM rejected'), 1, '... once');


# --- a wallet that is closed for all

later();
closed($config, map { "z$_" } 1 .. 150);
final(1, map { "z$_" } 1 .. 150);
final(1, 'x3', 'x4');
($status, $said) = command('poll', '--once');
is($status, 0, 'a wallet that is closed for nearly all');
is(value("SELECT count(*) FROM coupons
          WHERE coupon_code LIKE 'z%' AND doubt = '$held'"), 150,
   '... holds them');
later();
closed($config);
($status, $said) = command('poll', '--once');
is(value("SELECT count(*) FROM coupon_operations
          WHERE coupon_code LIKE 'z%' AND amount = '1'"), 150,
   '... and pays them when it opens');
# the API lists in any order: they may have been held in one group with others
is(operations('x3') . operations('x4'), '11',
   '... and the rest, then if not before');
is((() = $said =~ /why=confirm codes=(?:100|5[0-2]) /g), 2,
   '... in groups of 100');


# --- run: what is held is asked for again by itself, over a kill

later();
closed($config, 'd1');
my $settle = start_settle(config => $config);
final(9, 'd1', 'd2');
ok((wait_for { doubt('d1') eq $held }), 'run: one is held');
ok((wait_for { operations('d2') eq '9' }), '... its neighbour is paid');
inbox_add($redis, callback('b1', { code => 'd3', status => 2, real_win => 1 }));
ok((wait_for { operations('d3') eq '1' }), '... callbacks go on');
$api->requests;
ok((wait_for { grep { /coupon_ids.*"d1"/ } $api->requests }),
   '... it is asked for');
$settle->kill9;
$settle->start;
final(2, 'd4');
ok((wait_for { operations('d4') eq '2' }), 'after a kill rounds go on');
is(operations('d1'), '', '... it is held still');
later();
closed($config);
ok((wait_for { operations('d1') eq '9' } 60), '... and paid when the wallet opens');
is($settle->stop, 0, 'SIGTERM');
is((ledger($config, 'SELECT 1 FROM coupons WHERE doubt IS NOT NULL')), 0,
   'in the end nothing is in doubt');

done_testing;
