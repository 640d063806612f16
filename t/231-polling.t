#!/usr/bin/perl

# Callbacks and the API at once: coupon-settle run with [api], a real Redis and
# an API that keeps the contract.  What callbacks leave open the API decides;
# what it does wrong holds up nobody.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $api = start_api();
my $settle = start_settle(redis => $redis, api_config($api, interval => '1s',
    window => '2s', confirm_after => '1s', timeout => '60s'));
my $config = $settle->{config};


sub settle
{
    inbox_add($redis, $_) for @_;
    wait_for { $redis->cmd('XLEN', $inbox) == 0 }
        or die 'not settled: ' . $settle->log_text;
}


sub coupon
{
    my ($code) = @_;
    my ($row) = ledger($config, "SELECT state, settlement_generation,
        coalesce(doubt, ''), CASE WHEN confirmed_at IS NULL THEN 0 ELSE 1 END
        FROM coupons
        WHERE coupon_code = '$code'");

    return join ' ', @{ $row // [] };
}


sub operations
{
    my ($code) = @_;

    return join ' ', map { $_->[0] } ledger($config,
        "SELECT amount FROM coupon_operations WHERE coupon_code = '$code'
         ORDER BY settlement_generation, kind DESC");
}


# --- both sources, one coupon

settle(callback('b1', { code => '007', status => 2, real_win => '12.50',
                        events => { 98123 => 2 } }));
is(coupon('007'), 'final 0  0', 'a callback settles');

$api->coupon('007', status => 2, real_win => '"12.5"', calculated => $api->now,
             events => { 98123 => 2, 98124 => 3 });
ok((wait_for { coupon('007') eq 'final 0  1' }), 'a round confirms it');
is(operations('007'), '12.50', '... without money');
is_deeply([ledger($config, "SELECT uuid, status FROM coupon_events
                            WHERE coupon_code = '007' ORDER BY uuid")],
          [[98123, 2], [98124, 3]], 'uuid and id are the same bet');

$api->coupon('008', status => 3, real_win => 5, calculated => $api->now);
ok((wait_for { operations('008') eq '5' }), 'a lost callback is made good');
is(coupon('008'), 'final 0  1', '... by who knows');
settle(callback('b2', { code => '008', status => 3, real_win => '5.00' }));
is(operations('008'), '5', '... and when it comes at last, it is nothing new');


# --- doubts

$api->coupon('009', status => 2, real_win => 20);
settle(callback('b3', { code => '009', status => 15 }));
ok((wait_for { operations('009') eq '20' }),
   'a recalculation before any final is settled by asking');
is(coupon('009'), 'final 1  1', '... without doubt');

$api->coupon('010', status => 15);
settle(callback('b4', { code => '010', status => 2, real_win => 7 }),
       callback('b5', { code => '010', status => 15 }));
is(operations('010'), '7 -7', 'recalculated');
wait_for { grep { /"010"/ } $api->requests };
is(coupon('010'), 'recalculating 1  0', 'the API says so too: it waits on');
$api->coupon('010', status => 2, real_win => 8, calculated => $api->now);
ok((wait_for { operations('010') eq '7 -7 8' }),
   'it is credited as soon as the API lists it');

settle(callback('b6', { code => '010', status => 2, real_win => 7 }));
ok((wait_for { coupon('010') eq 'final 1  1' }),
   'a late callback from before is a doubt for a moment');
is(operations('010'), '7 -7 8', '... and moves nothing');

$api->coupon('011', status => 9, real_win => 1, calculated => $api->now);
ok((wait_for { coupon('011') =~ /not in final_statuses/ }),
   'final for the API, unknown to us: a doubt');
like($settle->log_text, qr/level=error [^\n]*coupon=011 status=9/,
     '... said loudly');
is(operations('011'), '', '... and no money');


# --- the API holds nobody up

my $before = time;

$api->fault('silent');
wait_for { !-s "$api->{dir}/faults" } or die 'not asked';
settle(callback('b7', { code => '012', status => 2, real_win => 1 }));
cmp_ok(time - $before, '<', 50, 'while the API hangs, callbacks are settled');

$before = time;
is($settle->stop, 0, 'SIGTERM ends a request that hangs');
cmp_ok(time - $before, '<', 50, '... at once');

$settle->start;
$api->requests;
$api->fault('429/8');
wait_for { !-s "$api->{dir}/faults" } or die 'not asked';
$before = time;
$api->requests;
wait_for { $api->requests };
cmp_ok(time - $before, '>', 4, 'Retry-After is kept to');
like($settle->log_text, qr/overloaded \(HTTP 429\)/, '... and said');


# --- a token that expires

$api->{token} = 'fresh-91';
$api->save;
ok((wait_for { $settle->log_text =~ /refuses the token \(HTTP 401\)/ }),
   'an expired token is said');
$api->requests;
write_file("$api->{dir}/token", "fresh-91\n");
$api->coupon('013', status => 2, real_win => 3, calculated => $api->now);
ok((wait_for { operations('013') eq '3' }),
   'a new one is taken at once, without a restart');


# --- the API is away

$api->kill9;
$api->coupon('014', status => 2, real_win => 4, calculated => $api->now);
ok((wait_for { $settle->log_text =~ /what=api reason="[^"]*connect/i }),
   'an API that is away is said');
$api->come_up;
ok((wait_for { operations('014') eq '4' } 300), '... and then asked again');
like($settle->log_text, qr/"back again" what=api/, '... which is said');
unlike($settle->log_text, qr/aborted/, 'what we break off is no failure');

is($settle->stop, 0, 'SIGTERM');
unlike($settle->log_text, qr/test-token|fresh-91/, 'no token in the log');

done_testing;
