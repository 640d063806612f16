#!/usr/bin/perl

# How many coupons a second coupon-settle settles, in both stores, with 1, 10
# and 100 coupons in a batch; and beside it the rows that came out of it, put
# into empty tables by nobody but the database:
#
#   the floor   as they have to be written, upserts where a coupon may be known,
#               64 batches a transaction, with the best statements known (SQLite:
#               prepared ones, floor.c; PostgreSQL: arrays and unnest())
#   bulk load   blindly, in one transaction (SQLite: INSERT from another file;
#               PostgreSQL: COPY): what the disk and the indexes allow
#
#   settle.pl [COUPONS]       for each of the six (40000)
#
# Redis, PostgreSQL, daemon and this program share the machine.  The inbox is
# full before the daemon starts; a coupon has three bets and is paid at once.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CouponPostgres;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

my $coupons = $ARGV[0] // 40000;
my $inbox = '{coupons}:inbox';
my $postgres = start_postgres(shared_buffers => '128MB', max_wal_size => '2GB');


sub fill
{
    my ($redis, $size) = @_;

    for my $batch (1 .. $coupons / $size) {
        inbox_add($redis, callback("b$batch", map { {
            code => sprintf('%08d%04d', $batch, $_), status => 2,
            real_win => '125.50',
            events => { map { ("$batch$_" => 2) } 1 .. 3 },
        } } 1 .. $size));
    }
}


# Seconds from the start of the daemon to the empty inbox.
sub settle
{
    my ($config, $redis) = @_;
    my $settle = start_settle(config => $config);
    my $begin = time;

    wait_for { $redis->cmd('XLEN', $inbox) == 0 } 600 or die 'not settled';
    my $took = time - $begin;
    $settle->stop;
    return $took;
}


sub seconds
{
    my ($command) = @_;
    my $begin = time;

    system('bash', '-c', $command) == 0 or die "failed: $command";
    return time - $begin;
}


# Rows of a transaction, and what of those that are there already.
sub tables
{
    my ($size) = @_;
    my $group = 64 * $size;

    return (
        [coupon_callback_batches => 64, 'ON CONFLICT DO NOTHING'],
        [coupons => $group, 'ON CONFLICT (coupon_code) DO UPDATE SET '
            . join ', ', map { "$_ = excluded.$_" } qw(status real_win state
              settlement_generation doubt confirmed_at version raw)],
        [coupon_events => 3 * $group, 'ON CONFLICT (coupon_code, uuid) DO '
            . 'UPDATE SET status = excluded.status, raw = excluded.raw'],
        [coupon_operations => $group, ''],
    );
}


sub empty_sqlite
{
    my ($redis) = @_;
    my $config = settle_config(redis => $redis);

    (settle_command($config, 'migrate'))[0] == 0 or die 'migrate';
    return path_of($config);
}


sub path_of
{
    my ($config) = @_;

    return read_file($config) =~ /^url = sqlite:(\S+)/m ? $1 : die;
}


sub floor_sqlite
{
    my ($config, $redis, $size) = @_;
    my $from = path_of($config);
    my ($floor, $bulk) = map { empty_sqlite($redis) } 1, 2;

    return seconds("build/bench/floor $from $floor $size"),
           seconds("sqlite3 $bulk \"ATTACH '$from' AS old; BEGIN; "
                   . join('', map {
                         "INSERT INTO $_->[0] SELECT * FROM old.$_->[0]; "
                     } tables($size)) . 'COMMIT"');
}


sub floor_postgres
{
    my ($schema, $size) = @_;
    my $server = "-h $postgres->{dir} -p $postgres->{port} -U postgres";
    my $file = workdir() . "/$schema";
    my @tables = tables($size);

    write_file("$file.make.sql", "SET search_path = $schema;\n"
               . join(' UNION ALL ', map { unnest($schema, $_, @{ $tables[$_] }) }
                      0 .. $#tables) . " ORDER BY g, n;\n");
    seconds("psql -X -q -A -t -F ' ' $server -f $file.make.sql coupons"
            . " | sed 's/^[0-9]* \\([0-9]\\) //; "
            . "s/^INSERT INTO coupon_callback_batches/BEGIN; &/; "
            . "s/^\\(INSERT INTO coupon_operations.*\\)/\\1 COMMIT;/'"
            . " > $file.floor.sql");
    seconds("pg_dump $server -n $schema coupons > $file.sql");

    $postgres->sql("TRUNCATE " . join ', ', map { "$schema.$_->[0]" } @tables);
    my $floor = seconds("PGOPTIONS='-c search_path=$schema' psql -X -q"
                        . " -v ON_ERROR_STOP=1 $server -f $file.floor.sql"
                        . ' coupons');

    $postgres->sql("DROP SCHEMA $schema CASCADE");
    return $floor, seconds("psql -X -q -1 $server -f $file.sql coupons"
                           . ' > /dev/null');
}


# A query that writes the statements which insert a table, so many rows each.
sub unnest
{
    my ($schema, $n, $table, $rows, $conflict) = @_;
    my @columns = $postgres->sql(
        'SELECT attname, format_type(atttypid, NULL) FROM pg_attribute'
        . " WHERE attnum > 0 AND attrelid = '$schema.$table'::regclass"
        . ' ORDER BY attnum');

    return "(SELECT g, $n AS n, format('INSERT INTO $table SELECT * FROM unnest("
        . join(', ', map { "%L::$_->[1]\[]" } @columns) . ") $conflict;', "
        . join(', ', map { "array_agg($_->[0])" } @columns)
        . ") FROM (SELECT *, (row_number() OVER (ORDER BY ctid) - 1) / $rows"
        . " AS g FROM $table) AS numbered GROUP BY g)";
}


printf "%-10s %15s %10s %10s %6s %12s\n", 'store', 'coupons a batch',
       'coupons/s', 'floor', '', 'bulk load';

for my $size (1, 10, 100) {
    for my $store ('SQLite', 'PostgreSQL') {
        my $redis = start_redis(appendfsync => 'everysec');
        my $schema = "of_$size";
        my $config = settle_config(redis => $redis, store =>
            $store eq 'SQLite' ? undef : $postgres->url($schema));

        (settle_command($config, 'migrate'))[0] == 0 or die 'migrate';
        fill($redis, $size);
        my $took = settle($config, $redis);
        my ($floor, $bulk) = $store eq 'SQLite'
            ? floor_sqlite($config, $redis, $size)
            : floor_postgres($schema, $size);

        printf "%-10s %15d %10.0f %10.0f %6.2f %12.0f\n", $store, $size,
               $coupons / $took, $coupons / $floor, $floor / $took,
               $coupons / $bulk;
        $redis->stop;
    }
}

pass('measured');
done_testing;
