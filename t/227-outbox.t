#!/usr/bin/perl

# The stream PREFIX:operations, for a wallet in another system: what is in it,
# what consumers may do to it, what it does when Redis has lost it, is full or
# read-only, when somebody else has written there, and what `relay --since`
# brings.  Killing the relay is in t/229-outbox-storm.t.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $stream = '{coupons}:operations';
my $redis = start_redis();
my $number = 0;


# A batch of coupons that are paid, or of one thing said of one coupon.
sub add
{
    my (@coupons) = @_;

    inbox_add($redis, callback('batch-' . ++$number, @coupons));
}


sub pay
{
    my ($name, $n) = @_;

    while ($n > 0) {
        my $some = $n > 100 ? 100 : $n;
        add(map { { code => "$name-" . ($n - $_), status => 2,
                    real_win => '1.50' } } 0 .. $some - 1);
        $n -= $some;
    }
}


sub settled
{
    return wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0 } 30;
}


sub length_is
{
    my ($n) = @_;

    return wait_for { ($redis->try('XLEN', $stream) // '') eq $n };
}


sub last_id
{
    return { @{ $redis->cmd('XINFO', 'STREAM', $stream) } }
               ->{'last-generated-id'};
}


sub keys_of
{
    return map { "$_->{entry} $_->{operation_key}" } $redis->entries($stream);
}


# What is wrong with the stream: ids that are not the next, keys that come
# twice, an order that is not that of the money, values that are not the ledger's.
sub wrong
{
    my ($config, $first) = @_;
    my ($next, %seen, %last, @wrong) = ($first // 1);
    my %ledger = map { my ($key, @rest) = @$_; ($key => "@rest") }
        ledger($config, 'SELECT operation_key, coupon_code,
            settlement_generation, kind, amount, created_at, batch_id
            FROM coupon_operations');

    for my $e ($redis->entries($stream)) {
        my $key = $e->{operation_key};
        my $step = $e->{settlement_generation} * 2
                   + ($e->{kind} eq 'final_credit');

        push @wrong, "$e->{entry} is not $next-0" if $e->{entry} ne "$next-0";
        push @wrong, "$key comes again" if $seen{$key}++;
        push @wrong, "$key comes late"
            if $step <= ($last{ $e->{coupon_code} } // -1);
        push @wrong, "$key differs from the ledger"
            if "@$e{qw(coupon_code settlement_generation kind amount created_at
                       batch_id)}" ne ($ledger{$key} // '');
        $last{ $e->{coupon_code} } = $step;
        $next++;
    }

    return \@wrong;
}


# --- the stream alone

my $program = ($ENV{COUPON_BUILD} || 'build') . '/t/settle/outbox_stream_test';
my @lines = `'$program' 'redis://127.0.0.1:$redis->{port}/0' 2>&1`;
is($?, 0, 'added only to what it was known to be: exit status');
my @passed = grep { /^ok\b/ } @lines;
is($lines[-1], '1..' . @passed . "\n", '... all tests have passed');
diag grep { /^not ok|^#/ } @lines if $?;
$redis->cmd('DEL', $stream);


# --- off

my $config = settle_config(redis => $redis);
my $off = start_settle(config => $config);
add({ code => 'before', status => 2, real_win => '12.50' });
ok(settled(), 'without [operations]');
is((ledger($config, 'SELECT count(*) FROM coupon_outbox'))[0][0], 0,
   '... nothing is kept for the stream');
is($redis->cmd('EXISTS', $stream), 0, '... and there is none');
is($off->stop, 0, 'stopped');

my ($status, $out, $err) = settle_command($config, 'relay', '--once');
is($status, 1, 'relay');
like($err, qr/settle\.ini does not say \[operations\] stream = yes/, '... says so');


# --- on

write_file($config, read_file($config) . "[operations]\nstream = yes\n");
my $settle = start_settle(config => $config);

add({ code => '007', status => 2, real_win => '12.50' },
    { code => '008', status => 2, real_win => '0' });
add({ code => '007', status => 15 });
add({ code => '007', status => 3, real_win => '0.5' });
add({ code => '007', status => 3, real_win => '0.5' });
ok(length_is(4), 'switched on: operations are relayed');
is_deeply([keys_of()], ['1-0 007:0:final_credit', '2-0 008:0:final_credit',
                        '3-0 007:1:recalculation_debit',
                        '4-0 007:1:final_credit'], '... each once, in order');
is_deeply(wrong($config), [], '... as they are in the ledger');
my %entry = %{ ($redis->entries($stream))[2] };
is_deeply([sort keys %entry], [qw(amount batch_id coupon_code created_at entry
    kind operation_key settlement_generation)], '... with these fields');
is($entry{amount}, '-12.50', '... the amount as it was sent');

# debit and credit of one generation, by a person, in one transaction
is((settle_command($config, 'resolve', '008', '--status', 2, '--real-win',
                   '3.00'))[0], 0, 'resolve');
ok(length_is(6), '... is relayed as well');
is_deeply([(keys_of())[4, 5]], ['5-0 008:1:recalculation_debit',
                                '6-0 008:1:final_credit'], '... in its order');

($status, $out) = settle_command($config, 'check');
like($out, qr/^ok +operations \{coupons\}:operations: 6 entries, 0 oper/m, 'check');


# --- the day it was switched on

($status, $out, $err) = settle_command($config, 'relay', '--once', '--since',
                                       '2999-01-01');
is($status, 2, 'relay --since: a time that is none');
($status, $out, $err) = settle_command($config, 'relay', '--once', '--since',
                                       '1d');
is($status, 0, '... --since') or diag $err;
like($out, qr/^1 operations were missing in the outbox$/m, '... says how many');
ok(length_is(7), '... and relays them');
like((keys_of())[-1], qr/^7-0 before:0:final_credit/, '... behind the others');
($status, $out, $err) = settle_command($config, 'relay', '--once', '--since',
                                       '1d');
like($out, qr/^0 operations were missing/m, '... once');


# --- consumers delete and trim

$redis->cmd('XDEL', $stream, map { "$_-0" } 1 .. 5);
$redis->cmd('XTRIM', $stream, 'MAXLEN', 0);
pay('trimmed', 300);
ok(length_is(300), 'a consumer that is done deletes and trims');
is_deeply(wrong($config, 8), [], '... and gets only what is new');


# --- Redis has lost it

my $dump = $redis->cmd('DUMP', $stream);
pay('tail', 300);
ok(length_is(600), 'more of them');
my @before = keys_of();

$redis->cmd('RESTORE', $stream, 0, $dump, 'REPLACE');
ok(length_is(600), 'a stream that has lost its end gets it again');
is_deeply([keys_of()], \@before, '... with the same ids');
like($settle->log_text, qr/level=error msg="the stream of operations has lost its/,
     '... and the log says so');

$redis->cmd('FLUSHALL');
ok(length_is(607), 'a Redis that was emptied gets all of it again');
is_deeply(wrong($config), [], '... once, and in order');
is_deeply([(keys_of())[-600 .. -1]], \@before, '... with the same ids');


# --- refused by Redis

is($settle->stop, 0, 'stopped');
$redis->cmd('DEL', $stream);
$redis->cmd('SET', $stream, 'x');
($status, $out, $err) = settle_command($config, 'relay', '--once');
is($status, 1, 'a key of another type');
like($err, qr/\{coupons\}:operations: .*WRONGTYPE/, '... is named');
($status, $out) = settle_command($config, 'check');
is($status, 1, '... check');
like($out, qr/^wrong +operations \{coupons\}:operations: .*WRONGTYPE/m,
     '... names it, too');
$redis->cmd('DEL', $stream);

$redis->cmd('REPLICAOF', '127.0.0.1', 1);
($status, $out, $err) = settle_command($config, 'relay', '--once');
like($err, qr/READONLY/, 'a Redis that became a replica');
$redis->cmd('REPLICAOF', 'NO', 'ONE');

# it gets a little more until some groups have their place, and others have not
my ($memory) = $redis->cmd('INFO', 'memory') =~ /^used_memory:(\d+)/m;
my $some;

do {
    $redis->cmd('CONFIG', 'SET', 'maxmemory', $memory += 10_000);
    ($status, $out, $err) = settle_command($config, 'relay', '--once');
    $some = $redis->cmd('XLEN', $stream);
} until $some || $status == 0;

is($status, 1, 'a Redis that has no more memory');
like($err, qr/OOM/, '... says so');
cmp_ok($some, '<', 607, "... when it has taken $some");
is_deeply(wrong($config), [], '... the first ones');
$redis->cmd('CONFIG', 'SET', 'maxmemory', 0);
($status, $out, $err) = settle_command($config, 'relay', '--once');
is($status, 0, '... with memory');
is($redis->cmd('XLEN', $stream), 607, '... it gets the rest');
is_deeply(wrong($config), [], '... and nothing is left out');


# --- somebody else writes there

sub refused
{
    my ($name) = @_;
    my $length = $redis->cmd('XLEN', $stream);

    ($status, $out, $err) = settle_command($config, 'relay', '--once');
    is($status, 1, $name);
    like($err, qr/none that this ledger has sent/, '... is refused');
    is($redis->cmd('XLEN', $stream), $length, '... and nothing is added');
    like((settle_command($config, 'check'))[1],
         qr/^wrong +operations .*none that this ledger/m, '... check says so');
}


$redis->cmd('XADD', $stream, '608-0', 'operation_key', 'x:0:final_credit');
refused('an entry whose number was never given, as after a restored database');
$redis->cmd('XADD', $stream, '608-1', 'operation_key', 'x:0:final_credit');
refused('an id that is none of ours');
$redis->cmd('XADD', $stream, '*', 'a', 'b');
refused('one by the clock');
$redis->cmd('XADD', $stream, '18446744073709551615-18446744073709551615', 'a',
            'b');
refused('the last id there is');
$redis->cmd('DEL', $stream);
$redis->cmd('XADD', $stream, '600-0', 'operation_key', 'x:0:final_credit');
refused('a number that is of another operation');
$redis->cmd('DEL', $stream);
is((settle_command($config, 'relay', '--once'))[0], 0, 'deleted');
is_deeply(wrong($config), [], '... all is relayed again');
is($redis->cmd('XLEN', $stream), 607, '... to the last one');


# --- as many as there may be

write_file($config, read_file($config) . "max_length = 100\n");
$redis->cmd('XTRIM', $stream, 'MAXLEN', 0);
$settle->start;
pay('full', 250);
ok(length_is(100), 'max_length: no more than that');
ok(settled(), '... and everything is settled meanwhile');
ok(wait_for { $settle->log_text =~ /level=warn msg="the stream of operations is f/ },
   '... the log says so');
($status, $out, $err) = settle_command($config, 'relay', '--once');
is($status, 1, '... relay --once too');
like($err, qr/operations is full: its consumers/, '... with a sentence');
like((settle_command($config, 'check'))[1],
     qr/^wrong +operations .*: full, its 100 entries .* 150 operations/m,
     '... and check');

my (@taken, $most);
my $emptied = 0;

while (@taken < 250) {
    my @entries = map { $_->{entry} } $redis->entries($stream);
    $most = @entries if @entries > ($most // 0);

    if (@entries) {
        push @taken, @entries;
        $redis->cmd('XDEL', $stream, @entries);
        $emptied++;
    } else {
        wait_for { $redis->cmd('XLEN', $stream) } or last;
    }
}

is_deeply(\@taken, [map { "$_-0" } 608 .. 857],
          '... it goes on as they are taken, in order');
is($most, 100, '... and never has more');
is(last_id(), '857-0', '... up to the last');
cmp_ok(() = $settle->log_text =~ /the stream of operations is full/g, '<=',
       1 + $emptied,
       '... and says each time once that it is full');
my $said = () = $settle->log_text =~ /the stream of operations is full/g;
pay('exact', 100);
ok(length_is(100), 'as many as there is room for, and no more to come');
is($settle->stop, 0, 'stopped');
($status, $out, $err) = settle_command($config, 'relay', '--once');
is($status, 0, '... relay --once is done') or diag $err;
is($out, "0 operations relayed\n", '... with all of it');
like((settle_command($config, 'check'))[1],
     qr/^ok +operations .*: 100 entries, 0 operations/m, '... check, too');
is(() = $settle->log_text =~ /the stream of operations is full/g, $said,
   '... and the daemon has not called it full');

done_testing;
