#!/usr/bin/perl

# One delivery, many times at the same moment: over the workers of one nginx,
# over two nginx, with another body under the same id, and while the inbox is
# not a stream at all.  It leaves one entry, or none and no mark.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

use constant DELIVERIES => 64;

my $secret = 'simultaneous';
my $inbox = '{coupons}:inbox';
my $rejected = '{coupons}:rejected';

my $redis = start_redis();
my ($one, $two) = map { receiver() } 1 .. 2;


# nginx with 4 workers, over which the kernel spreads the connections.
sub receiver
{
    my $nginx = start_nginx(workers => 4, listen => 'reuseport',
        http => "log_format who '\$pid \$coupon_callback_result';",
        server => <<"END");
        location = /cb {
            access_log who.log who;
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port};
            coupon_callback_secret $secret;
        }
        location = /metrics {
            access_log off;
            coupon_callback_metrics;
        }
END
    $nginx->{who} = "$nginx->{dir}/who.log";
    return $nginx;
}


# Sends all these bodies at the same moment, to the nginx by turns.
sub storm
{
    my ($nginx, @bodies) = @_;

    return post_all($one, map { ['/cb', $bodies[$_], secret => $secret,
        port => $nginx->[$_ % @$nginx]{port}] } 0 .. $#bodies);
}


# { status => how many of the answers have it }
sub statuses
{
    my %count;

    $count{ $_->{status} }++ for @_;
    return \%count;
}


# How often each result stands in the access logs since the last call.
sub results
{
    my ($wanted) = @_;
    my %count;

    # the line of a request is written after its answer
    wait_for {
        %count = ();
        $count{ (split)[1] }++ for map { split /\n/, read_file($_->{who}) }
                                   $one, $two;
        my $n = 0;
        $n += $_ for values %count;
        $n >= $wanted;
    };

    for my $file (map { $_->{who} } $one, $two) {
        truncate $file, 0 if -e $file;
    }

    return \%count;
}


sub batch
{
    my ($id, $win) = @_;

    return callback($id, { code => $id, status => 2, real_win => $win });
}


sub counted
{
    my ($nginx, $result) = @_;
    my ($n) = get($nginx, '/metrics')->{body}
        =~ /^coupon_callback_requests_total\{[^}]*result="$result"[^}]*\} (\d+)/m;

    return $n;
}


# --- one id, four workers

my @answers = storm([$one], (batch('same', '12.50')) x DELIVERIES);

is_deeply(statuses(@answers), { 200 => DELIVERIES },
          DELIVERIES . ' deliveries of one id, ' . DELIVERIES . ' answers 200');
is_deeply([grep { $_->{body} ne '{"success":true,"processed":1}' } @answers],
          [], '... all the same');

# the line of a request is written after its answer
wait_for { DELIVERIES == (() = read_file($one->{who}) =~ /\n/g) };
my %workers = map { (split)[0] => 1 } split /\n/, read_file($one->{who});
is(scalar keys %workers, 4, '... from all of the 4 workers');
is_deeply(results(DELIVERIES), { accepted => 1, duplicate => DELIVERIES - 1 },
          '... one accepted, the others duplicates');
is(counted($one, 'accepted'), 1, '... in the metrics too');
is(counted($one, 'duplicate'), DELIVERIES - 1, '... the duplicates as well');

is_deeply([map { $_->{body} } $redis->entries($inbox)], [batch('same', '12.50')],
          '... and one entry in the inbox');
ok($redis->cmd('PTTL', '{coupons}:seen:sportapi:same') > 7 * 86400 * 1000,
   '... and a mark that outlives the retries');


# --- one id, two nginx

@answers = storm([$one, $two], (batch('two', '7')) x DELIVERIES);

is_deeply(statuses(@answers), { 200 => DELIVERIES }, 'the same over two nginx');
is_deeply(results(DELIVERIES), { accepted => 1, duplicate => DELIVERIES - 1 },
          '... one accepted');
is($redis->cmd('XLEN', $inbox), 2, '... one entry more');


# --- many ids, each several times, two nginx

@answers = storm([$one, $two], map { (batch("n$_", $_)) x 4 } 1 .. 64);

is_deeply(statuses(@answers), { 200 => 256 }, '64 ids, each 4 times');
is_deeply(results(256), { accepted => 64, duplicate => 192 },
          '... each accepted once');
is($redis->cmd('XLEN', $inbox), 66, '... 64 entries more');


# --- one id, two bodies

my @bodies = map { batch('mixed', $_) } 1, 2;
@answers = storm([$one, $two], (@bodies) x (DELIVERIES / 2));
my $half = DELIVERIES / 2;

is_deeply(statuses(@answers), { 200 => DELIVERIES },
          'two bodies under one id, all answered 200');
is_deeply(results(DELIVERIES), { accepted => 1, duplicate => $half - 1,
                                 conflict => $half },
          '... the first body is taken, each of the other is a conflict');

my ($taken) = map { $_->{body} } grep { $_->{id} eq 'mixed' }
              $redis->entries($inbox);
my ($other) = grep { $_ ne $taken } @bodies;

