#!/usr/bin/perl

# A crash storm: while signed callbacks keep coming, nginx's workers, Redis and
# coupon-settle are killed (kill -9) at random moments, one by one and together,
# and come back.  What is not answered 200 is sent again, as the provider does.
# In the end every acknowledged batch stands in the ledger, once, and nothing
# else does.
#
#   COUPON_SECONDS=600 COUPON_SEED=42 prove t/340-storm.t

use strict;
use warnings;

use lib 't/lib';
use CouponLoad;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

use constant {
    RATE    => 300,             # batches a second
    SHARED  => 200,             # coupons that come again and again
    WORKERS => 3,
};

my $seconds = $ENV{COUPON_SECONDS} || 30;
my $seed = $ENV{COUPON_SEED} // int time;
my $secret = 'storm';
my $inbox = '{coupons}:inbox';

diag("COUPON_SEED=$seed COUPON_SECONDS=$seconds");
srand $seed;

allow_log(qr/exited on signal 9/);

# small enough, so that the file is rewritten in the storm, too
my $redis = start_redis('auto-aof-rewrite-min-size' => '2mb');
my $config = settle_config(redis => $redis);

# what a daemon has taken and not acknowledged it has to come back to by itself:
# nobody takes it over
write_file($config, read_file($config) =~ s/^\[redis\]\n/$&claim_after = 1h\n/mr);

my $settle = start_settle(config => $config);
my $nginx = start_nginx(workers => WORKERS, level => 'error', server => <<"END");
        access_log off;
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port};
            coupon_callback_secret $secret;
            coupon_callback_timeout 2s;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END


# --- the load

my %paid;                       # coupon of its own => what it is paid, in cents
my $number = 0;


# A batch of 1 to 4 coupons of its own, final at once, and a shared one, final
# or in recalculation; now and then a large batch.
sub batch
{
    my $id = 'batch-' . ++$number;
    my $n = rand() < 0.02 ? 90 : 1 + int rand 4;
    my @coupons;

    for my $i (1 .. $n) {
        my $cents = int rand 1_000_000;
        $paid{"$number-$i"} = $cents;
        push @coupons, { code => "$number-$i", status => 2,
                         real_win => sprintf '%d.%02d', $cents / 100,
                                             $cents % 100 };
    }

    my $shared = int rand SHARED;
    push @coupons, { code => "shared-$shared", real_win => $shared,
                     status => (2, 15)[rand 2] };
    return $id, callback($id, @coupons);
}


# --- the kills

my %kills = (worker => 0, redis => 0, settle => 0);
my %down;                       # who is down => when it comes back
my $next = time + 1;
my $end = time + $seconds;
my $storming = 1;


# Every now and then one of the three dies, or two of them; Redis and the daemon
# stay away for up to a second, the workers are nginx's own business.  In the end
# it is only Redis, so that the daemon has to go on with what it had in its hands.
sub strike
{
    my $now = time;
    my @victims = $now > $end - 4 ? 'redis' : qw(worker redis settle);

    for my $who (grep { $down{$_} <= $now } keys %down) {
        delete $down{$who};
        ($who eq 'redis' ? $redis : $settle)->start;
    }

    return if !$storming || $now < $next;

    $next = $now + 0.2 + rand 1.2;
    kill_one($victims[rand @victims]) for 0 .. (rand() < 0.2);
}


sub kill_one
{
    my ($who) = @_;

    if ($who eq 'worker') {
        my @workers = $nginx->children;
        @workers = $workers[rand @workers] unless rand() < 0.2;
        $kills{worker} += kill 'KILL', @workers;

    } elsif (!$down{$who}) {
        ($who eq 'redis' ? $redis : $settle)->kill9;
        $kills{$who}++;
        $down{$who} = time + rand;
    }
}


my $load = CouponLoad->new(nginx => [$nginx], secret => $secret, width => 32,
                           patience => 15, rate => RATE, next => \&batch, tick => \&strike);
my $drained = $load->run(sub { $storming = time < $end; !$storming });

ok($drained, 'everything that was sent is acknowledged in the end')
    or diag explain $load->{statuses};
ok +(wait_for { strike(); !%down }), 'all are back';
is_deeply($load->{refused}, [], 'nothing got an answer that ends the retries');


# --- the end

my @acknowledged = sort keys %{ $load->{acknowledged} };

