#!/usr/bin/perl

# The daemon and its store: locked, absent, full, newer than the program; and
# the end of the daemon by SIGTERM.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use IO::Handle;
use Test::More;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $number = 0;


sub add
{
    my $id = 'batch-' . ++$number;

    inbox_add($redis, callback($id, map { { code => "$number-$_", status => 2,
                                            real_win => 1 } } 1 .. 3));
    return $id;
}


sub logged
{
    my ($settle, $pattern) = @_;

    return wait_for { $settle->log_text =~ $pattern };
}


sub settled
{
    my ($settle, $id) = @_;

    return logged($settle, qr/msg="batch settled" batch=$id /);
}


sub count
{
    my ($config, $table) = @_;

    return (ledger($config, "SELECT count(*) FROM $table"))[0][0];
}


# Takes the write lock of the store in another process.  Printing "COMMIT;" to
# what it returns and closing that releases the lock.
sub lock_store
{
    my ($database) = @_;
    my $out = workdir() . '/lock.out';

    unlink $out;
    open my $lock, '|-', "exec sqlite3 '$database' > $out" or die $!;
    $lock->autoflush(1);
    print {$lock} ".timeout 60000\nBEGIN IMMEDIATE;\nSELECT 'locked';\n";
    wait_for { read_file($out) =~ /locked/ } or die 'no lock';
    return $lock;
}


# --- locked

my $settle = start_settle(redis => $redis);
my $config = $settle->{config};
my $database = $config =~ s/settle\.ini$/coupons.db/r;

ok(settled($settle, add()), 'a store that works');

my $lock = lock_store($database);
my @held = map { add() } 1 .. 5;

ok(logged($settle, qr/msg="away, trying again" what=store reason="database is l/),
   'a locked store: the daemon waits');
ok($redis->cmd('XPENDING', $inbox, 'settle')->[0] > 0,
   '... and acknowledges nothing');
is(count($config, 'coupon_callback_batches'), 1, '... nor stores anything');
unlike($settle->log_text, qr/batch=batch-2/, '... nor speaks of it');

print {$lock} "COMMIT;\n";
close $lock;

ok(settled($settle, $_), "released: $_") for @held;
ok(logged($settle, qr/msg="back again" what=store/), '... and the log says so');
ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, '... all is acknowledged');
is(count($config, 'coupon_operations'), 3 * $number, '... and settled once');


# --- asked to stop while the store is locked

$lock = lock_store($database);
my $waiting = add();
ok(wait_for { $redis->cmd('XPENDING', $inbox, 'settle')->[0] > 0 },
   'a delivery that waits for the store');
is($settle->stop, 0, '... does not keep the daemon from stopping');
is($redis->cmd('XLEN', $inbox), 1, '... and stays in the inbox');
close $lock;

$settle->start;
ok(settled($settle, $waiting), '... for the next start');


# --- not the file any more that was opened

my @files = map { "$database$_" } '', '-wal', '-shm';
my $gone = qr/what=store reason="\S+ is not the file any more that was opened/;

rename $_, "$_.away" for @files;
$waiting = add();
ok(logged($settle, $gone), 'a file that is moved away: the daemon says so');
is($redis->cmd('XLEN', $inbox), 1, '... and acknowledges nothing');
ok(!-e $database, '... nor makes a new one');

rename "$_.away", $_ for @files;
ok(settled($settle, $waiting), '... and goes on when it is back');
ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, '... all is acknowledged');

# the same rows, but not those that are written from now on
my $before = () = $settle->log_text =~ /$gone/g;
system('sqlite3', $database, ".backup $database.copy") == 0 or die;
rename "$database.copy", $database;
$waiting = add();
ok(wait_for { (() = $settle->log_text =~ /$gone/g) > $before },
   'a file that is replaced: the daemon says so');
is($redis->cmd('XLEN', $inbox), 1, '... and acknowledges nothing');
unlike($settle->log_text, qr/batch settled" batch=$waiting /,
       '... nor settles anything');
is($settle->stop, 0, '... and stops when it is asked to');

unlink "$database-wal", "$database-shm";
$settle->start;
ok(settled($settle, $waiting), 'restarted it takes the file that is there');
is(count($config, 'coupon_operations'), 3 * $number, '... with all that was');


# --- full

is($settle->stop, 0, 'stopped');

my $full = settle_config(redis => $redis, store => "sqlite:$database");
my $limited = CouponProcess->new(name => 'limited', dir => workdir(),
    log => workdir() . '/limited.log', config => $full,
    # the limit is on the files of the store, not on the log
    command => ['/bin/sh', '-c', '(ulimit -f $1; shift; exec "$@") 2>&1 | cat',
                'sh', int((-s $database) / 512) + 1,
                ($ENV{COUPON_BUILD} || 'build') . '/coupon-settle', 'run',
                '-c', $full]);
my @much = map { add() } 1 .. 200;

$limited->start;
ok(logged($limited, qr/what=store reason="(?:disk I\/O error|database or disk)/),
   'a store that cannot grow');
ok($redis->cmd('XLEN', $inbox) > 0, '... loses nothing');
$limited->kill9;

# what the log calls settled is in the ledger, though a commit has failed since
my %stored = map { $_->[0] => 1 } ledger($config,
    'SELECT batch_id FROM coupon_callback_batches');
my @said = $limited->log_text =~ /batch settled" batch=(\S+) /g;
is_deeply([grep { !$stored{$_} } @said], [],
          '... and calls nothing settled that is not');

$settle->start;
ok(settled($settle, $much[-1]), '... and settles when it can');
ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, '... all of it');
is(count($config, 'coupon_operations'), 3 * $number, '... once');


# --- SIGTERM under load

for my $round (1 .. 5) {
    my $before = count($config, 'coupon_callback_batches');

    add() for 1 .. 200;
    wait_for { count($config, 'coupon_callback_batches') > $before };

    is($settle->stop, 0, "SIGTERM under load, round $round");
    is($redis->cmd('XLEN', $inbox) + count($config, 'coupon_callback_batches'),
       $number, '... each batch is either settled or in the inbox');
    $settle->start;
}

ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, 'the rest is settled');
is(count($config, 'coupon_operations'), 3 * $number, '... once');
unlike($settle->log_text, qr/settled already/, '... and nothing came twice');
is($settle->stop, 0, 'stopped');


# --- made by a newer program, or by none

system('sqlite3', $database, 'PRAGMA user_version = 99') == 0 or die;
$settle->start;
is($settle->wait, 1, 'a store of a newer version ends the daemon');
ok(logged($settle, qr/level=error msg="the store cannot be used" [^\n]* version 99/),
   '... which says why');

my ($status, $out, $err) = settle_command($config, 'show', '1-1');
is($status, 1, '... and every other command');
like($err, qr/tables are of version 99, this program knows version \d+$/m,
     '... says so too');


# --- the folder comes later

my $late = start_settle(redis => $redis,
                        store => 'sqlite:' . workdir() . '/late/coupons.db');
ok(logged($late, qr/what=store reason="unable to open database file"/),
   'a store in a folder that is not there');
mkdir workdir() . '/late' or die $!;
ok(settled($late, add()), '... is made when the folder is');

done_testing;
