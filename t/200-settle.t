#!/usr/bin/perl

# From the inbox into the ledger: what a callback becomes, what a repetition
# does not become, and how a recalculation and a doubt go on.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use JSON::PP;
use Test::More;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $settle = start_settle(redis => $redis);
my $config = $settle->{config};


# Puts bodies into the inbox and waits until the daemon is done with them.
sub settle
{
    inbox_add($redis, $_) for @_;
    wait_for { $redis->cmd('XLEN', $inbox) == 0 }
        or die "not settled: " . $settle->log_text;
}


sub coupon
{
    my ($code) = @_;
    my ($row) = ledger($config, "SELECT state, settlement_generation, status,
        real_win, doubt,
        CASE WHEN confirmed_at IS NULL THEN 0 ELSE 1 END, version FROM coupons
        WHERE coupon_code = '$code'");

    return $row;
}


sub operations
{
    my ($code) = @_;

    return [ map { join ' ', @$_ } ledger($config,
        "SELECT operation_key, amount, batch_id FROM coupon_operations
         WHERE coupon_code = '$code'
         ORDER BY settlement_generation, kind DESC") ];
}


# --- one coupon, from its first bet to its second recalculation

settle(callback('b1', { code => '000000000272', status => 1,
                        events => { 98123 => 1, 98124 => 1 } }));

is_deeply(coupon('000000000272'), ['active', 0, 1, '', '', 0, 1],
          'an active coupon keeps its zeros, and no money moves');
is_deeply([ledger($config, "SELECT coupon_code, uuid, status
                            FROM coupon_events ORDER BY uuid")],
          [['000000000272', 98123, 1], ['000000000272', 98124, 1]],
          'its bets are there');

settle(callback('b2', { code => '000000000272', status => 2,
                        real_win => '125.50',
                        events => { 98123 => 2, 98125 => 3 } }));

is_deeply(coupon('000000000272'), ['final', 0, 2, '125.50', '', 0, 2],
          'a final coupon');
is_deeply(operations('000000000272'),
          ['000000000272:0:final_credit 125.50 b2'], '... is credited once');
is_deeply([ledger($config, "SELECT uuid, status FROM coupon_events
                            ORDER BY uuid")],
          [[98123, 2], [98124, 1], [98125, 3]],
          '... and its bets are taken over, one by one');

my $again = callback('b2', { code => '000000000272', status => 2,
                             real_win => '125.50',
                             events => { 98123 => 2, 98125 => 3 } });
settle($again, $again);

is_deeply(coupon('000000000272'), ['final', 0, 2, '125.50', '', 0, 2],
          'the same batch again changes nothing, not even the version');
is(scalar(() = $settle->log_text =~ /batch was settled already" batch=b2/g), 2,
   '... and the log says so');

settle(callback('b3', { code => '000000000272', status => 15 }));

is_deeply(coupon('000000000272'), ['recalculating', 1, 15, '', '', 0, 3],
          'status 15 opens a generation');

settle(callback('b4', { code => '000000000272', status => 15 }),
       callback('b5', { code => '000000000272', status => 1 }));

is_deeply([@{coupon('000000000272')}[0, 1, 2]], ['recalculating', 1, 15],
          '... once');

settle(callback('b6', { code => '000000000272', status => 3,
                        real_win => '80' }),
       callback('b7', { code => '000000000272', status => 15 }),
       callback('b8', { code => '000000000272', status => 4,
                        real_win => '0' }));

is_deeply(coupon('000000000272')->[1], 2, 'and the next one another');
is_deeply(operations('000000000272'), [
    '000000000272:0:final_credit 125.50 b2',
    '000000000272:1:recalculation_debit -125.50 b3',
    '000000000272:1:final_credit 80 b6',
    '000000000272:2:recalculation_debit -80 b7',
    '000000000272:2:final_credit 0 b8',
], 'each generation has one debit and one credit, a 0 included');


# --- a batch of several coupons, more than one group of batches

settle(map { my $batch = $_; callback("many-$batch",
           map { { code => "m$batch-$_", status => 2, real_win => "$batch.$_" } }
           1 .. 3) } 1 .. 150);

is((ledger($config, "SELECT count(*) FROM coupon_operations
                     WHERE operation_key LIKE 'm%:0:final_credit'"))[0][0],
   450, '150 batches of 3 coupons are 450 credits');
is_deeply(operations('m149-2'), ['m149-2:0:final_credit 149.2 many-149'],
          '... each with its own amount');


# --- decimals

my @amounts = (
    ['125.50', '125.50'], ['1e2', '100'], ['0.1', '0.1'], ['"12.34"', '12.34'],
    ['12345678.1234567', '12345678.1234567'],
    ['"1234567890.12345678"', '1234567890.12345678'],
    ['"123456789012345678"', '123456789012345678'], ['1.5e-3', '0.0015'],
);

settle(map { callback("d$_", { code => "d$_", status => 2,
                               real_win => $amounts[$_][0] }) } 0 .. $#amounts);

my ($typeof, $decimal) = on_postgres() ? qw(pg_typeof numeric)
                                       : qw(typeof text);

for my $i (0 .. $#amounts) {
    is_deeply([ledger($config, "SELECT amount, $typeof(amount), real_win,
        $typeof(real_win) FROM coupons JOIN coupon_operations
        USING (coupon_code) WHERE coupon_code = 'd$i'")],
        [[$amounts[$i][1], $decimal, $amounts[$i][1], $decimal]],
        "$amounts[$i][0] is stored exactly, as $decimal");
}


# --- what is not known to us is kept

my $raw = '{"coupon_code" : "raw", "status":2,"real_win":1, "x":{"y":[1,"\u00e4"]},'
          . '"events_data":[{"uuid":7,"odd":true }]}';
settle(qq({"batchId":"raw","couponCount":1,"more":[],"coupons":[$raw]}));

my $kept = [$raw, '{"uuid":7,"odd":true }'];
my ($row) = ledger($config, "SELECT c.raw, e.raw, e.uuid,
    CASE WHEN e.status IS NULL THEN 'none' END
    FROM coupons c JOIN coupon_events e USING (coupon_code)
    WHERE coupon_code = 'raw'");

is_deeply([@$row[2, 3]], [7, 'none'], 'a bet without status');

# jsonb keeps what was written, but not how

is_deeply(on_postgres() ? [map { decode_json($_) } @$row[0, 1]]
                        : [@$row[0, 1]],
          on_postgres() ? [map { decode_json($_) } @$kept] : $kept,
          'coupon and bet are kept as they were written');


# --- doubts

settle(callback('q1', { code => 'q', status => 2, real_win => 10 }),
       callback('q2', { code => 'q', status => 2, real_win => '10.00' }));

is(coupon('q')->[4], '', 'the same result in another batch is no doubt');

settle(callback('q3', { code => 'q', status => 2, real_win => 11 }));

is_deeply([@{coupon('q')}[0, 1, 3]], ['final', 0, 10],
          'another result without a recalculation moves nothing');
like(coupon('q')->[4], qr/another real_win/, '... but puts the coupon in doubt');
like($settle->log_text, qr/level=warn [^\n]* batch=q3 coupon=q doubt="/,
     '... and the log says which');

settle(callback('q4', { code => 'q', status => 15 }),
       callback('q5', { code => 'q', status => 2, real_win => 12,
                        events => { 'q-new' => 2 } }));

is_deeply(operations('q'), ['q:0:final_credit 10 q1'],
          'in doubt no callback moves money');
is((ledger($config, "SELECT count(*) FROM coupon_events
                     WHERE uuid = 'q-new'"))[0][0], 1, '... but bets go on');

settle(callback('r1', { code => 'r', status => 15 }));
is_deeply([@{coupon('r')}[0, 1]], ['recalculating', 1],
          'a recalculation of what was never final');
like(coupon('r')->[4], qr/before any final/, '... is a doubt');

settle(callback('n1', { code => 'n', status => 2 }));
like(coupon('n')->[4], qr/without real_win/,
     'a final status without real_win is a doubt');

my ($status, $out, $err) = settle_command($config, 'doubts');
is($status, 0, 'doubts');
is_deeply([map { (split)[0] } split /\n/, $out], ['n', 'q', 'r'],
          '... lists them');

($status, $out) = settle_command($config, 'resolve', 'q', '--status', 3,
                                 '--real-win', '11.00');
is($status, 0, 'resolve adopts what a person says');
is_deeply([@{coupon('q')}[0 .. 5]], ['final', 1, 3, '11.00', '', 1],
          '... the doubt is gone, the result is confirmed');
is_deeply([map { s/resolve:\d{13}$/resolve:MS/r } @{operations('q')}],
          ['q:0:final_credit 10 q1', 'q:1:recalculation_debit -10 resolve:MS',
           'q:1:final_credit 11.00 resolve:MS'],
          '... and the ledger has one debit and one credit more');

($status, $out, $err) = settle_command($config, 'resolve', 'r',
                                       '--status', 15);
is($status, 0, 'resolve without money');
is_deeply([@{coupon('r')}[0, 1, 4]], ['recalculating', 1, ''],
          '... only clears the doubt');

settle(callback('r2', { code => 'r', status => 2, real_win => 5 }));
is_deeply(operations('r'), ['r:1:final_credit 5 r2'],
          '... so that the next final is credited');

($status, $out, $err) = settle_command($config, 'resolve', 'q',
                                       '--status', 1);
is($status, 1, 'a final coupon cannot become active by resolve');
like($err, qr/still in doubt/, '... and it says so');

($status, $out, $err) = settle_command($config, 'resolve', 'nobody',
                                       '--status', 1);
is($status, 1, 'resolve of an unknown coupon');
like($err, qr/no coupon "nobody"/, '... is refused');
is(coupon('nobody'), undef, '... and makes none');


# --- show

($status, $out) = settle_command($config, 'show', '000000000272');
is($status, 0, 'show');
like($out, qr/^coupon\s+000000000272$/m, '... names the coupon');
like($out, qr/^state\s+final$/m, '... its state');
like($out, qr/^\s+98125\s+status 3$/m, '... its bets');
like($out, qr/recalculation_debit\s+-125\.50\s+sum\s+0\.00\s+b3$/m,
     '... its operations with the running sum');

($status, $out, $err) = settle_command($config, 'show', '272');
is($status, 1, 'show of a coupon that is not there');
like($err, qr/no coupon "272"/, '... says so');

# --- what these tests rest on

ok(!eval { ledger($settle->{config}, $_); 1 }, "a wrong query dies: $_")
    for 'SELECT * FROM nowhere', 'SELECT nothing FROM coupons', 'SELEC 1';

is($settle->stop, 0, 'SIGTERM ends the daemon with 0');
unlike($settle->log_text, qr/level=error/, 'nothing went wrong on the way');

done_testing;
