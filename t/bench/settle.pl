#!/usr/bin/perl

# How many coupons a second coupon-settle settles, in both stores, with 1, 10
# and 100 coupons in a batch; beside it the floor: the rows that came out of it,
# put into empty tables in one transaction by the database itself (SQLite: INSERT
# from the other file; PostgreSQL: COPY).
#
#   settle.pl [COUPONS]       for each of the six (20000)
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

my $coupons = $ARGV[0] // 20000;
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


sub floor_sqlite
{
    my ($config, $redis) = @_;
    my $empty = settle_config(redis => $redis);
    my ($from, $to) = map { read_file($_) =~ /^url = sqlite:(.+)$/m }
                      $config, $empty;

    (settle_command($empty, 'migrate'))[0] == 0 or die 'migrate';
    my $copy = join '', map { "INSERT INTO $_ SELECT * FROM old.$_; " }
        qw(coupon_callback_batches coupons coupon_events coupon_operations);
    return seconds("sqlite3 $to \"ATTACH '$from' AS old; BEGIN; $copy COMMIT\"");
}


sub floor_postgres
{
    my ($schema) = @_;
    my $server = "-h $postgres->{dir} -p $postgres->{port} -U postgres";
    my $file = workdir() . "/$schema.sql";

    seconds("pg_dump $server -n $schema coupons > $file");
    $postgres->sql("DROP SCHEMA $schema CASCADE");
    return seconds("psql -X -q -1 $server -f $file coupons > /dev/null");
}


printf "%-12s %18s %14s %14s\n", 'store', 'coupons a batch', 'coupons/s',
       'bulk load/s';

for my $size (1, 10, 100) {
    for my $store ('SQLite', 'PostgreSQL') {
        my $redis = start_redis(appendfsync => 'everysec');
        my $schema = "of_$size";
        my $config = settle_config(redis => $redis, store =>
            $store eq 'SQLite' ? undef : $postgres->url($schema));

        (settle_command($config, 'migrate'))[0] == 0 or die 'migrate';
        fill($redis, $size);
        my $took = settle($config, $redis);
        my $floor = $store eq 'SQLite' ? floor_sqlite($config, $redis)
                                       : floor_postgres($schema);
        printf "%-12s %18d %14.0f %14.0f\n", $store, $size, $coupons / $took,
               $coupons / $floor;
        $redis->stop;
    }
}

pass('measured');
done_testing;