is($redis->cmd('XLEN', $inbox), 67, '... one entry more');
is_deeply([map { [@$_{qw(id reason body)}] } $redis->entries($rejected)],
          [(['mixed', 'conflict', $other]) x $half],
          '... the other body is kept aside');
is(counted($one, 'conflict') + counted($two, 'conflict'), $half,
   '... and counted');


# --- the settlement

my $settle = start_settle(redis => $redis);

ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, 'all of it is settled');
is_deeply([ledger($settle->{config}, "SELECT operation_key, amount
           FROM coupon_operations WHERE coupon_code IN ('same', 'two')
           ORDER BY 1")],
          [['same:0:final_credit', '12.50'], ['two:0:final_credit', '7']],
          'one credit for what came ' . DELIVERIES . ' times');
is((ledger($settle->{config}, 'SELECT count(*) FROM coupon_operations'))[0][0],
   67, 'one credit for each id');

# entries that are taken back while the daemon waits for new ones
storm([$one, $two], map { (batch("live$_", $_)) x 8 } 1 .. 16) for 1 .. 4;
ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, 'the same while it runs');
is((ledger($settle->{config}, 'SELECT count(*)
            FROM coupon_callback_batches'))[0][0], 67 + 16,
   '... 16 batches more');
is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0, '... nothing is pending');
unlike($settle->log_text, qr/level=error/, '... and no error');
is($settle->stop, 0, 'stopped');
results(0);


# --- the inbox is not a stream

for my $kind (['a string', 'SET', 'x'], ['a list', 'LPUSH', 'x'],
              ['a hash', 'HSET', 'x', 'y']) {
    my ($what, $command, @value) = @$kind;
    my $id = "wrong-$command";

    $redis->cmd('DEL', $inbox);
    $redis->cmd($command, $inbox, @value);
    @answers = storm([$one, $two], (batch($id, 1)) x DELIVERIES);

    is_deeply(statuses(@answers), { 503 => DELIVERIES },
              "the inbox is $what: 503");
    is_deeply([grep { !$_->{headers}{'retry-after'} } @answers], [],
              '... with Retry-After');
    is_deeply($redis->cmd('KEYS', "*$id*"), [], '... and no mark is left');
    is($redis->cmd('TYPE', $inbox), { SET => 'string', LPUSH => 'list',
                                      HSET => 'hash' }->{$command},
       '... what was there is still there');

    $redis->cmd('DEL', $inbox);
    is_deeply(statuses(storm([$one, $two], (batch($id, 1)) x DELIVERIES)),
              { 200 => DELIVERIES }, '... after the repair it is taken');
    is_deeply([map { $_->{id} } $redis->entries($inbox)], [$id], '... once');
    is_deeply(results(2 * DELIVERIES), { unavailable => DELIVERIES,
              accepted => 1, duplicate => DELIVERIES - 1 },
              '... and no delivery was called a duplicate before');
}

# a stream that has given out its last id
$redis->cmd('DEL', $inbox);
$redis->cmd('XADD', $inbox, '18446744073709551615-18446744073709551615', 'a', 'b');
is(post($one, '/cb', batch('exhausted', 1), secret => $secret)->{status}, 503,
   'a stream without further ids: 503');
is($redis->cmd('EXISTS', '{coupons}:seen:sportapi:exhausted'), 0, '... no mark');
is($redis->cmd('XLEN', $inbox), 1, '... and what was in it is untouched');

# ... in front of a duplicate, which has added nothing that is to be taken back
$redis->cmd('DEL', $inbox);
is(post($one, '/cb', batch('before', 1), secret => $secret)->{status}, 200,
   'a delivery');
$redis->cmd('XADD', $inbox, '18446744073709551615-18446744073709551615', 'a', 'b');
is(post($one, '/cb', batch('before', 1), secret => $secret)->{status}, 200,
   '... and again, when there are no further ids');
is($redis->cmd('XLEN', $inbox), 2, '... which takes nothing from anybody');

# a mark that is no string of ours
$redis->cmd('DEL', $inbox);
$redis->cmd('LPUSH', '{coupons}:seen:sportapi:list', 'x');
is(post($one, '/cb', batch('list', 1), secret => $secret)->{status}, 503,
   'the mark is no string: 503');
is($redis->cmd('XLEN', $inbox), 0, '... and no entry');
$redis->cmd('DEL', '{coupons}:seen:sportapi:list');
is(post($one, '/cb', batch('list', 1), secret => $secret)->{status}, 200,
   '... after the repair it is taken');


# a user who may set the mark, but not read it
my $user = start_nginx(server => <<"END");
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} user=u password=p;
            coupon_callback_secret $secret;
        }
END
my $unread = batch('unread', 1);

$redis->cmd('ACL', 'SETUSER', 'u', 'on', '>p', '~*', '+@all', '-get');
ok +(wait_for { post($user, '/cb', $unread, secret => $secret)->{body}
                =~ /did not/ }), 'the mark may not be read: refused by Redis';
$redis->cmd('ACL', 'SETUSER', 'u', '+get');
is(post($user, '/cb', $unread, secret => $secret)->{status}, 200,
   '... after the repair it is taken, or known');
cmp_ok(scalar(grep { $_->{id} eq 'unread' } $redis->entries($inbox)), '>', 0,
       '... and what is known is in the inbox');

done_testing;
