#!/usr/bin/perl

# PostgreSQL when things go wrong: who may make tables, connections lost around
# COMMIT, what is a dead letter and what only has to wait, locks, and a pooler
# that lets one in and says nothing more.

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


# A batch of one coupon, paid 1, unless it says otherwise.
sub add
{
    my (%coupon) = @_;
    my $id = 'batch-' . ++$number;

    inbox_add($redis, callback($id, { code => "c$number", status => 2,
                                      real_win => 1, %coupon }));
    return $id;
}


sub logged
{
    my ($settle, $pattern) = @_;

    return wait_for { $settle->log_text =~ $pattern };
}


sub empty
{
    return wait_for { $redis->cmd('XLEN', $inbox) == 0 };
}


sub paid
{
    my ($id) = @_;

    return $postgres->value("SELECT count(*) FROM coupon_operations
                             WHERE batch_id = '$id'");
}


# Lets everybody in and answers nothing, as a pooler does that was told to pause.
sub start_pooler
{
    my ($port) = @_;

    return CouponProcess->new(name => 'pooler', dir => workdir(),
        log => workdir() . '/pooler.log', ready => qr/ready/,
        command => [$^X, '-MIO::Socket::INET', '-e', <<'END', $port])->start;
            my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                LocalPort => $ARGV[0], Listen => 16) or die "listen: $!";
            my @open;
            $| = 1;
            print "ready\n";
            while (my $client = $listen->accept) {
                push @open, $client;
                while (sysread $client, my $start, 1024) {
                    last if unpack('x4 N', $start) == 3 << 16;
                    syswrite $client, 'N';
                }
                syswrite $client, 'R' . pack('N N', 8, 0) . join('', map {
                    'S' . pack('N', 4 + length) . $_ } "server_version\0" . "16.0\0",
                    "default_transaction_read_only\0off\0",
                    "in_hot_standby\0off\0") . 'Z' . pack('N', 5) . 'I';
            }
END
}


# --- a pooler that says nothing: it takes half a minute, see the end

my $port = free_port();
my $pooler = start_pooler($port);
my $silent = settle_config(redis => $redis,
                           store => "postgresql://coupon\@127.0.0.1:$port/x");
my $check = CouponProcess->new(name => 'check', dir => workdir(),
    log => workdir() . '/check.log', command => [
        ($ENV{COUPON_BUILD} || 'build') . '/coupon-settle', 'check', '-c',
        $silent])->start;


# --- who makes the tables

my $config = settle_config(redis => $redis, store => {
    url => $postgres->url('by_hand'), migrate => 'no' });
my $first = add();
my $settle = start_settle(config => $config);

