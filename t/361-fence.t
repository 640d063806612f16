#!/usr/bin/perl

# appendfsync everysec: Redis replies before its disk has anything, so a 200 has
# to wait for a fence, a WAITAOF, and may only come behind it.  That is possible
# with Redis 8, and refused where WAITAOF is missing, or lies.
#
# To hold a fence up, Redis gets a child that never ends and the order to sync
# nothing as long as it has one.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use CouponTrace;
use Test::More;

my $redis8 = CouponRedis::beside('redis-server')
    or plan skip_all => 'no Redis 8 (t/bin/fetch-redis.sh)';

my $secret = 'fence';
my $inbox = '{coupons}:inbox';
my $number = 0;

my $redis = start_redis(program => $redis8, appendfsync => 'everysec');
my $nginx = start_nginx(server => <<"END");
        coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
        coupon_callback_secret $secret;
        location = /cb {
            coupon_callback sportapi;
        }
        location = /enqueued {
            coupon_callback sportapi;
            coupon_callback_ack enqueued;
        }
        location = /late {
            coupon_callback sportapi;
            coupon_callback_timeout 500ms;
        }
        location = /impatient {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=1;
            coupon_callback_ack fsync timeout=300ms;
        }
        location = /forbidden {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=1
                                  user=half password=half;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END
my ($worker) = $nginx->children;


sub batch
{
    my $id = 'batch-' . ++$number;

    return ($id, callback($id, { code => "c$number", status => 2,
                                 real_win => 1 }));
}


sub request
{
    my ($path) = @_;

    return [$path // '/cb', (batch())[1], secret => $secret];
}


sub statuses
{
    return [map { $_->{status} } post_all($nginx, @_)];
}


sub taken
{
    return statuses(request(@_))->[0] == 200;
}


# Sends requests and does not wait for their answers.
sub begin
{
    my (@requests) = @_;

    return map {
        my ($path, $body, %options) = @$_;
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
            PeerPort => $nginx->{port}) or die "connect: $!";
        syswrite $socket, request_text($path, $body, %options);
        $socket;
    } @requests;
}


sub answered
{
    return scalar IO::Select->new(@_)->can_read(0);
}


# "200 success", or the status and the code of the error.
sub answers
{
    return [map {
        local $/;
        my $text = readline($_) // '';
        close $_;
        $text =~ m{^HTTP/1\.1 (\d+) .*"(?:error":"(\w+)|(success)":true)}s
            ? "$1 " . ($2 // $3) : 'none';
    } @_];
}


sub calls
{
    my ($command) = @_;

    return $redis->cmd('INFO', 'commandstats')
           =~ /^cmdstat_$command:calls=(\d+)/m ? $1 : 0;
}


# The client that is blocked in a WAITAOF.
sub fence_id
{
    return $redis->cmd('CLIENT', 'LIST')
           =~ /^id=(\d+) .* flags=b .* cmd=waitaof /m ? $1 : undef;
}


# From now on nothing reaches the disk.
sub hold
{
    $redis->cmd('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'yes');
    $redis->cmd('CONFIG', 'SET', 'rdb-key-save-delay', 60_000_000);
    $redis->cmd('BGSAVE');
    die 'no child' unless wait_for { $redis->children };
}


sub release
{
    kill 'KILL', $redis->children;
    wait_for { $redis->cmd('INFO', 'persistence')
               =~ /rdb_bgsave_in_progress:0/ } or die 'the child goes on';
    $redis->cmd('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'no');
}


sub logged
{
    my ($pattern) = @_;

    return read_file($nginx->{error_log}) =~ $pattern;
}


sub durable
{
    my ($by) = @_;

    return get($nginx, '/metrics')->{body}
        =~ /^coupon_callback_redis_connections_durable\{by="$by"\} (\d+)$/m
        ? $1 : undef;
}


# --- as it should be

ok +(wait_for { taken() }), 'everysec, and a 200';
ok logged(qr/Redis [^\n]*: connection \d+: fsync by a fence, WAITAOF/),
   '... the log says in which way';
ok +(wait_for { durable('fence') == 3 }), '... and so do the metrics';
is durable('always'), 0, '... no other way is in use';


# --- the order of things, as the kernel sees it

# How many 200 nginx has sent, and how many of them before the batches they are
# for were on disk.
sub judge
{
    my ($written, $synced, $answered, $early, %syncing) = (0, 0, 0, 0);

    for (@_) {
        my ($pid, $call) = /^(\d+) +(.*)/ or next;

        if ($call =~ /^writev?\(\d+<[^>]*\.aof>/) {
            $written += () = $call =~ /XADD\\r\\n/g;
        } elsif ($call =~ /^fdatasync\(\d+<[^>]*\.aof>/) {
            $syncing{$pid} = $written;
        } elsif ($call =~ /^writev?\(\d+<TCP/
                 && (my $n = () = $call =~ m{HTTP/1\.1 200}g)) {
            $answered += $n;
            $early += $answered - $synced if $answered > $synced;
        }

        $synced = delete $syncing{$pid}
            if defined $syncing{$pid} && $call =~ /^(?:<\.\.\. )?fdatasync.* = 0$/;
    }

    return ($answered, $early);
}


SKIP: {
    my $trace = eval { trace([$redis->pid, $worker], '-f') }
        or skip 'strace is not here, or may not attach to a process', 1;

    my @statuses = map { @{ statuses(request()) } } 1 .. 4;
    push @statuses, @{ statuses(map { request() } 1 .. 32) };
    is_deeply \@statuses, [(200) x 36], 'one by one, and many';

    my ($answered, $early) = judge(traced($trace));
    is $answered, 36, '... under the eyes of strace';
    is $early, 0, '... each after the fdatasync of its batch';

    # the same eyes see it when it is not so
    $trace = trace([$redis->pid, $worker], '-f');
    ok taken('/enqueued'), 'an acknowledgement for "enqueued"' for 1 .. 5;
    ($answered, $early) = judge(traced($trace));
    is $answered, 5, '... answered';
    cmp_ok $early, '>', 0, '... before the fdatasync: strace can tell';
}


# --- while a fence is out

hold();
my $before = calls('waitaof');
my $first = request();
my @first = begin($first);
ok +(wait_for { fence_id() }), 'the disk takes nothing: a fence is out';
my $fence = fence_id();

my $executed = calls('exec');
my @others = begin($first, map { request() } 1 .. 100);
ok +(wait_for { calls('exec') == $executed + 101 }),
   '... a duplicate and a hundred others are executed meanwhile';
ok taken('/enqueued'), '... who needs no fence does not wait for it';
ok !answered(@first, @others), '... nobody else is answered';
is fence_id(), $fence, '... and there is still that one fence';
is calls('waitaof') - $before, 0, '... none has been reached';
release();
is_deeply answers(@first, @others), [('200 success') x 102],
   'the disk goes on: 200 for all';
cmp_ok calls('waitaof') - $before, '<=', 5, '... by very few fences';


# --- a fence that is lost proves nothing

hold();
my @requests = map { request() } 1 .. 10;
my @sockets = begin(@requests);
ok +(wait_for { fence_id() }), 'a fence is out again';
ok +(wait_for { calls('exec') >= $executed + 112 }), '... all are executed';
$redis->cmd('CLIENT', 'KILL', 'ID', fence_id());
is_deeply answers(@sockets), [('503 unavailable') x 10],
   'its connection is killed: 503';
release();
ok +(wait_for { "@{ statuses(@requests) }" eq "@{[ (200) x 10 ]}" }),
   '... what is sent again is taken';

hold();
@requests = map { request() } 1 .. 10;
@sockets = begin(@requests);
ok +(wait_for { fence_id() }), 'a fence is out';
$redis->kill9;
is_deeply answers(@sockets), [('503 unavailable') x 10],
   'the server is killed between EXEC and the fence: 503';
$redis->restart;
ok +(wait_for { "@{ statuses(@requests) }" eq "@{[ (200) x 10 ]}" }),
   '... what is sent again is taken';

my %count;
$count{ $_->{id} }++ for $redis->entries($inbox);
is_deeply [grep { $_ != 1 } values %count], [], '... each is in the inbox once';


# --- what is kept aside, and a worker that is to go

hold();
my ($bad) = begin(['/cb', callback('bad'), secret => $secret]);
my ($good) = begin(request());
ok +(wait_for { fence_id() }), 'a fence is out';
ok +(wait_for { $redis->cmd('XLEN', '{coupons}:rejected') == 1 }),
   '... what is malformed is in the quarantine';
ok !answered($bad), '... and not answered';
$nginx->reload;
ok +(wait_for { grep { $_ != $worker } $nginx->children }),
   '... nginx is reloaded meanwhile';
ok +(wait_for { taken('/enqueued') }), '... and goes on';
ok !answered($bad, $good), '... the old worker still waits';
release();
is_deeply answers($bad, $good), ['400 malformed', '200 success'],
   'the disk goes on: both are answered';
ok +(wait_for { !grep { $_ == $worker } $nginx->children }),
   '... and the old worker goes';


# --- a fence that takes too long

hold();
my $late = request('/late');
my ($answer) = post_all($nginx, $late);
like "$answer->{status} $answer->{body}", qr/^503 .*"timeout"/,
     'the time of the request is over: 503';
my $impatient = request('/impatient');
($answer) = post_all($nginx, $impatient);
like "$answer->{status} $answer->{body}", qr/^503 .*"unavailable"/,
     'the time of the fence is over: 503';
cmp_ok $answer->{time}, '<', 8, '... sooner than that of the request';
release();

# elsewhere, for who waits longer than Redis takes at most
$_->[0] = '/cb' for $late, $impatient;
ok +(wait_for { "@{ statuses($late, $impatient) }" eq '200 200' }),
   '... what is sent again is taken';


# --- a fence that may not be written

$redis->cmd('ACL', 'SETUSER', 'half', 'on', '>half', '+@all',
            '~{coupons}:inbox', '~{coupons}:seen:*');
ok +(wait_for { (post_all($nginx, request('/forbidden')))[0]{body}
                =~ /did not confirm/ }), 'a user without the key of the fence: 503';
ok +(wait_for { taken('/forbidden'); logged(qr/the fence was refused: NOPERM/) }),
   '... the log says why';
$redis->cmd('ACL', 'SETUSER', 'half', '~{coupons}:fence');
ok +(wait_for { taken('/forbidden') }), '... and with it: taken';


# --- between always and everysec, at run time

for my $way (['always', 'always'], ['everysec', 'fence']) {
    $redis->cmd('CONFIG', 'SET', 'appendfsync', $way->[0]);
    ok +(wait_for { durable($way->[1]) == 4 }), "$way->[0]: noticed";
    my $calls = calls('waitaof');
    ok taken(), '... a callback is taken';
    is calls('waitaof') > $calls, $way->[1] eq 'fence',
       '... ' . ($way->[1] eq 'fence' ? 'behind a fence' : 'without a fence');
}

$redis->cmd('CONFIG', 'SET', 'appendfsync', 'no');
ok +(wait_for { !taken() }), 'appendfsync no: 503';
ok logged(qr/durability is not proven: appendfsync is neither always nor/),
   '... the log says why';
is durable('fence'), 0, '... and no connection is called durable';
$redis->cmd('CONFIG', 'SET', 'appendfsync', 'everysec');
ok +(wait_for { taken() }), '... until it is everysec';


# --- killed in the moment of the 200

my (@missing, $kept);

for (1 .. 15) {
    my @batch = map { request() } 1 .. 8;
    wait_for { "@{ statuses(@batch) }" eq "@{[ (200) x 8 ]}" }
        or die 'not taken';
    $redis->kill9;
    $redis->restart;
    my %there = map { $_->{body} => 1 } $redis->entries($inbox);
    push @missing, grep { !$there{ $_->[1] } } @batch;
    $kept += @batch;
}

is_deeply \@missing, [], "killed right after a 200, 15 times: of $kept batches "
                         . 'none is missing';


# --- servers whose WAITAOF is missing, or answers before the disk does

for my $other (['valkey-server', CouponRedis::beside('valkey-server')],
               ['redis-server', 'redis-server'])
{
    my ($name, $program) = @$other;

SKIP: {
    skip "no $name", 4 unless defined $program;
    skip 'the Redis of this system is honest', 4
        if `$program --version` =~ /Redis server v=(?:[89]|\d\d)/;

    my $server = start_redis(program => $program, appendfsync => 'everysec');
    my $front = start_nginx(server => <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$server->{port};
            coupon_callback_secret $secret;
        }
END

    ok +(wait_for { (post($front, '/cb', (batch())[1], secret => $secret))->{body}
                    =~ /not proven to be durable/ }), "$name, everysec: 503";
    like read_file($front->{error_log}), qr/durability\ is\ not\ proven:\ [^\n]*
         has\ no\ WAITAOF,\ or\ one\ that\ answers\ before\ the\ disk\ does;\ set
         \ "appendfsync\ always"/x, '... the log says why';
    is $server->cmd('EXISTS', $inbox), 0, '... nothing is stored';
    $server->cmd('CONFIG', 'SET', 'appendfsync', 'always');
    ok +(wait_for { post($front, '/cb', (batch())[1], secret => $secret)
                    ->{status} == 200 }), '... always: taken';
}
}

done_testing;
