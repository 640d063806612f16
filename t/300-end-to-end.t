#!/usr/bin/perl

# From a signed callback to a settled coupon, seen from outside: what is sent,
# what is answered, and what stands in the ledger.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $secret = 'end-to-end';
my $inbox = '{coupons}:inbox';
my $rejected = '{coupons}:rejected';

my $redis = start_redis();
my $settle = start_settle(redis => $redis);
my $config = $settle->{config};
my $nginx = start_nginx(workers => 2, http => <<"END", server => <<"END2");
    log_format coupons '\$status \$coupon_callback_result '
                       'id=\$coupon_callback_id n=\$coupon_callback_count '
                       't=\$coupon_callback_redis_time';
END
        location = /cb {
            access_log access.log coupons;
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port};
            coupon_callback_secret $secret;
        }
        location = /metrics {
            access_log off;
            coupon_callback_metrics;
        }
END2


# Sends a body, checks the answer, and waits until the inbox is empty again.
sub deliver
{
    my ($body, $status, $what, %options) = @_;
    my $answer = post($nginx, '/cb', $body, secret => $secret, %options);

    is($answer->{status}, $status, $what) or diag $answer->{body};
    ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, '... and the inbox is empty');
    return $answer;
}


sub operations
{
    my ($code) = @_;

    return [ map { join ' ', @$_ } ledger($config,
        "SELECT operation_key, amount, batch_id FROM coupon_operations
         WHERE coupon_code = '$code'
         ORDER BY settlement_generation, kind DESC") ];
}


sub count
{
    my ($table, $where) = @_;

    return (ledger($config, "SELECT count(*) FROM $table WHERE $where"))[0][0];
}


# --- one coupon, from its first bet to its second result

deliver(callback('b1', { code => '000000000272', status => 1,
                         events => { 98123 => 1, 98124 => 1 } }), 200,
        'an active coupon');
is_deeply(operations('000000000272'), [], '... moves no money');

my $final = callback('b2', { code => '000000000272', status => 2,
                             real_win => '125.50',
                             events => { 98123 => 2, 98124 => 3 } },
                           { code => '000000000273', status => 3,
                             real_win => 0 });
my $answer = deliver($final, 200, 'a final one, and a lost one');
is($answer->{body}, '{"success":true,"processed":2}', '... with the count');
like($answer->{headers}{'content-type'}, qr{^application/json}, '... in JSON');

my $credit = ['000000000272:0:final_credit 125.50 b2'];
is_deeply(operations('000000000272'), $credit, '... is credited');
is_deeply(operations('000000000273'), ['000000000273:0:final_credit 0 b2'],
          '... and so is a win of 0');

$answer = deliver($final, 200, 'the same delivery again');
is($answer->{body}, '{"success":true,"processed":2}', '... the same answer');
is_deeply(operations('000000000272'), $credit, '... and nothing is paid twice');
is(count('coupon_callback_batches', "batch_id = 'b2'"), 1,
   '... one row in the register of batches');


# --- forged

my $forged = callback('b3', { code => '666', status => 2, real_win => 1000000 });

for my $case (['no signature', { 'X-Signature' => undef }],
              ['an empty one', { 'X-Signature' => '' }],
              ['one of another body',
               { 'X-Signature' => sign($final, $secret) }],
              ['one with another secret',
               { 'X-Signature' => sign($forged, 'guess') }],
              ['one of a part',
               { 'X-Signature' => substr sign($forged, $secret), 0, 32 }]) {
    my ($what, $headers) = @$case;
    $answer = deliver($forged, 401, "forged: $what", headers => $headers);
    unlike($answer->{body}, qr/$secret/, '... the answer keeps the secret');
}

is($redis->cmd('EXISTS', '{coupons}:seen:sportapi:b3', $rejected), 0,
   'Redis never heard of them');
is(count('coupons', "coupon_code = '666'"), 0, 'nor did the ledger');


# --- recalculated

deliver(callback('b4', { code => '000000000272', status => 15 }), 200,
        'a recalculation');
is_deeply(operations('000000000272'),
          [@$credit, '000000000272:1:recalculation_debit -125.50 b4'],
          '... takes the credit back');

deliver(callback('b5', { code => '000000000272', status => 15 }), 200,
        'the recalculation in another batch');
is(scalar @{ operations('000000000272') }, 2, '... takes nothing more');

deliver(callback('b6', { code => '000000000272', status => 2,
                         real_win => '"80.00"' }), 200, 'the new result');
is_deeply(operations('000000000272'),
          [@$credit, '000000000272:1:recalculation_debit -125.50 b4',
           '000000000272:1:final_credit 80.00 b6'], '... is credited once');


# --- one id, two bodies

my $other = callback('b6', { code => '000000000272', status => 2,
                             real_win => '"9999"' });
$answer = deliver($other, 200, 'a known id with another body');
is($answer->{body}, '{"success":true,"processed":1}', '... is acknowledged');
is(scalar @{ operations('000000000272') }, 3, '... and moves nothing');
is_deeply([map { [@$_{qw(source id reason body)}] } $redis->entries($rejected)],
          [['sportapi', 'b6', 'conflict', $other]], '... but is kept aside');

my ($status, $out) = settle_command($config, 'rejected', 'list');
is($status, 0, 'rejected list');
like($out, qr/\bb6\b.*conflict/, '... has it');

# the window of Redis is over, or Redis was emptied: the ledger knows better
$redis->cmd('DEL', '{coupons}:seen:sportapi:b2', '{coupons}:seen:sportapi:b6');
deliver($final, 200, 'a batch that Redis has forgotten');
deliver($other, 200, 'another body for an id that Redis has forgotten');
is(scalar @{ operations('000000000272') }, 3, 'neither moves money');
is(count('rejected', "batch_id = 'b6' AND reason = 'conflict'"), 1,
   'the other body is set aside by the daemon now');


# --- malformed, and poison that only the daemon can see

my $bad = '{"batchId":"b7","couponCount":2,"coupons":[{"coupon_code":"x",'
          . '"status":2,"real_win":1}]}';
deliver($bad, 400, 'a count that is wrong');
is(count('coupons', "coupon_code = 'x'"), 0, '... nothing of it is settled');
is_deeply([map { $_->{id} } grep { $_->{reason} ne 'conflict' }
           $redis->entries($rejected)], ['b7'], '... it is kept aside');

# what nginx would never let in: somebody else has put it into the inbox
my @good = map { callback("good-$_", { code => "good-$_", status => 2,
                                       real_win => "$_.25" }) } 1 .. 20;
$settle->pause;
is(post($nginx, '/cb', $_, secret => $secret)->{status}, 200, 'a good batch')
    for @good[0 .. 9];
inbox_add($redis, '{"batchId":"poison","couponCount":1,"coupons":[{"a":1}]}',
          count => 1);
$redis->cmd('XADD', $inbox, '*', 'what', 'is this');
is(post($nginx, '/cb', $_, secret => $secret)->{status}, 200, 'a good batch')
    for @good[10 .. 19];
$settle->resume;

ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, 'poison does not block');
is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0, 'nothing is pending');
is(count('coupon_operations', "coupon_code LIKE 'good-%'"), 20,
   'the batches before and behind it are settled');
