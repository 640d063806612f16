#!/usr/bin/perl

# The machine lets nginx and Redis down: the disk is full, the clock jumps, a
# worker may not finish.  And the ways in that the other tests do not take: a
# socket of the file system, IPv6.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use IO::Socket::IP;
use IO::Socket::UNIX;
use Test::More;

my $secret = 'machine';
my $inbox = '{coupons}:inbox';
my $number = 0;
my $nginx;

# a write beyond the limit of a file is to fail, and not to end the process; who
# is started from here inherits that
$SIG{XFSZ} = 'IGNORE';


sub batch
{
    my $id = 'batch-' . ++$number;

    return callback($id, { code => "c$number", status => 2, real_win => 1 });
}


sub deliver
{
    my ($body, %options) = @_;

    return post($nginx, '/cb', $body // batch(), secret => $secret, %options);
}


sub taken
{
    return deliver(@_)->{status} == 200;
}


sub location
{
    my ($redis, $more) = @_;

    return <<"END";
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
            coupon_callback_secret $secret;
            @{[ $more // '' ]}
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END
}


# How long a file of this process may become: as good as a full disk.
sub limit
{
    my ($pid, $bytes) = @_;

    system('prlimit', '--pid', $pid, "--fsize=$bytes:") == 0
        or die 'prlimit failed';
}


sub there
{
    my ($redis) = @_;

    return map { $_->{body} => 1 } $redis->entries($inbox);
}


sub pending
{
    return get($nginx, '/metrics')->{body} =~ /^coupon_callback_pending 1$/m;
}


# Sends a callback and does not wait for its answer.
sub begin
{
    my ($body) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";

    print {$socket} request_text('/cb', $body, secret => $secret);
    return $socket;
}


sub answer
{
    my ($socket) = @_;
    local $/;
    my $text = readline($socket) // '';

    return $text =~ m{^HTTP/1\.1 (\d+) } ? $1 : 0;
}


# --- a full disk under Redis' file

for my $case (
    ['the system\'s Redis, always', 'redis-server', 'always'],
    ['Redis 8, everysec', CouponRedis::beside('redis-server'), 'everysec'],
) {
    my ($what, $program, $appendfsync) = @$case;

    if (!$program) {
        note 'no Redis 8 (t/bin/fetch-redis.sh)';
        next;
    }

    my $redis = start_redis(program => $program, appendfsync => $appendfsync);
    $nginx = start_nginx(server => location($redis));
    ok +(wait_for { taken() }), "$what: ready";

    my ($file) = glob "$redis->{dir}/appendonlydir/*.incr.aof";
    my (@acknowledged, $body, $answer);
    limit($redis->pid, 3000 + -s $file);
    wait_for {
        $body = batch();
        $answer = deliver($body);
        push @acknowledged, $body if $answer->{status} == 200;
        $answer->{status} != 200;
    };
    is $answer->{status}, 503, '... the disk is full: 503';
    cmp_ok scalar @acknowledged, '>', 0, '... some were taken before';
    is deliver()->{status}, 503, '... 503 to the next one as well';

    # with always, Redis gives up; with everysec, it waits for room
    if ($appendfsync eq 'always') {
        ok +(wait_for { !$redis->alive }), '... Redis has ended';
    } else {
        limit($redis->pid, 'unlimited');
        ok +(wait_for { taken() }), '... there is room again: taken';
        $redis->kill9;
    }

    $redis->restart;
    my %there = there($redis);
    is_deeply [grep { !$there{$_} } @acknowledged], [],
              '... started again: what was acknowledged is there';
    ok +(wait_for { taken($body) }), '... and what was not is taken';
    is scalar(grep { $_->{body} eq $body } $redis->entries($inbox)), 1,
       '... once';
}


# --- a full disk under the bodies

my $redis = start_redis();
$nginx = start_nginx(main => 'worker_shutdown_timeout 1s;',
    server => location($redis, 'client_body_buffer_size 1k;'), http => <<"END");
    server {
        listen unix:@{[ workdir() ]}/nginx.sock;
@{[ location($redis) ]}
    }
END
ok +(wait_for { taken() }), 'bodies go to files: ready';
is $redis->cmd('XLEN', $inbox), 1, '... one is stored';

my ($worker) = $nginx->children;
my $large = batch();
substr $large, -1, 0, ',"more":"' . 'x' x 300_000 . '"';
limit($worker, 100_000);
is deliver($large)->{status}, 500,
   '... the disk is full: 500, and the provider sends it again';
is $redis->cmd('XLEN', $inbox), 1, '... nothing of it is stored';
limit($worker, 'unlimited');
is deliver($large)->{status}, 200, '... there is room again: taken';
is scalar $nginx->children, 1, '... by the one worker';
is +($nginx->children)[0], $worker, '... of the beginning';
allow_log(qr/\[crit\]/);


# --- a worker that may not wait as long as it would

$redis->pause;
my $body = batch();
my $socket = begin($body);
ok +(wait_for { pending() }), 'a callback waits for a silent Redis';
$nginx->reload;
ok +(wait_for { !grep { $_ == $worker } $nginx->children }),
   '... a reload, and worker_shutdown_timeout: the old worker is gone';
is answer($socket), 0, '... the callback has no answer';
$redis->resume;
ok +(wait_for { taken($body) }), '... what is sent again is taken';
is scalar(grep { $_->{body} eq $body } $redis->entries($inbox)), 1, '... once';


# --- other ways in

sub through
{
    my ($way, $client) = @_;
    my $text = batch();

    print {$client} request_text('/cb', $text, secret => $secret);
    is answer($client), 200, "$way: taken";
    is scalar(grep { $_->{body} eq $text } $redis->entries($inbox)), 1,
       '... and stored';
}

through('a socket of the file system',
        IO::Socket::UNIX->new(Peer => workdir() . '/nginx.sock'));

SKIP: {
    my $port = free_port();
    my $free = IO::Socket::IP->new(LocalHost => '::1', LocalPort => $port,
                                   Listen => 1, ReuseAddr => 1)
        or skip 'no IPv6 here', 2;
    close $free;

    $nginx = start_nginx(server => "listen [::1]:$port;" . location($redis));
    ok +(wait_for { taken() }), 'ready';
    through('IPv6', IO::Socket::IP->new(PeerHost => '::1', PeerPort => $port));
}


# --- the clock

# nginx under libfaketime, which reads the difference from a file
sub start_faked
{
    my ($library, $file) = @_;

    write_file($file, '+0');
    local $ENV{LD_PRELOAD} = $library;
    local $ENV{FAKETIME_TIMESTAMP_FILE} = $file;
    local $ENV{FAKETIME_NO_CACHE} = 1;
    local $ENV{FAKETIME_DONT_FAKE_MONOTONIC} = 1;

    return start_nginx(
        main => "env FAKETIME_TIMESTAMP_FILE=$file;\nenv FAKETIME_NO_CACHE=1;"
                . "\nenv FAKETIME_DONT_FAKE_MONOTONIC=1;",
        server => location($redis, <<'END'));
            coupon_callback_timestamp $http_x_timestamp tolerance=5m;
            coupon_callback_signed_prefix "$http_x_timestamp.";
END
}


# A callback of this moment, sent by somebody whose clock is right.
sub stamped
{
    my ($text, $time) = (batch(), time);

    return ($text, headers => {
        'X-Timestamp' => $time, 'X-Signature' => sign("$time.$text", $secret) });
}


sub send_stamped
{
    my ($text, %options) = stamped();

    return post($nginx, '/cb', $text, %options)->{status};
}


SKIP: {
    my ($library) = glob '/usr/lib/*/faketime/libfaketime.so.1';
    skip 'no libfaketime', 1 unless $library;
    skip 'a sanitizer wants to be the first library', 1 if $ENV{COUPON_REPORTS};

    my $file = workdir() . '/clock';
    $nginx = start_faked($library, $file);
    ok +(wait_for { send_stamped() == 200 }), 'the clock is right: taken';

    for my $step (['+270', 200], ['+330', 401], ['-270', 200], ['-330', 401],
                  ['+86400', 401], ['-86400', 401], ['+0', 200])
    {
        my ($by, $status) = @$step;

        write_file($file, $by);
        is send_stamped(), $status, "the clock is off by $by s: $status";
    }

    # whoever waits does so by the other clock
    $redis->pause;
    my ($text, %options) = stamped();
    my $client = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";
    print {$client} request_text('/cb', $text, %options);
    ok +(wait_for { pending() }), 'a callback waits';
    write_file($file, '+3600');
    ok pending(), '... the clock steps an hour: it waits on';
    write_file($file, '-3600');
    ok pending(), '... and back two: it waits on';
    $redis->resume;
    is answer($client), 200, '... and is answered 200';
    write_file($file, '+0');
    is send_stamped(), 200, 'the clock is right again: taken';
}

done_testing;
