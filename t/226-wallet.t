#!/usr/bin/perl

# The wallet that moves with the operations: conf/wallet.sql on PostgreSQL.  What
# it does not let through waits and holds nobody back; when it does, the balance
# moves once.  A trigger in SQLite is waited for as well.

use strict;
use warnings;

use lib 't/lib';
use CouponPostgres;
use CouponTest;
use Test::More;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $postgres = start_postgres();
my $number = 0;


# A batch of one coupon, paid $win.
sub add
{
    my ($code, $win) = @_;
    my $id = 'batch-' . ++$number;

    inbox_add($redis, callback($id, { code => $code, status => 2,
                                      real_win => $win }));
    return $id;
}


sub left
{
    my ($n) = @_;

    return wait_for { $redis->cmd('XLEN', $inbox) == $n };
}


sub balance
{
    return $postgres->value("SELECT balance FROM players WHERE player = '$_[0]'");
}


# --- the example

my $config = settle_config(redis => $redis, store => $postgres->url);
is((settle_command($config, 'migrate'))[0], 0, 'migrate');
$postgres->sql('SET ROLE coupon; ' . read_file('conf/wallet.sql'));
$postgres->sql("INSERT INTO players VALUES ('anna'), ('bert');
    INSERT INTO player_coupons SELECT 'a' || n, 'anna'
        FROM generate_series(1, 100) AS n;
    INSERT INTO player_coupons SELECT 'b' || n, 'bert'
        FROM generate_series(1, 100) AS n;
    INSERT INTO player_coupons VALUES ('again', 'bert')");

add("a$_", '1.10'), add("b$_", '2') for 1 .. 50;
my $lost = add('nobody', 7);
add("a$_", '1.10'), add("b$_", '2') for 51 .. 100;

my $settle = start_settle(config => $config);

ok(left(1), 'one batch waits');
is(balance('anna'), '110.00', '... the others are settled: anna is paid');
is(balance('bert'), 200, '... and bert');
is($postgres->value("SELECT count(*) FROM coupon_callback_batches
                     WHERE batch_id = '$lost'"), 0, '... it is not settled');
like($settle->log_text,
     qr/level=error msg="away[^"]*" what=wallet reason="coupon nobody belongs to/,
     '... and the log says why');

add('again', 5);
ok(left(1), 'new batches go on meanwhile');
is(balance('bert'), 205, '... and are paid');

$postgres->sql("INSERT INTO player_coupons VALUES ('nobody', 'bert')");
ok(left(0), 'it is settled when the wallet takes it');
is(balance('bert'), 212, '... and paid once');
ok(wait_for { $settle->log_text =~ /msg="back again" what=wallet/ },
   '... the log says so');

my $again = callback('r1', { code => 'again', status => 15 });
inbox_add($redis, $again) for 1 .. 3;
inbox_add($redis, callback('r2', { code => 'again', status => 3,
                                   real_win => '0.5' }));
ok(left(0), 'a recalculation, delivered three times');
is(balance('bert'), '207.5', '... takes back what was paid, and pays anew');


# --- a row of it locked by somebody

$postgres->sql("INSERT INTO player_coupons SELECT 'locked' || n, 'anna'
        FROM generate_series(1, 8) AS n;
    INSERT INTO player_coupons SELECT 'free' || n, 'bert'
        FROM generate_series(1, 10) AS n");
open my $lock, '|-', "psql -X -q -h $postgres->{dir} -p $postgres->{port}"
    . ' -U postgres coupons' or die $!;
$lock->autoflush(1);
print {$lock} "BEGIN; SELECT 1 FROM coupons.players WHERE player = 'anna'"
              . " FOR UPDATE;\n";
ok(wait_for { $postgres->value("SELECT count(*) FROM pg_stat_activity
              WHERE state = 'idle in transaction'") }, 'anna is locked');
add("locked$_", '1.25') for 1 .. 8;
add("free$_", 1) for 1 .. 10;
ok((wait_for { $redis->cmd('XLEN', $inbox) == 8 } 30),
   '... hers wait, the others are settled');
is(balance('bert'), '217.5', '... and bert is paid');
print {$lock} "COMMIT;\n\\q\n";
close $lock;
ok((wait_for { $redis->cmd('XLEN', $inbox) == 0 } 30), '... until it is not');
is(balance('anna'), '120.00', '... and she is paid, once');


# --- all of it closed

$postgres->sql("ALTER TABLE players ADD CONSTRAINT closed CHECK (balance < 0)
                NOT VALID");
add("late$_", 1) for 1 .. 100;
$postgres->sql("INSERT INTO player_coupons SELECT 'late' || n, 'anna'
                FROM generate_series(1, 100) AS n");
ok(wait_for { $settle->log_text
              =~ /what=(?:wallet|store) reason="new row for relation \\"players/ },
   'a wallet that is closed');
is($settle->stop(30), 0, '... does not keep the daemon from stopping');
is($redis->cmd('XLEN', $inbox), 100, '... everything waits');
is($postgres->value('SELECT count(*) FROM rejected'), 0, '... nothing is dropped');

$postgres->sql('ALTER TABLE players DROP CONSTRAINT closed');
$settle->start;
ok(left(0), '... until it opens');
is(balance('anna'), '220.00', '... and is paid once');
is($postgres->value('SELECT sum(balance) FROM players'),
   $postgres->value('SELECT sum(amount) FROM coupon_operations'),
   'balances and operations are the same money');
is($settle->stop, 0, 'stopped');


# --- a trigger in SQLite

my $file = settle_config(redis => $redis);
is((settle_command($file, 'migrate'))[0], 0, 'migrate');
ledger_write($file, "CREATE TRIGGER closed BEFORE INSERT ON coupon_operations
    WHEN new.coupon_code = 'held' BEGIN SELECT RAISE(ABORT, 'not now'); END");

add("s$_", 1) for 1 .. 10;
add('held', 1);
add("s$_", 1) for 11 .. 20;
$settle = start_settle(config => $file);
ok(left(1), 'SQLite: one waits, the others are settled');
like($settle->log_text, qr/what=wallet reason="not now"/, '... for a trigger');
ledger_write($file, 'DROP TRIGGER closed');
ok(left(0), '... until it lets it through');
is((ledger($file, 'SELECT count(*) FROM coupon_operations'))[0][0], 21,
   '... all are paid once');
is($settle->stop, 0, 'stopped');

done_testing;