is(count('rejected', "batch_id = 'poison'"), 1, 'it is set aside');
is(count('rejected', '1 = 1'), 3, '... and so is what was no entry at all');


# --- doubts

deliver(callback('d1', { code => 'd', status => 2, real_win => 10 }), 200, 'final');
deliver(callback('d2', { code => 'd', status => 2, real_win => 12 }), 200,
        'final with another win, without a recalculation');
is_deeply(operations('d'), ['d:0:final_credit 10 d1'], '... moves nothing');

($status, $out) = settle_command($config, 'doubts');
is($status, 0, 'doubts');
is_deeply([map { (split)[0] } split /\n/, $out], ['d'], '... lists it');

($status, $out) = settle_command($config, 'resolve', 'd', '--status', 2,
                                 '--real-win', '12.00');
is($status, 0, 'resolve');
is_deeply([map { s/resolve:\d+$/resolve/r } @{ operations('d') }],
          ['d:0:final_credit 10 d1', 'd:1:recalculation_debit -10 resolve',
           'd:1:final_credit 12.00 resolve'], '... moves the difference');
($status, $out) = settle_command($config, 'doubts');
is($out, '', 'no doubt is left');

($status, $out) = settle_command($config, 'show', '000000000272');
is($status, 0, 'show');
like($out, qr/^coupon\s+000000000272$/m, '... keeps the zeros');
like($out, qr/^state\s+final$/m, '... the state');
like($out, qr/^generation\s+1$/m, '... the generation');
like($out, qr/recalculation_debit\s+-125\.50\s+sum\s+0\.00\s+b4$/m,
     '... the operations and their sum');
is((settle_command($config, 'show', '272'))[0], 1,
   'a code without its zeros is another coupon');


# --- a full batch, and one in chunks through a temporary file

my @many = map { { code => sprintf('%012d', 5000 + $_), status => 2,
                   real_win => "$_.5" } } 1 .. 100;
$answer = deliver(callback('full', @many), 200, 'a batch of 100');
is($answer->{body}, '{"success":true,"processed":100}', '... of 100');
is(count('coupon_operations', "batch_id = 'full'"), 100, '... 100 credits');

my $large = callback('large', { code => 'large', status => 2, real_win => 3 });
substr $large, -1, 0, ',"more":"' . 'x' x 600_000 . '"';
deliver($large, 200, 'a body of 600 kB in chunks', chunked => 7000);
is_deeply(operations('large'), ['large:0:final_credit 3 large'], '... is settled');


# --- what nginx has counted

my $metrics = get($nginx, '/metrics')->{body};
my %expected = (accepted => 31, duplicate => 1, conflict => 1, unsigned => 5,
                malformed => 1, unavailable => 0, timeout => 0,
                overloaded => 0);

for my $result (sort keys %expected) {
    like($metrics, qr/^coupon_callback_requests_total\{[^}]*result="$result"
                      [^}]*\}\ $expected{$result}$/mx,
         "$expected{$result} $result in the metrics");
}

my @lines = split /\n/, read_file($nginx->{access_log});
like($lines[1], qr/^200 accepted id=b2 n=2 t=\d+\.\d+$/, 'the access log says it');
like($lines[2], qr/^200 duplicate id=b2 n=2 t=\d+\.\d+$/, '... of a duplicate');
like($lines[3], qr/^401 unsigned id=- n=- t=-$/, '... of a forged one');

is($settle->stop, 0, 'the daemon ends with 0');
unlike($settle->log_text . read_file($nginx->{error_log}), qr/$secret/,
       'no log has the secret');

done_testing;
