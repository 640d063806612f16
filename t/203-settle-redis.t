#!/usr/bin/perl

# The daemon and Redis: away at the start, killed, emptied, refusing; entries
# that others left behind, took back or deleted.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $inbox = '{coupons}:inbox';
my $number = 0;


# One more batch into the inbox; returns its id.
sub add
{
    my ($redis) = @_;
    my $id = 'batch-' . ++$number;

    inbox_add($redis, callback($id, { code => "c$number", status => 2,
                                      real_win => 1 }));
    return $id;
}


# Waits until this batch is settled, by the log and in the ledger.
sub settled
{
    my ($daemon, $id) = @_;

    return logged($daemon, qr/msg="batch settled" batch=$id /)
        && ledger($daemon->{config}, "SELECT 1 FROM coupon_operations
                                      WHERE batch_id = '$id'");
}


sub credits
{
    my ($config) = @_;

    return (ledger($config, 'SELECT count(*) FROM coupon_operations'))[0][0];
}


sub pending
{
    my ($redis) = @_;

    return $redis->cmd('XPENDING', $inbox, 'settle')->[0];
}


sub logged
{
    my ($settle, $pattern) = @_;

    return wait_for { $settle->log_text =~ $pattern };
}


# --- Redis comes later than the daemon

my $port = free_port();
my $settle = start_settle(url => "redis://127.0.0.1:$port/0");
my $config = $settle->{config};

ok(logged($settle, qr/msg="away, trying again" what=redis reason="Connection r/),
   'Redis absent at the start: the daemon waits');

my $redis = start_redis(port => $port);
my $first = add($redis);

ok(settled($settle, $first), '... and settles once Redis is there');
ok(logged($settle, qr/msg="back again" what=redis away_ms=\d+/),
   '... and says so');
is(scalar(() = $settle->log_text =~ /away, trying again/g), 1,
   '... it had said once that Redis is away');


# --- killed and restarted, several times

for my $round (1 .. 3) {
    my $before = add($redis);
    $redis->kill9;
    $redis->restart;
    ok(settled($settle, $before), "Redis killed and back, round $round");
    ok(settled($settle, add($redis)), '... and on it goes');
}

ok(wait_for { pending($redis) == 0 && $redis->cmd('XLEN', $inbox) == 0 },
   'in the end everything is acknowledged and gone');
is(credits($config), $number, '... and settled once');


# --- stopped, so that it accepts and does not answer

$redis->pause;
ok(logged($settle, qr/what=redis reason="no answer in time"/),
   'a Redis that does not answer is given up');
$redis->resume;
ok(settled($settle, add($redis)), '... until it does');


# --- emptied while the daemon runs

$redis->cmd('FLUSHALL');
ok(logged($settle, qr/level=error msg="the consumer group is gone/),
   'a Redis that was emptied is noticed');
ok(settled($settle, add($redis)), '... and the daemon goes on');


# --- refusing

$redis->cmd('CONFIG', 'SET', 'requirepass', 'geheim');
$redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
ok(logged($settle, qr/what=redis reason="NOAUTH/), 'a password out of nowhere');
$redis->cmd('CONFIG', 'SET', 'requirepass', '');
ok(settled($settle, add($redis)), '... and gone again');

$redis->cmd('REPLICAOF', '127.0.0.1', free_port());
ok(logged($settle, qr/what=redis reason="(?:READONLY|UNBLOCKED)/),
   'Redis becomes a replica');
$redis->cmd('REPLICAOF', 'NO', 'ONE');
ok(settled($settle, add($redis)), '... and master again');

$redis->cmd('DEL', $inbox);
$redis->cmd('SET', $inbox, 'no stream');
ok(logged($settle, qr/what=redis reason="WRONGTYPE/),
   'the inbox is something else');
$redis->cmd('DEL', $inbox);
ok(settled($settle, add($redis)), '... and a stream again');


# --- out of memory: what empties it must go on

is($settle->stop, 0, 'stopped');
my @full = map { add($redis) } 1 .. 5;
$redis->cmd('CONFIG', 'SET', 'maxmemory', 1);
like($redis->try('XADD', $inbox, '*', 'x', 'y'), qr/^OOM/,
     'a Redis without memory takes nothing');
$settle->start;
ok(settled($settle, $full[-1]), '... and is emptied by a daemon that starts');
ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, '... of all entries');
$redis->cmd('CONFIG', 'SET', 'maxmemory', 0);


# --- an entry that is taken back in the moment it is added

my $errors = () = $settle->log_text =~ /level=error/g;

for (1 .. 20) {
    $redis->cmd('MULTI');
    my $id = '99999999999999-' . $_;
    $redis->cmd('XADD', $inbox, $id, 'x', 'y');
    $redis->cmd('XDEL', $inbox, $id);
    $redis->cmd('XSETID', $inbox, '1-1');
    $redis->cmd('EXEC');
}

ok(settled($settle, add($redis)), 'entries that are taken back are no event');
is(scalar(() = $settle->log_text =~ /level=error/g), $errors,
   '... and no error');


# --- what this consumer had taken before it died

sub take
{
    my ($consumer, $count) = @_;

    return map { $_->[0] } @{ $redis->cmd('XREADGROUP', 'GROUP', 'settle',
        $consumer, 'COUNT', $count, 'STREAMS', $inbox, '>')->[0][1] };
}

is($settle->stop, 0, 'stopped');

my $own = settle_config(redis => $redis, store => "sqlite:" . workdir() . '/own.db');
write_file($own, read_file($own) =~ s/^\[redis\]/[redis]
consumer = one
claim_after = 1s/mr);

my @mine = map { add($redis) } 1 .. 5;
my @taken = take('one', 5);
$redis->cmd('XDEL', $inbox, $taken[2]);
my @theirs = map { add($redis) } 1 .. 5;
my @left = take('dead', 5);
$redis->cmd('XDEL', $inbox, $left[1]);
my $new = add($redis);

my $one = start_settle(config => $own);

ok(settled($one, $_), "own pending entry $_") for @mine[0, 1, 3, 4];
ok(settled($one, $new), 'what is new');
ok(settled($one, $_), "left by a dead consumer: $_") for @theirs[0, 2, 3, 4];
ok(wait_for { pending($redis) == 0 && $redis->cmd('XLEN', $inbox) == 0 },
   'nothing is pending, nothing is left');

for my $lost ($taken[2], $left[1]) {
    ok(logged($one, qr/level=error msg="an entry was deleted [^\n]* entry=$lost/),
       "the loss of $lost is an alarm");
}

ok(logged($one, qr/level=warn msg="took over what another consumer left"/),
   'taking over is said');
is(credits($own), 9, 'all that could be settled is settled once');


# --- entries of a consumer that is only busy stay with it

@left = ();
my $busy = settle_config(redis => $redis, store => 'sqlite:' . workdir() . '/busy.db');
is($one->stop, 0, 'stopped');
add($redis);
@left = take('busy', 1);
$one = start_settle(config => $busy);
ok(settled($one, add($redis)), 'a daemon that may claim after 60 s');
is(pending($redis), 1, '... leaves what is younger alone');


# --- two daemons, one inbox

my @pair = map { my $c = settle_config(redis => $redis,
                                       store => 'sqlite:' . workdir() . '/pair.db');
                 my $more = "consumer = p$_\nclaim_after = 1h\n";
                 write_file($c, read_file($c) =~ s/\[redis\]\n/$&$more/r) }
           1, 2;
$one->stop;
my $before = $number;
my @daemons = map { start_settle(config => $_) } @pair;
add($redis) for 1 .. 300;
ok(wait_for { $redis->cmd('XLEN', $inbox) == 1 }, 'two daemons share the work');
is(credits($pair[0]), $number - $before, '... and settle each batch once');
is($_->stop, 0, 'stopped') for @daemons;


# --- the password is nobody's business

$redis->cmd('CONFIG', 'SET', 'requirepass', 'geheim');
my $secret = start_settle(url => "redis://:geheim\@127.0.0.1:$port/0");
ok(logged($secret, qr/msg=started redis=127\.0\.0\.1:$port\/0/),
   'a daemon with a password');
ok(wait_for { -s $secret->{config} =~ s/settle\.ini/coupons.db/r }, '... works');
unlike($secret->log_text, qr/geheim/, '... and does not tell it');


# --- a user that may do what the README says, and nothing else

my ($rules) = read_file('README.md')
    =~ /One for coupon-settle:\s+`([^`]+)`\s+on `~PREFIX:\*`/;
my $guarded = start_redis();
$guarded->cmd('ACL', 'SETUSER', 'settle', 'on', '>pass', '~{coupons}:*',
              '+xadd', split ' ', $rules);

my $page = free_port();
my $few = settle_config(url => "redis://settle:pass\@127.0.0.1:$guarded->{port}/0",
                        operations => { stream => 'yes' },
                        metrics => { listen => "127.0.0.1:$page" });
write_file($few, read_file($few) =~ s/^\[redis\]/[redis]
claim_after = 1s/mr);

$guarded->cmd('XGROUP', 'CREATE', $inbox, 'settle', '0', 'MKSTREAM');
my $abandoned = add($guarded);
$guarded->cmd('XREADGROUP', 'GROUP', 'settle', 'dead', 'STREAMS', $inbox, '>');
$guarded->cmd('XADD', '{coupons}:rejected', '1-1', 'body', '{}');

my $login = start_settle(config => $few);
ok(settled($login, add($guarded)), 'a user with the rights of the README');
ok(settled($login, $abandoned), '... takes over what another has left');
ok(wait_for { $guarded->cmd('XLEN', '{coupons}:operations') == 2 },
   '... relays');
like(get($page, '/metrics')->{body}, qr/^coupon_settle_up\{part="redis"\} 1$/m,
     '... and shows the metrics');
is((settle_command($few, 'check'))[0], 0, '... check finds nothing wrong');
like((settle_command($few, 'rejected', 'list'))[1], qr/^1-1 /,
     '... rejected lists');
is((settle_command($few, 'rejected', 'drop', '1-1'))[0], 0, '... and drops');
is_deeply($guarded->cmd('ACL', 'LOG'), [], '... and Redis has refused nothing');

done_testing;
