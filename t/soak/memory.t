#!/usr/bin/perl

# A worker needs no more memory after a million requests than after a hundred
# thousand, nor while Redis is dead for a minute, and nginx none after 200
# reloads.  The requests are of all kinds: new ones, duplicates, conflicts,
# unsigned and malformed, large, and some that are broken off.
#
#   COUPON_REQUESTS=1000000 prove t/soak/memory.t

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;
use Time::HiRes 'time';

use constant {
    CONNECTIONS => 32,
    AT_ONCE     => 32,          # requests in one write of a connection
    GROWTH      => 256,         # kB
};

my $requests = $ENV{COUPON_REQUESTS} || 1_000_000;
my $secret = 'memory';
my $inbox = '{coupons}:inbox';
my $number = 0;

my $redis = start_redis(appendonly => 'no');
my $nginx = start_nginx(level => 'emerg', server => location($redis->{port}));
my ($worker) = $nginx->children;


sub location
{
    my ($port) = @_;

    return <<"END";
        access_log off;
        keepalive_requests 100000000;
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$port;
            coupon_callback_secret $secret;
            coupon_callback_ack enqueued;
            coupon_callback_dedup_window 90m;
            coupon_callback_quarantine 100;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
        location = /other {
            return 200 "as ever";
        }
END
}


sub kilobytes
{
    my ($pid) = @_;

    return read_file("/proc/$pid/status") =~ /^VmRSS:\s+(\d+) kB/m ? $1 : 0;
}


# The bytes of the next request.
sub request
{
    my $n = ++$number;
    my $kind = $n % 16;
    my $id = $n - ($kind <= 2 ? $kind : 0);     # 1 and 2 repeat that of 0
    my $code = $n - ($kind == 1 ? 1 : 0);
    my $body = callback("b$id", $kind == 3 ? () : { code => "c$code",
                        status => 2, real_win => 1 });

    # as large as they become
    substr $body, -1, 0, ',"more":"' . 'x' x 60_000 . '"' if $n % 512 == 5;

    return request_text('/cb', $body, headers => { Connection => undef },
                        secret => $kind == 4 ? 'wrong' : $secret);
}


# Sends that many requests and reads all answers; the number of those.
sub flood
{
    my ($wanted) = @_;
    my ($answers, $sent) = (0, 0);
    my @clients = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                            PeerPort => $nginx->{port}) or die $! } 1 .. CONNECTIONS;

    while ($sent < $wanted) {
        for my $client (@clients) {
            syswrite_all($client, join '', map { request() } 1 .. AT_ONCE);
            $sent += AT_ONCE;
        }
        for my $client (@clients) {
            $answers += read_answers($client, AT_ONCE);
        }

        # one that goes away with its requests under way
        break_off() if $sent % 32_768 == 0;
        $redis->cmd('DEL', $inbox) if $sent % 8_192 == 0;
        $redis->cmd('FLUSHALL') if $sent % 65_536 == 0;
    }

    return $answers - $sent;
}


sub syswrite_all
{
    my ($socket, $text) = @_;

    while ($text ne '') {
        my $n = syswrite $socket, $text or die "write: $!";
        substr $text, 0, $n, '';
    }
}


# So many answers, each with its length in front of its body.
sub read_answers
{
    my ($socket, $wanted) = @_;
    my ($text, $n) = ('', 0);

    while ($n < $wanted) {
        sysread $socket, $text, 65536, length $text or die "read: $n of $wanted";
        while ($text =~ /\A.*?\r\nContent-Length: (\d+)\r\n.*?\r\n\r\n/s
               && length $text >= $+[0] + $1)
        {
            substr $text, 0, $+[0] + $1, '';
            $n++;
        }
    }

    return $n;
}


sub break_off
{
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $nginx->{port}) or die $!;

    syswrite $socket, request() . request() . substr request(), 0, 200;
    close $socket;
}


# --- requests

my $begin = time;
is flood($requests / 10), 0, 'a tenth of the requests: all are answered';
my $before = kilobytes($worker);
is flood($requests - $requests / 10), 0, 'the rest: all are answered';
my $after = kilobytes($worker);

my $seconds = time - $begin;
cmp_ok $after - $before, '<=', GROWTH, 'the worker has not grown';
is +($nginx->children)[0], $worker, '... and is still the same';
ok +(wait_for { get($nginx, '/metrics')->{body}
                =~ /^coupon_callback_pending 0$/m }), '... nothing is pending';

for my $result (qw(accepted duplicate conflict unsigned malformed)) {
    like get($nginx, '/metrics')->{body},
         qr/^coupon_callback_requests_total\{[^}]*"$result"[^}]*\} [1-9]\d\d/m,
         "... some were $result";
}

diag(sprintf 'memory of a worker: %d kB after %d requests, %d kB after %d, '
             . '%d a second', $before, $requests / 10, $after, $requests,
     $requests / $seconds);


# --- reloads

sub reload_idle
{
    my @old = $nginx->children;

    $nginx->reload;
    wait_for { my @now = $nginx->children;
               @now == 1 && $now[0] != $old[0] } or die 'no reload';
}


my $master = $nginx->pid;
reload_idle() for 1 .. 20;
$before = kilobytes($master);
reload_idle() for 1 .. 200;
$after = kilobytes($master);
cmp_ok $after - $before, '<=', GROWTH, '200 reloads: nginx has not grown';
diag("memory of nginx: $before kB before 200 reloads, $after kB after");



# --- a dead Redis, under load

$nginx = start_nginx(level => 'error', server => location(free_port()));
($worker) = $nginx->children;
is flood(20 * CONNECTIONS * AT_ONCE), 0, 'Redis is dead: all are answered';
$before = kilobytes($worker);
$begin = time;

my $slow = 0;
while (time < $begin + 60) {
    flood(CONNECTIONS * AT_ONCE) == 0 or die 'not answered';
    my $other = get($nginx, '/other');
    $slow++ if $other->{body} ne 'as ever' || $other->{time} > 1;
}

$after = kilobytes($worker);
cmp_ok $after - $before, '<=', GROWTH, '... for a minute: no growth';
is $slow, 0, '... the rest of nginx is as quick as ever';

my %lines;
$lines{$_}++ for read_file($nginx->{error_log})
    =~ /^(\S+ \S+) \[error\] .*coupon_callback: Redis/mg;
cmp_ok scalar keys %lines, '>', 30, '... the log speaks of it';
is_deeply [grep { $_ > 1 } values %lines], [], '... once a second';
diag("memory of a worker without Redis: $before kB, a minute later $after kB");

done_testing;