ok(logged($settle, qr/what=store reason="there are no tables yet: /),
   'migrate = no: the daemon waits for the tables');

my ($status, $out, $err) = settle_command($config, 'check');
is($status, 0, 'check is content');
like($out, qr/^note   store postgresql: .*: no tables yet/m, '... and says it');

($status, $out, $err) = settle_command($config, 'show', 'x');
is($status, 1, 'a command needs them too');
like($err, qr/there is no store yet/, '... and says so');

($status, $out) = settle_command($config, 'migrate');
is($status, 0, 'coupon-settle migrate makes them');
like($out, qr/: the tables are of version \d+$/m, '... and says the version');
ok(empty(), '... and the daemon settles');
is(paid($first), 1, '... what had waited');
is((settle_command($config, 'migrate'))[0], 0, 'migrate again');
is($postgres->value("SELECT count(*) FROM pg_tables
                     WHERE schemaname = 'public'"), 0,
   'nothing was made outside the schema');
is($settle->stop, 0, 'stopped');

my $owner = $postgres->url('of_others');
$postgres->sql('REVOKE CREATE ON SCHEMA of_others FROM coupon;
                ALTER SCHEMA of_others OWNER TO postgres;
                GRANT USAGE ON SCHEMA of_others TO coupon');
my $poor = settle_config(redis => $redis, store => { url => $owner });
($status, $out) = settle_command($poor, 'check');
is($status, 1, 'a role that may not make tables: check');
like($out, qr/^wrong  store .*may not make them/m, '... says so');
($status, $out, $err) = settle_command($poor, 'migrate');
is($status, 1, '... and migrate fails');
like($err, qr/permission denied for schema of_others/, '... with the reason');

$postgres->{schema} = 'by_hand';
$postgres->sql('UPDATE coupon_schema_version SET version = version + 1');
$settle->start;
is($settle->wait, 1, 'tables of a newer version end the daemon');
$postgres->sql('UPDATE coupon_schema_version SET version = version - 1');


# --- a connection lost around COMMIT

my $proxy_port = free_port();
my $moment = workdir() . '/moment';
my $proxy = CouponProcess->new(name => 'cut-proxy', dir => workdir(),
    log => workdir() . '/proxy.log',
    command => [$^X, 't/lib/cut-proxy.pl', $proxy_port, $postgres->{port},
                $moment]);
write_file($moment, '');
$proxy->start;

$settle = start_settle(redis => $redis, store => {
    url => $postgres->url('cut', $proxy_port) });
add();
ok(empty(), 'through a proxy');

for my $case (['before', qr/batch settled/], ['at', qr/batch /],
              ['after', qr/batch was settled already/])
{
    my ($when, $said) = @$case;

    for my $round (1 .. 3) {
        my $begin = length $settle->log_text;
        write_file($moment, $when);
        my $id = add();

        ok(empty(), "cut $when COMMIT, round $round");
        is(-s $moment, 0, '... that was the moment');
        my $log = substr $settle->log_text, $begin;
        like($log, qr/what=store reason="lost in COMMIT, to be looked up: /,
             '... the daemon knows that it does not know');
        like($log, qr/$said.* batch=$id\b/, '... and looks');
        is(paid($id), 1, '... paid once');
    }
}

is($settle->stop, 0, 'stopped');
$proxy->stop;


# --- what never passes, and what does

$settle = start_settle(redis => $redis, store => {
    url => $postgres->url('letters') });
add();
ok(empty(), 'a store that works');

$postgres->sql("ALTER TABLE coupon_operations
                ADD CONSTRAINT modest CHECK (amount < 1000)");
my @good = map { add() } 1 .. 10;
my $rich = add(real_win => 5000);
push @good, map { add() } 1 .. 10;

ok(empty(), 'one that the database refuses, between others');
is_deeply([$postgres->sql('SELECT batch_id, reason FROM rejected')],
          [[$rich, 'new row for relation "coupon_operations" violates check '
                   . 'constraint "modest"']],
          '... goes to rejected, with the reason');
is(paid($rich), 0, '... and pays nothing');
is($postgres->value("SELECT count(*) FROM coupon_callback_batches
                     WHERE batch_id = '$rich'"), 0, '... nor is it registered');
is(scalar(grep { paid($_) == 1 } @good), 20, '... the others are settled');

($status, $out, $err) = settle_command($settle->{config}, 'rejected', 'retry', 1);
is($status, 1, 'rejected retry, while that is so');
like($err, qr/1 stays in the quarantine: new row .* constraint "modest"/,
     '... says why not');
$postgres->sql('ALTER TABLE coupon_operations DROP CONSTRAINT modest');
($status, $out, $err) = settle_command($settle->{config}, 'rejected', 'retry', 1);
is($status, 0, 'rejected retry, when it is not any more');
is(paid($rich), 1, '... settles it');
is($postgres->value('SELECT count(*) FROM rejected'), 0, '... and takes it out');

inbox_add($redis, callback('huge', { code => 'huge', status => 2, real_win => 1 })
          =~ s/"status":2,/"status":2,"x":1e999999,/r);
ok(empty(), 'a number that jsonb cannot hold');
like($postgres->value('SELECT reason FROM rejected'), qr/numeric/,
     '... is a case for rejected');

inbox_add($redis, callback('long', { code => 'long', status => 2, real_win => 1,
    events => { join('', map { chr(33 + rand 90) =~ s/["\\]/x/r } 1 .. 9000)
                => 1 } }));
ok(empty(), 'a key that no index can hold');
like($postgres->value("SELECT reason FROM rejected WHERE batch_id = 'long'"),
     qr/index row/, '... too');

# a partner's trigger

$postgres->sql(q{
    CREATE TABLE wallet (player text, balance numeric CHECK (balance >= 0));
    INSERT INTO wallet VALUES ('p', 0);
    CREATE FUNCTION pay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.amount = 13 THEN RAISE EXCEPTION 'the wallet is closed'; END IF;
        IF NEW.amount = 14 THEN UPDATE wallet SET balance = -1; END IF;
        IF NEW.amount = 15 THEN PERFORM 1 / 0; END IF;
        UPDATE wallet SET balance = balance + NEW.amount;
        RETURN NEW;
    END $$;
    CREATE TRIGGER pay BEFORE INSERT ON coupon_operations
        FOR EACH ROW EXECUTE FUNCTION pay();
    GRANT ALL ON wallet TO coupon});

for my $case ([13, 'the wallet is closed'],
              [14, 'new row for relation \\\\"wallet\\\\" violates check'],
              [15, 'division by zero'])
{
    my ($amount, $reason) = @$case;
    my $before = $postgres->value('SELECT balance FROM wallet');
    my $id = add(real_win => $amount);

    ok(logged($settle, qr/what=wallet reason="$reason/),
       "a trigger that fails: $reason");
    is(paid($id), 0, '... the batch waits');
    is($redis->cmd('XLEN', $inbox), 1, '... in the inbox');
    is($postgres->value("SELECT count(*) FROM rejected
                         WHERE batch_id = '$id'"), 0, '... it is not rejected');

    $postgres->sql('ALTER TABLE coupon_operations DISABLE TRIGGER pay');
    ok(empty(), '... until it does not fail any more');
    is(paid($id), 1, '... and is settled');
    $postgres->sql('ALTER TABLE coupon_operations ENABLE TRIGGER pay');
}


# --- away, and in the way

my $begin = length $settle->log_text;
$postgres->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE usename = 'coupon'");
my @ids = map { add() } 1 .. 20;
ok(empty(), 'its session was ended: the daemon makes another');
is(scalar(grep { paid($_) == 1 } @ids), 20, '... and settles once');

$postgres->sql("ALTER ROLE coupon SET default_transaction_read_only = on;
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE usename = 'coupon'");
@ids = map { add() } 1 .. 5;
ok(logged($settle, qr/what=store reason=".*session is read-only"/),
   'a server that only reads is not the one to write to');
$postgres->sql("ALTER ROLE coupon RESET default_transaction_read_only");
ok(empty(), '... and settles when it writes again');
is(scalar(grep { paid($_) == 1 } @ids), 5, '... once');

open my $lock, '|-', "psql -X -q -h $postgres->{dir} -p $postgres->{port}"
    . ' -U postgres coupons' or die $!;
$lock->autoflush(1);
add(code => 'held', status => 1);
ok(empty(), 'a coupon');
print {$lock} "BEGIN; SELECT 1 FROM letters.coupons WHERE coupon_code = 'held'"
              . " FOR UPDATE;\n";
ok(wait_for { $postgres->value("SELECT count(*) FROM pg_stat_activity
              WHERE state = 'idle in transaction'") }, '... held by somebody');
my $id = add(code => 'held');
ok(logged($settle, qr/what=store reason="canceling statement due to lock/),
   '... the daemon says what it waits for');
print {$lock} "COMMIT;\n\\q\n";
close $lock;
ok(empty(), '... and goes on');
is(paid($id), 1, '... once');

$postgres->crash;
@ids = map { add() } 1 .. 20;
ok(logged($settle, qr/what=store reason="[^"]*[Cc]onnection/), 'a crash');
$postgres->restart;
ok(empty(), '... the daemon comes back');
is(scalar(grep { paid($_) == 1 } @ids), 20, '... and settles once');
is($settle->stop, 0, 'stopped');
unlike($settle->log_text, qr/postgresql:\/\//, 'no URL is logged');


# --- the pooler

is($check->wait(60), 1, 'a pooler that lets one in and is silent');
like($check->log_text, qr/wrong  store .*no answer in time/, '... is given up');

done_testing;
