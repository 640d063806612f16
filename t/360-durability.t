#!/usr/bin/perl

# A 200 means: it is on Redis' disk.  strace sits between Redis and the kernel
# and sees in which order it writes, syncs and answers; it also makes the disk
# slow, and breaks it.  And Redis is killed in the moment a 200 has come.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use CouponTrace;
use Test::More;
use Time::HiRes 'time';

my $secret = 'durability';
my $inbox = '{coupons}:inbox';
my $number = 0;

my $redis = start_redis();
my @server = (server => <<"END");
        coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
        coupon_callback_secret $secret;
        location = /cb {
            coupon_callback sportapi;
        }
        location = /enqueued {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
            coupon_callback_ack enqueued;
        }
END
my $nginx = start_nginx(@server);


sub batch
{
    my $id = 'batch-' . ++$number;

    return ($id, callback($id, { code => "c$number", status => 2,
                                 real_win => 1 }));
}


# One new batch: its id and the answer.
sub deliver
{
    my ($path) = @_;
    my ($id, $body) = batch();

    return ($id, post($nginx, $path // '/cb', $body, secret => $secret));
}


sub taken
{
    my ($path) = @_;

    return (deliver($path))[1]{status} == 200;
}


sub logged
{
    my ($text) = @_;

    return read_file($nginx->{error_log}) =~ /\Q$text\E/;
}


# --- strace

# How many batches Redis said to have stored, and how many of those before they
# were in the file and the file on disk.
sub judge
{
    my ($written, $synced, $answered, $early) = (0, 0, 0, 0);

    for (@_) {
        if (/^writev?\(\d+<[^>]*\.aof>/) {
            $written += () = /XADD\\r\\n/g;
        } elsif (/^fdatasync\(\d+<[^>]*\.aof>\)\s+= 0/) {
            $synced = $written;
        } elsif (/^writev?\(\d+<TCP/ && (my $n = () = /\+STORED\\r\\n/g)) {
            $answered += $n;
            $early += $answered - $synced if $answered > $synced;
        }
    }

    return ($answered, $early);
}


# How often the daemon told Redis to forget what it had settled, and how often it
# did so before its database was on disk.
sub judge_daemon
{
    my ($written, $dirty, $forgotten, $early) = (0, 0, 0, 0);

    for (@_) {
        if (/^pwrite64\(\d+<[^>]*-wal>/) {
            $dirty = 1;
            $written++;
        } elsif (/^fdatasync\(\d+<[^>]*-wal>\)\s+= 0/) {
            $dirty = 0;
        } elsif (/^(?:write|sendto)\(\d+<TCP/ && /XDEL/) {
            $forgotten++;
            $early++ if $dirty || !$written;
        }
    }

    return ($forgotten, $early);
}


ok +(wait_for { taken() }), 'ready';

SKIP: {
    my $trace = eval { trace([$redis->pid]) }
        or skip 'strace is not here, or may not attach to a process', 1;

    my @answers = map { (deliver())[1] } 1 .. 20;
    push @answers, post_all($nginx, map { ['/cb', (batch())[1],
                                           secret => $secret] } 1 .. 32);
    is(scalar(grep { $_->{status} == 200 } @answers), 52, 'one by one, and many');

    my ($answered, $early) = judge(traced($trace));
    is($answered, 52, '... Redis has answered them under the eyes of strace');
    is($early, 0, '... each after the fdatasync of what it was told');

    # the same eyes see it when it is not so
    $redis->cmd('CONFIG', 'SET', 'appendfsync', 'everysec');
    $trace = trace([$redis->pid]);
    ok(taken('/enqueued'), 'everysec, and an acknowledgement for "enqueued"')
        for 1 .. 5;
    ($answered, $early) = judge(traced($trace));
    is($answered, 5, '... answered');
    cmp_ok($early, '>', 0, '... before the fdatasync: strace can tell');
    $redis->cmd('CONFIG', 'SET', 'appendfsync', 'always');
    ok +(wait_for { taken() }), 'always again';

    # and what a setting does, as long as a child of Redis is saving something
    $redis->cmd('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'yes');
    $redis->cmd('CONFIG', 'SET', 'rdb-key-save-delay', 100_000);
    $redis->cmd('BGSAVE');
    $trace = trace([$redis->pid]);
    ok(taken('/enqueued'), 'no-appendfsync-on-rewrite') for 1 .. 5;
    ($answered, $early) = judge(traced($trace));
    is($answered, 5, '... answered');
    cmp_ok($early, '>', 0, '... before the fdatasync, in spite of "always"');
    $redis->cmd('CONFIG', 'SET', 'rdb-key-save-delay', 0);
    $redis->cmd('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'no');

    # a slow disk
    $trace = trace([$redis->pid], '-e', 'inject=fdatasync:delay_enter=300000');
    my ($id, $answer) = deliver();
    is($answer->{status}, 200, 'fdatasync takes 0.3 s');
    cmp_ok($answer->{time}, '>=', 0.3, '... and so does the answer');
    traced($trace);

    # a broken disk: Redis gives up, and nobody says that it is stored
    $trace = trace([$redis->pid], '-e', 'inject=fdatasync:error=EIO');
    ($id, $answer) = deliver();
    is($answer->{status}, 503, 'fdatasync fails: 503');
    ok(wait_for { !$redis->alive }, '... Redis has ended');
    $trace->stop;
    $redis->restart;
    ok +(wait_for { taken() }), 'Redis is back';
}


# --- what leaves Redis is in the database, and that on disk

SKIP: {
    my $settle = start_settle(redis => $redis,
                              store => 'sqlite:' . workdir() . '/traced.db');
    ok +(wait_for { $redis->cmd('XLEN', $inbox) == 0 }), 'all is settled so far';
    my $trace = eval { trace([$settle->pid], '-e',
                             'trace=write,sendto,pwrite64,fdatasync') };

    if (!$trace) {
        $settle->stop;
        skip 'strace is not here, or may not attach to a process', 1;
    }

    for (1 .. 10) {
        ok(taken(), 'one more');
        ok +(wait_for { $redis->cmd('XLEN', $inbox) == 0 }), '... is settled';
    }

    my ($forgotten, $early) = judge_daemon(traced($trace));
    is($forgotten, 10, 'acknowledged under the eyes of strace');
    is($early, 0, '... each after the fdatasync of the database');
    is($settle->stop, 0, 'the daemon ends with 0');
}


# --- a setting that takes the fsync away while a child is saving

$redis->cmd('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'yes');
ok +(wait_for { !taken() }), 'no-appendfsync-on-rewrite is no durability: 503';
like(read_file($nginx->{error_log}),
     qr/durability is not proven: [^\n]*\bset "no-appendfsync-on-rewrite no"/,
     '... and the error log says what to set');
ok(taken('/enqueued'), '... to be enqueued is still possible');
$redis->cmd('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'no');
ok +(wait_for { taken() }), '... until it is set';


# --- appendonly switched on at run time: no log before its first rewrite is done

# The first rewrite of a log, or a later one, that takes as long as the test
# wants; what Redis is told to do it.
sub rewriting
{
    my (@command) = @_;

    $redis->cmd('SET', 'slow', 'x');
    $redis->cmd('CONFIG', 'SET', 'rdb-key-save-delay', 60_000_000);
    $redis->cmd(@command);
    wait_for { $redis->children } or die 'no child';
}


sub rewritten
{
    $redis->cmd('CONFIG', 'SET', 'rdb-key-save-delay', 0);
    kill 'KILL', $redis->children;
    wait_for { $redis->cmd('INFO', 'persistence')
               !~ /aof_rewrite_(?:in_progress|scheduled):1/ }
        or die 'the rewrite goes on';
}


# Nothing is taken for longer than the settings are believed.
sub refused
{
    my $until = time + 4;

    while (time < $until) {
        return 0 if taken();
    }

    return 1;
}


# what is acknowledged in the meantime is not there after a crash
$redis->cmd('CONFIG', 'SET', 'appendonly', 'no');
ok +(wait_for { !taken() }), 'appendonly no: 503';
rewriting('CONFIG', 'SET', 'appendonly', 'yes');
ok(taken('/enqueued'), 'appendonly yes, and the first rewrite under way');
my $before = $redis->cmd('XLEN', $inbox);
ok(refused(), '... 503 all the time');
$redis->kill9;
$redis->restart;
cmp_ok($redis->cmd('XLEN', $inbox), '<', $before, '... and a crash loses it');
ok +(wait_for { taken() }), 'started with a log: 200';

rewriting('BGREWRITEAOF');
ok(!(grep { !taken() } 1 .. 5) && !refused(), 'a later rewrite: 200');
rewritten();

$redis->cmd('CONFIG', 'SET', 'appendonly', 'no');
ok +(wait_for { !taken() }), 'appendonly no again: 503';
$redis->cmd('CONFIG', 'SET', 'rdb-key-save-delay', 60_000_000);
$redis->cmd('BGSAVE');
$redis->cmd('CONFIG', 'SET', 'appendonly', 'yes');
like($redis->cmd('INFO', 'persistence'), qr/aof_rewrite_scheduled:1/,
     'a rewrite that has to wait for a snapshot');
ok(refused(), '... 503 as well');
rewritten();
ok +(wait_for { taken() }), 'it is done: 200';

# who comes in the middle of a rewrite cannot know which one it is
rewriting('BGREWRITEAOF');
$nginx->reload(@server);
wait_for { logged('exited with code') } or die 'the old worker stays';
if ($redis->fenced) {
    ok +(wait_for { logged('a fence, WAITAOF') && taken() }),
       'a worker that starts then asks by a fence: 200';
} else {
    ok(refused(), 'a worker that starts then does not believe it: 503');
}
rewritten();
ok +(wait_for { taken() }), '... until it is done';


# --- killed in the moment of the 200

my @missing;

for (1 .. 25) {
    my ($id, $answer);
    wait_for { ($id, $answer) = deliver(); $answer->{status} == 200 }
        or die "not taken: $answer->{body}";
    $redis->kill9;
    $redis->restart;
    push @missing, $id
        unless grep { $_->{id} eq $id } $redis->entries($inbox);
}

is_deeply(\@missing, [], 'killed right after a 200, 25 times: nothing is missing');

done_testing;
