#!/usr/bin/perl

# Ready and alive: what coupon-settle says of itself while Redis, the store or
# the wallet is away, or it is stuck; and that nobody who asks, or only stays
# connected, keeps it from settling and from stopping.

use strict;
use warnings;

use lib 't/lib';
use CouponMetrics;
use CouponPostgres;
use CouponTest;
use IO::Select;
use IO::Socket::IP;
use Test::More;
use Time::HiRes 'time';

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $port = free_port();
my $number = 0;


# "CODE LINE" of a path.
sub said
{
    my ($path, %options) = @_;
    my $answer = get($port, $path, %options);

    return "$answer->{status} $answer->{body}" =~ s/\n\z//r;
}


sub becomes
{
    my ($wanted, $name, $path) = @_;
    my $said;

    wait_for { ($said = said($path // '/healthz')) eq $wanted };
    return is($said, $wanted, $name);
}


# The page, and that it is in order.
sub page
{
    my ($sample, @wrong) = metrics_parse(get($port, '/metrics')->{body});

    is_deeply(\@wrong, [], 'the page is in order');
    return $sample;
}


# The page, when this part of it is up: it waits for each only a second, which may
# be short for the machine.
sub page_with
{
    my ($part) = @_;
    my $page;

    wait_for {
        $page = page();
        $page->{"coupon_settle_up{part=\"$part\"}"};
    };
    return $page;
}


# Whether the first page after a restart has this part; tried again for the same
# reason.
sub whole_at_once
{
    my ($part, $server) = @_;

    for (1 .. 5) {
        $server->restart;
        return 1 if page()->{"coupon_settle_up{part=\"$part\"}"};
    }

    return 0;
}


sub add
{
    my ($code) = @_;

    return inbox_add($redis, callback('batch-' . ++$number, {
        code => $code // "c$number", status => 2, real_win => 1 }));
}


sub settled
{
    return wait_for { $redis->cmd('XLEN', $inbox) == 0 };
}


sub config
{
    return settle_config(redis => $redis, @_,
                         metrics => { listen => "127.0.0.1:$port" });
}


# --- Redis

my $config = config();
my $settle = start_settle(config => $config);
becomes('200 ready', 'ready');
is(said('/livez'), '200 alive', '... and alive');
is(page()->{coupon_settle_ready}, 1, '... the page says so, too');
ok(whole_at_once('redis', $redis),
   'Redis is started anew: the page is whole at once');

$redis->stop;
becomes('503 waiting for Redis', 'Redis is stopped');
is(said('/livez'), '200 alive', '... which is no reason for a restart');
my $page = page_with('store');
is($page->{'coupon_settle_up{part="redis"}'}, 0, '... the page is there');
is($page->{'coupon_settle_up{part="store"}'}, 1, '... with what the store says');
is($page->{coupon_settle_inbox_pending}, undef, '... without the inbox');
is($page->{coupon_settle_ready}, 0, '... not ready');
cmp_ok($page->{'coupon_settle_retries_total{cause="redis"}'}, '>', 0,
       '... it is tried again');
$redis->restart;
becomes('200 ready', 'Redis is back');
is(page_with('redis')->{'coupon_settle_up{part="redis"}'}, 1,
   '... on the page as well');

$redis->pause;
my $begin = time;
$page = page();
cmp_ok(time - $begin, '<', 30, 'a silent Redis: the page does not wait long');
is($page->{'coupon_settle_up{part="redis"}'}, 0, '... and is there without it');

my $before;
for (1 .. 5) {
    my $slow = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port");
    print {$slow} "GET /metrics HTTP/1.0\r\n\r\n";
    $slow->flush;
    is(said('/livez'), '200 alive',
       '... health is asked while somebody waits for it');
    $before = !IO::Select->new($slow)->can_read(0);
    like(scalar readline $slow, qr/ 200 /, '... which comes as well');
    last if $before;
}
ok($before, '... and health was told before that');
$redis->resume;
becomes('200 ready', 'ready again');


# --- who asks does not disturb

my @idle = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") } 1 .. 50;
add() for 1 .. 10;
ok(settled(), 'it settles with 50 connections that say nothing');
my $other = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port",
                                  LocalAddr => '127.0.0.2', Timeout => 9);
print {$other} "GET /livez HTTP/1.0\r\n\r\n";
$other->flush;
ok(IO::Select->new($other)->can_read(9), '... and another address does not wait');
like(scalar readline $other, qr/ 200 /, '... for its answer');
close $_ for grep { $_ } @idle;
becomes('200 ready', '... and answers when they are gone');

is(said('/'), "404 there are /metrics, /healthz and /livez", 'another path');
for my $path (qw(/metrics /healthz /livez)) {
    my $answer = post($port, $path, 'x');
    is($answer->{status}, 405, "POST $path");
    is($answer->{headers}{allow}, 'GET, HEAD', '... says what may be');
    $answer = post($port, $path, '', method => 'HEAD');
    is($answer->{status}, 200, "HEAD $path");
    is($answer->{body}, '', '... has no body');
}
is(get($port, '/metrics')->{headers}{'content-type'},
   'text/plain; version=0.0.4', 'the type that Prometheus wants');
isnt(get($port, '/livez', headers => { 'X-Long' => 'x' x 100_000 })->{status},
     200, 'a head of 100 kB is not taken');
is(said('/livez?x=1'), '200 alive', 'arguments do not matter');


# --- a port in use; IPv6

my ($status, undef, $error) = settle_command(config(), 'run');
is($status, 1, 'a port in use');
like($error, qr/cannot be served there" listen=\S+:$port reason="Address already/,
     '... is said');

my $keep = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port");
print {$keep} "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
$keep->flush;
like(scalar readline $keep, qr/ 200 /, 'a scraper that stays connected');
my $half = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port");
print {$half} "GET /metr";
$half->flush;
$begin = time;
is($settle->stop, 0, 'SIGTERM: exits with 0');
cmp_ok(time - $begin, '<', 9, '... at once');
close $_ for $keep, $half;

$settle = start_settle(config => $config);
becomes('200 ready', 'started again');
$redis->pause;
my @scrapers = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") } 1 .. 20;
for (@scrapers) {
    print {$_} "GET /metrics HTTP/1.0\r\n\r\n";
    $_->flush;
}
is(said('/livez'), '200 alive', '20 scrapers wait for a silent Redis');
$begin = time;
is($settle->stop, 0, '... SIGTERM: exits with 0');
cmp_ok(time - $begin, '<', 15, '... and looks for none of them any more');
close $_ for @scrapers;
$redis->resume;

SKIP: {
    my $six = IO::Socket::IP->new(LocalHost => '::1', Listen => 1);
    skip 'no IPv6', 1 unless $six;
    close $six;
    $settle = start_settle(redis => $redis,
                           metrics => { listen => "[::1]:$port" });
    my $socket = IO::Socket::IP->new(PeerHost => '::1', PeerPort => $port);
    print {$socket} "GET /livez HTTP/1.0\r\n\r\n";
    like(scalar readline $socket, qr/ 200 /, 'IPv6');
    is($settle->stop, 0, 'stopped');
}


# --- the store: PostgreSQL, away while there is nothing to do

my $postgres = start_postgres();
$settle = start_settle(config => config(store => $postgres->url));
becomes('200 ready', 'PostgreSQL: ready');
is(page_with('store')->{'coupon_settle_up{part="store"}'}, 1,
   '... on the page as well');

ok(whole_at_once('store', $postgres),
   '... started anew: the page is whole at once');

$postgres->stop;
becomes('503 waiting for the store', '... stopped, and nothing to settle');
is(said('/livez'), '200 alive', '... which is no reason for a restart');
$page = page_with('redis');
is($page->{'coupon_settle_up{part="store"}'}, 0, '... the page is there');
is($page->{coupon_settle_doubts_open}, undef, '... without the ledger');
is($page->{coupon_settle_inbox_pending}, 0, '... with the inbox');
$postgres->restart;
becomes('200 ready', '... back again');
is(page_with('store')->{'coupon_settle_up{part="store"}'}, 1,
   '... on the page as well');

my @silent = $postgres->children;
$postgres->pause;
kill 'STOP', @silent;
$begin = time;
$page = page();
cmp_ok(time - $begin, '<', 30, '... silent: the page does not wait long');
is($page->{'coupon_settle_up{part="store"}'}, 0, '... and is there without it');
is(said('/livez'), '200 alive', '... alive');
$postgres->resume;
kill 'CONT', @silent;
add();
ok(settled(), '... it settles');
becomes('200 ready', '... and is ready');


# --- the wallet

$postgres->sql('SET ROLE coupon; CREATE FUNCTION hold() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION $m$not now$m$; END $$;
    CREATE TRIGGER hold BEFORE INSERT ON coupon_operations FOR EACH ROW
        EXECUTE FUNCTION hold()');
$redis->cmd('MULTI');
add() for 1 .. 600;                  # more than are settled together
$redis->cmd('EXEC');
becomes('503 waiting for the wallet, whose trigger holds every batch',
        'a wallet that holds all');
is(said('/livez'), '200 alive', '... alive');
$postgres->sql('SET ROLE coupon; DROP TRIGGER hold ON coupon_operations');
becomes('200 ready', '... opens');
ok(settled(), '... all is settled');
is($settle->stop, 0, 'stopped');


# --- stuck: its clock, but nothing else, goes on

SKIP: {
    my ($library) = glob '/usr/lib/*/faketime/libfaketime.so.1';
    skip 'no libfaketime', 1 unless $library;
    skip 'a sanitizer wants to be the first library', 1 if $ENV{COUPON_REPORTS};

    local $ENV{FAKETIME_TIMESTAMP_FILE} = workdir() . '/clock';
    local $ENV{FAKETIME_NO_CACHE} = 1;
    write_file($ENV{FAKETIME_TIMESTAMP_FILE}, '+0');

    $config = config();
    is((settle_command($config, 'migrate'))[0], 0, 'migrate');
    ledger_write($config, "CREATE TRIGGER slow BEFORE INSERT ON coupon_operations
        WHEN new.coupon_code = 'slow' BEGIN SELECT count(*) FROM (WITH RECURSIVE
        n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000000)
        SELECT i FROM n); END");

    {
        local $ENV{LD_PRELOAD} = $library;
        $settle = start_settle(config => $config);
    }
    becomes('200 ready', 'a daemon with a clock of its own');
    write_file($ENV{FAKETIME_TIMESTAMP_FILE}, '+3600');
    becomes('200 ready', '... that jumps');
    is(said('/livez'), '200 alive', '... which is no reason for a restart');

    add('slow');
    ok(wait_for { (page()->{coupon_settle_inbox_pending} // 0) == 1 },
       'a transaction that takes its time');
    write_file($ENV{FAKETIME_TIMESTAMP_FILE}, '+3700');
    becomes('200 alive', '... is alive for a while', '/livez');
    write_file($ENV{FAKETIME_TIMESTAMP_FILE}, '+4000');
    my $stuck = '503 stuck: the main loop has not turned for three minutes';
    becomes($stuck, '... and then is stuck', '/livez');
    becomes($stuck, '... and not ready');
    is($redis->cmd('XLEN', $inbox), 1, '... it was still at it');
    ok((wait_for { $redis->cmd('XLEN', $inbox) == 0 } 300), '... to its end');
    becomes('200 alive', '... and alive', '/livez');
    becomes('200 ready', '... and ready');
    is($settle->stop, 0, 'stopped');
}

done_testing;
