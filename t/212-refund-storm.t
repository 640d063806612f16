#!/usr/bin/perl

# Refunds in a storm: random stories of many purchases, repeated and shuffled,
# by several daemons on one PostgreSQL, two of them killed in the middle.  The
# newest word of the store is what stands at the end, and the operations add up
# to exactly that.

use strict;
use warnings;

use CouponPostgres;
use CouponStores;
use CouponTest;
use List::Util qw(shuffle sum0);
use Test::More;

my $seed = $ENV{CC_SEED} // time;
my $purchases = 12;
my $events = 5;
my $copies = 3;

srand $seed;
diag "seed $seed (CC_SEED)";

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $postgres = start_postgres();
my $url = $postgres->url;
my $apple = apple_pki();
my $now = int(1000 * time);
my (%fraction, %access, @deliveries);

for my $p (1 .. $purchases) {
    my $time = $now - 1e6;

    for my $e (1 .. $events) {
        my $type = ('REFUND', 'REFUND', 'REFUND_REVERSED')[rand 3];
        my $part = 1 + int rand 100000;

        $time += 1 + int rand 1000;
        $fraction{"T$p"} = $type eq 'REFUND' ? $part : 0;
        $access{"T$p"} = $type eq 'REFUND' ? 'revoked' : 'granted';

        my $id = "n-$p-$e";
        my $body = apple_body($apple, uuid => $id, type => $type,
            date => $time, transaction => {
                transactionId => "T$p", originalTransactionId => "T$p",
                price => 10479, currency => 'USD', revocationDate =>
                $type eq 'REFUND' ? $time : undef,
                revocationPercentage => $type eq 'REFUND' ? $part : undef });
        push @deliveries, ([$id, $body]) x $copies;
    }
}

my @settle = start_settle(redis => $redis, store => $url);
push @settle, map { start_settle(config => consumer($settle[0]{config}, $_)) }
              2 .. 3;


# The same configuration under another consumer's name.
sub consumer
{
    my ($config, $number) = @_;
    my $path = workdir() . "/consumer$number";

    mkdir $path or die $!;
    return write_file("$path/settle.ini", read_file($config)
        =~ s/^\[redis\]\n/[redis]\nconsumer = c$number\nclaim_after = 1s\n/mr);
}


my $sent = 0;
for my $delivery (shuffle @deliveries) {
    my ($id, $body) = @$delivery;

    inbox_add($redis, $body, source => 'apple', id => $id, count => 1);
    if (++$sent % 60 == 0) {
        my $killed = $settle[1 + $sent / 60 % 2];
        $killed->kill9;
        $killed->start;
    }
}

ok +(wait_for { $redis->cmd('XLEN', $inbox) == 0 } 300), 'all is settled';

is_deeply { map { $_->[0] => $_->[1] } $postgres->sql(
    'SELECT transaction_key, refunded FROM store_transactions') },
    \%fraction, 'the newest word about money stands';
is_deeply { map { $_->[0] => $_->[1] } $postgres->sql(
    'SELECT purchase_key, access FROM store_purchases') },
    \%access, '... and the newest about access';

for my $kind ('debit_balance', 'reverse_payout') {
    is_deeply { map { $_->[0] => $_->[1] } $postgres->sql(
        "SELECT t.transaction_key,
                coalesce(sum(o.fraction_to - o.fraction_from), 0)
         FROM store_transactions t LEFT JOIN store_operations o
         ON o.transaction_key = t.transaction_key AND o.kind = '$kind'
         GROUP BY 1") }, \%fraction, "$kind adds up to it";
}

is $postgres->value("SELECT count(*) FROM store_operations o WHERE NOT EXISTS
    (SELECT 1 FROM store_operations p WHERE p.transaction_key
     = o.transaction_key AND p.kind = o.kind
     AND p.fraction_to = o.fraction_from) AND o.fraction_from <> 0
     AND o.kind = 'debit_balance'"), 0, 'each begins where another ended';
is $postgres->value("SELECT count(*) FROM store_transactions t WHERE
    (SELECT round(coalesce(sum(amount), 0) * 1000) FROM store_operations o
     WHERE o.transaction_key = t.transaction_key AND kind = 'debit_balance')
    <> floor((10479 * t.refunded + 50000) / 100000)"), 0,
    'the amounts add up, to the last digit';
is $postgres->value('SELECT count(*) FROM store_notifications'),
    $purchases * $events, 'each notification once';
is $postgres->value('SELECT count(*) FROM rejected'), 0, 'none is rejected';

done_testing;
