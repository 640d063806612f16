#!/usr/bin/perl

# What can never be settled is kept aside whole, with the reason, and holds
# nothing else back; `rejected` looks after it and after what nginx kept aside.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $inbox = '{coupons}:inbox';
my $kept = '{coupons}:rejected';
my $redis = start_redis();
my $config = settle_config(redis => $redis);


my $body = on_postgres() ? "convert_from(body, 'UTF8')" : 'body';


sub rejected
{
    return ledger($config, "SELECT id, source, batch_id, reason, $body
                            FROM rejected ORDER BY id");
}


sub credits
{
    return [ map { $_->[0] } ledger($config, 'SELECT operation_key
        FROM coupon_operations ORDER BY operation_key') ];
}


# --- before there is a store

my ($status, $out, $err) = settle_command($config, 'rejected', 'list');
is($status, 0, 'rejected list before the first run');
is($out, '', '... has nothing to say');

($status, $out, $err) = settle_command($config, 'rejected', 'retry', '1-0');
is($status, 1, 'retry before the first run');
like($err, qr/no store yet/, '... needs the store');


# --- bad batches between good ones; all in the inbox before the daemon reads

my $good = { code => 'good', status => 2, real_win => 1 };
my @bad = (
    [callback('no-json', $good) . '}', qr/^no JSON/],
    ['{"batchId":"no-coupons","couponCount":1}', qr/coupons is missing/],
    [callback('number', $good) =~ s/"good"/12/r, qr/coupon_code/],
    [callback('half', { code => 'half', status => 2, real_win => 9 },
              { code => 'half2', status => '"2"' }), qr/status/],
    [callback('other-source', $good), qr/does not settle this source/,
     source => 'elsewhere'],
    [callback('other-id', $good), qr/are not those of the body/,
     id => 'somebody-else'],
    [callback('other-count', $good), qr/are not those of the body/,
     count => 7],
    [callback('no-digest', $good), qr/digest/, digest => undef],
    [callback('no-source', $good), qr/source/, source => undef],
    [callback('no-time', $good), qr/receipt/, received => 'yesterday'],
);

inbox_add($redis, callback('first', { code => 'c0', status => 2,
                                      real_win => 1 }));

for my $i (0 .. $#bad) {
    my ($body, $reason, %fields) = @{ $bad[$i] };

    inbox_add($redis, $body, %fields);
    inbox_add($redis, callback("between-$i", { code => "c" . ($i + 1),
                                               status => 2, real_win => 1 }));
}

inbox_add($redis, '', id => 'no-body', body => undef);

my $settle = start_settle(config => $config);
wait_for { $redis->cmd('EXISTS', $inbox) && $redis->cmd('XLEN', $inbox) == 0 };

my @rejected = rejected();
is(scalar @rejected, @bad + 1, 'every bad batch is kept aside');

for my $i (0 .. $#bad) {
    my ($body, $reason) = @{ $bad[$i] };

    like($rejected[$i][3], $reason, "... with its reason: $rejected[$i][3]");
    is($rejected[$i][4], $body, '... and its body');
}

like($rejected[-1][3], qr/no body/, '... even without a body');
is($rejected[4][1], 'elsewhere', '... and its source');
is_deeply(credits(), [sort map { "c$_:0:final_credit" } 0 .. @bad],
          'the good ones between them are settled');
is((ledger($config, "SELECT count(*) FROM coupon_callback_batches"))[0][0],
   1 + @bad, '... and only they are registered');
is((ledger($config, "SELECT count(*) FROM coupons
                     WHERE coupon_code LIKE 'half%'"))[0][0], 0,
   'of a batch that is bad in its second coupon nothing is left');
unlike($settle->log_text, qr/coupon=half/,
       '... and the log does not speak of it as settled');
is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0, 'nothing is pending');


# --- the same id with another body, and what the ledger itself refuses

inbox_add($redis, callback('first', { code => 'c0', status => 2,
                                      real_win => 100 }));
wait_for { $redis->cmd('XLEN', $inbox) == 0 };

is((rejected())[-1][3], 'conflict', 'same id, other body: a conflict');
is((ledger($config, "SELECT amount FROM coupon_operations
                     WHERE coupon_code = 'c0'"))[0][0], 1,
   '... that moves no money');

is($settle->stop, 0, 'stopped');
ledger_write($config,
       "INSERT INTO coupons VALUES ('odd', 1, NULL, 'active', 0, NULL, NULL,
            1, '{}');
        INSERT INTO coupon_operations VALUES ('odd:0:final_credit', 'odd', 0,
            'final_credit', '5', 1, 'nobody')");
$settle->start;

inbox_add($redis, callback('odd', { code => 'before', status => 2,
                                    real_win => 5 },
                                  { code => 'odd', status => 2,
                                    real_win => 5 }));
inbox_add($redis, callback('after', { code => 'after', status => 2,
                                      real_win => 5 }));
wait_for { $redis->cmd('XLEN', $inbox) == 0 };

my ($odd) = (rejected())[-1];
is($odd->[2], 'odd', 'a credit that stands in the ledger already');
like($odd->[3], qr/does not know/,
     '... makes the batch a case for a person');
is((ledger($config, "SELECT (SELECT count(*) FROM coupons
                             WHERE coupon_code = 'before')
                           + (SELECT count(*) FROM coupon_callback_batches
                              WHERE batch_id = 'odd')"))[0][0], 0,
   '... leaves nothing of what it had done before');
unlike($settle->log_text, qr/coupon=before/, '... nor speaks of it');
is(scalar(grep { $_ eq 'after:0:final_credit' } @{credits()}), 1,
   '... and does not hold back the next');


# --- rejected list, show, retry, drop: the table

($status, $out) = settle_command($config, 'rejected', 'list');
is($status, 0, 'rejected list');
is(scalar(() = $out =~ /\n/g), scalar rejected(), '... is one line for each');
like($out, qr/^4  \d{4}-\d\d-\d\dT\S+  sportapi  half  \d+ bytes  \S/m,
     '... with id, time, source, batch id, size and reason');
is(scalar(() = $out =~ /^\S+  \S+  \S+  \S+  \d+ bytes  \S/mg),
   scalar rejected(), '... all of them in each line, whatever was missing');

($status, $out) = settle_command($config, 'rejected', 'show', 2);
is($status, 0, 'rejected show');
like($out, qr/^reason\s+coupons is missing$/m, '... tells the reason');
like($out, qr/\n\n\Q$bad[1][0]\E\n\z/, '... and the body as it is');

($status, $out, $err) = settle_command($config, 'rejected', 'retry', 2);
is($status, 1, 'rejected retry of what is still bad');
like($err, qr/2 stays in the quarantine: coupons is missing/, '... says why');
is(scalar(grep { $_->[0] == 2 } rejected()), 1, '... and leaves it there');

# the entry's own fields were wrong; the body is good
my ($other) = grep { $_->[2] eq 'somebody-else' } rejected();
($status, $out, $err) = settle_command($config, 'rejected', 'retry',
                                       $other->[0]);
is($status, 0, 'rejected retry of what is good by now');
is((ledger($config, "SELECT batch_id FROM coupon_operations
                     WHERE coupon_code = 'good'"))[0][0], 'other-id',
   '... settles it');
is(scalar(grep { $_->[0] == $other->[0] } rejected()), 0, '... and removes it');

($status, $out, $err) = settle_command($config, 'rejected', 'retry',
                                       $other->[0]);
is($status, 1, 'a second retry of the same');
like($err, qr/nothing with the id/, '... finds nothing');

($status) = settle_command($config, 'rejected', 'drop', 2);
is($status, 0, 'rejected drop');
is(scalar(grep { $_->[0] == 2 } rejected()), 0, '... drops it');

for my $id ('2', 'x', '0', '99999999999999999999', '-', '1-0') {
    ($status, $out, $err) = settle_command($config, 'rejected', 'drop', $id);
    is($status, 1, "rejected drop $id");
    like($err, qr/nothing with the id "$id"/, '... says that there is none');
}


# --- the stream, where nginx keeps what it refused

sub keep
{
    my ($body, %fields) = @_;
    return $redis->cmd('XADD', $kept, '*', source => 'sportapi', id => '',
                       reason => 'test', received => 1700000000000,
                       body => $body, %fields);
}

my $large = keep(callback('too-many', map { { code => "t$_", status => 2,
                                              real_win => 3 } } 1 .. 200),
                 reason => 'too many coupons', id => 'too-many');
my $junk = keep("junk \x00\x1b[31m", reason => "no JSON: \e[31m");
keep("page $_") for 1 .. 250;

($status, $out) = settle_command($config, 'rejected', 'list');
is($status, 0, 'rejected list with the stream');
is(scalar(() = $out =~ /^\d+-\d+  /mg), 252, '... turns all pages');
unlike($out, qr/\e/, '... and nothing a sender wrote reaches the terminal raw');

($status, $out) = settle_command($config, 'rejected', 'show', $junk);
is($status, 0, 'rejected show of an entry');
like($out, qr/\n\njunk \x00\x1b\[31m\n\z/, '... gives its body byte for byte');

($status, $out, $err) = settle_command($config, 'rejected', 'retry', $junk);
is($status, 1, 'retry of junk');
like($err, qr/stays in the quarantine: no JSON/, '... is refused');
is(scalar @{$redis->cmd('XRANGE', $kept, $junk, $junk)}, 1, '... and kept');

($status, $out, $err) = settle_command($config, 'rejected', 'retry', $large);
is($status, 0, 'retry of what only a limit of nginx refused');
is((ledger($config, "SELECT count(*) FROM coupon_operations
                     WHERE batch_id = 'too-many'"))[0][0], 200,
   '... settles it');
is(scalar @{$redis->cmd('XRANGE', $kept, $large, $large)}, 0,
   '... and removes it');

my $repeated = keep(callback('too-many', map { { code => "t$_", status => 2,
                                                 real_win => 3 } } 1 .. 200));
($status, $out, $err) = settle_command($config, 'rejected', 'retry', $repeated);
is($status, 0, 'retry of what was settled before');
is((ledger($config, "SELECT count(*) FROM coupon_operations
                     WHERE batch_id = 'too-many'"))[0][0], 200,
   '... settles nothing twice');
is(scalar @{$redis->cmd('XRANGE', $kept, $repeated, $repeated)}, 0,
   '... and removes it');

($status) = settle_command($config, 'rejected', 'drop', $junk);
is($status, 0, 'drop of an entry');
is(scalar @{$redis->cmd('XRANGE', $kept, $junk, $junk)}, 0, '... drops it');

$redis->stop;
($status, $out, $err) = settle_command($config, 'rejected', 'list');
is($status, 1, 'rejected list without Redis');
like($out, qr/^1  /m, '... still lists the table');
like($err, qr/Redis \(127\.0\.0\.1:\d+\/0\)/, '... and says what is away');

done_testing;