ok +(wait_for { $redis->try('XLEN', $inbox) eq '0' } 300),
   'the inbox is empty';
is($redis->cmd('XPENDING', $inbox, 'settle')->[0], 0, '... nothing is pending');
is($settle->stop, 0, 'the daemon ends with 0');

my @settled = map { $_->[0] } ledger($config, 'SELECT batch_id
                                               FROM coupon_callback_batches');
my %settled = map { $_ => 1 } @settled;
my @lost = grep { !$settled{$_} } @acknowledged;
my @unasked = grep { !$load->{acknowledged}{$_} } @settled;

is(scalar @acknowledged, $number, 'each batch was acknowledged');
is_deeply(\@lost, [], '... and is in the register of batches: none is lost');
is_deeply(\@unasked, [], '... and no other is');
is(scalar @settled, scalar keys %settled, '... each once');
is(scalar @{ $redis->cmd('KEYS', '{coupons}:seen:*') }, $number,
   'each has left its mark in Redis');
is((ledger($config, 'SELECT count(*) FROM rejected'))[0][0], 0,
   'the ledger has rejected none');
is($redis->cmd('EXISTS', '{coupons}:rejected'), 0, '... nor has nginx');


# --- the money

my (%times, %operation, @wrong);

for my $row (ledger($config, "SELECT operation_key, coupon_code, amount
                              FROM coupon_operations
                              WHERE coupon_code NOT LIKE 'shared-%'")) {
    my ($key, $code, $amount) = @$row;
    my ($units, $cents) = $amount =~ /^(\d+)\.(\d\d)$/;

    $times{$code}++;
    push @wrong, $key unless $key eq "$code:0:final_credit"
        && defined $units && $units * 100 + $cents == $paid{$code};
}

my @unpaid = grep { !$times{$_} } keys %paid;
my @twice = grep { $times{$_} > 1 } keys %times;

is_deeply(\@unpaid, [], scalar(keys %paid) . ' coupons, none is left out');
is_deeply(\@twice, [], '... none is paid twice');
is_deeply(\@wrong, [], '... each has its own amount');

# whatever the order was: per generation one credit and one debit at most, and
# the sum is what the last credit says
is_deeply([ledger($config, "SELECT count(*) FROM (SELECT 1
    FROM coupon_operations GROUP BY coupon_code, settlement_generation, kind
    HAVING count(*) > 1) AS twice")], [[0]],
    'coupons that came again: no operation of a generation twice');
is_deeply([ledger($config, "SELECT count(*) FROM (SELECT sum(amount) AS paid,
    CASE WHEN state = 'final' THEN CAST(max(real_win) AS numeric) ELSE 0 END AS won
    FROM coupon_operations JOIN coupons USING (coupon_code)
    WHERE coupon_code LIKE 'shared-%' GROUP BY coupon_code, state) AS each
    WHERE paid != won")], [[0]], '... and what they were paid is what they have won');
cmp_ok((ledger($config, "SELECT count(*) FROM coupon_operations
        WHERE coupon_code LIKE 'shared-%'"))[0][0], '>', SHARED,
       '... several times');

SKIP: {
    skip 'it is no SQLite', 1 if read_file($config) !~ /^url = sqlite:/m;
    is_deeply([ledger($config, 'PRAGMA integrity_check')], [['ok']],
              'the database is sound');
}


# --- nginx afterwards

is(scalar $nginx->children, WORKERS, 'nginx has all its workers');
ok +(wait_for { get($nginx, '/metrics')->{body}
                =~ /^coupon_callback_redis_connections_up @{[ 4 * WORKERS ]}$/m }),
   '... all their connections are up, and no dead one is counted';
like(get($nginx, '/metrics')->{body}, qr/^coupon_callback_pending 0$/m,
     '... and nothing is pending');

ok($kills{$_} > $seconds / 20, "enough kills: $_") for sort keys %kills;
ok($load->{retried} > 0, 'deliveries had to be sent again');

diag(sprintf 'acknowledged %d, retried %d, killed: %d workers, %d Redis, '
             . '%d coupon-settle; lost %d, twice %d; slowest answer %.1f s',
     scalar @acknowledged, $load->{retried}, @kills{qw(worker redis settle)},
     scalar @lost, scalar @twice, $load->{slowest});

done_testing;
