#!/usr/bin/perl

# What Apple and Google tell of refunds, from the inbox into the store_* tables:
# every effect once, in whatever order and however often it is told.  The same
# on SQLite and on PostgreSQL.

use strict;
use warnings;

use CouponPostgres;
use CouponStores;
use CouponTest;
use List::Util 'shuffle';
use Test::More;

my $seed = $ENV{CC_SEED} // 20240601;
my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $apple = apple_pki();
my ($postgres, $settle, $config);
my $now = int(1000 * time);

srand $seed;
diag "seed $seed (CC_SEED)";


sub deliver
{
    my ($source, @deliveries) = @_;

    for my $delivery (@deliveries) {
        my ($id, $body) = @$delivery;
        inbox_add($redis, $body, source => $source, id => $id, count => 1);
    }
    wait_for { $redis->cmd('XLEN', $inbox) == 0 }
        or die "not settled: " . $settle->log_text;
}


# A notification of Apple: [id, body].
sub apple
{
    my ($id, $type, $transaction, $time, %fields) = @_;

    $fields{revocationDate} //= $type eq 'REFUND' ? $time : undef;
    return [$id, apple_body($apple, uuid => $id, type => $type, date => $time,
        transaction => { transactionId => $transaction, price => 10479,
                         currency => 'USD', purchaseDate => $now - 1e9,
                         originalTransactionId => $transaction, %fields })];
}


# A message of Google: [id, body].
sub google
{
    my ($id, $kind, $time, %fields) = @_;

    return [$id, google_body(id => $id, data => {
        eventTimeMillis => "$time", $kind => \%fields })];
}


sub voided
{
    my ($id, $order, $type, $time, $product) = @_;

    return google($id, 'voidedPurchaseNotification', $time,
        purchaseToken => "token-$order", orderId => $order,
        productType => $product // 2, refundType => $type);
}


sub rows
{
    my ($query) = @_;

    return [ map { join ' ', @$_ } $postgres ? $postgres->sql($query)
                                             : ledger($config, $query) ];
}


sub operations
{
    return rows("SELECT operation_key, fraction_from, fraction_to,
        coalesce(CAST(amount AS TEXT), '-'), coalesce(currency, '-')
        FROM store_operations WHERE transaction_key = '$_[0]'
        ORDER BY operation_key");
}


for my $name ('SQLite', 'PostgreSQL') {
    $postgres = start_postgres() if $name eq 'PostgreSQL';
    my @store = $postgres ? (store => $postgres->url) : ();

    $settle = start_settle(redis => $redis, @store);
    $config = $settle->{config};
    subtest $name => sub { story(@store) };
    $settle->stop;
    unlike $settle->log_text, qr/token-/, "$name: no purchase token in the log";
}

done_testing;


sub story
{
my (@store) = @_;

# --- one refund, told six times

my $refund = apple('a-1', 'REFUND', 'T1', $now);
deliver('apple', ($refund) x 6);

is_deeply operations('T1'), [
    'apple:T1:debit_balance:1 0 100000 10.479 USD',
    'apple:T1:reverse_payout:1 0 100000 10.479 USD',
    'apple:T1:revoke_access:1 0 100000 - -',
], 'each effect once';
is_deeply rows("SELECT source, notification_id, kind, purchase_key,
                transaction_key, event_time, stale FROM store_notifications"),
    ["apple a-1 REFUND T1 T1 $now 0"], 'the notification';
is_deeply rows('SELECT source, purchase_key, access, as_of
                FROM store_purchases'), ["apple T1 revoked $now"],
    'the purchase';
is_deeply rows('SELECT source, transaction_key, purchase_key, refunded, as_of,
                generation FROM store_transactions'),
    ["apple T1 T1 100000 $now 1"], 'the transaction';

# --- parts, in any order

deliver('apple', shuffle(
    apple('a-2', 'REFUND', 'T2', $now + 1, revocationPercentage => 33333),
    apple('a-3', 'REFUND', 'T2', $now + 2, revocationPercentage => 66667),
    apple('a-4', 'REFUND', 'T2', $now + 3, revocationPercentage => 100000),
    apple('a-5', 'REFUND_DECLINED', 'T2', $now + 4)));

is_deeply rows("SELECT CAST(round(sum(amount * 1000)) AS INTEGER),
    sum(fraction_to - fraction_from) FROM store_operations
    WHERE transaction_key = 'T2' AND kind = 'debit_balance'"),
    ['10479 100000'], 'parts add up to the whole';

# --- refunded, declined, reversed, each told six times, shuffled

my @story = (apple('a-6', 'REFUND', 'T3', $now + 1),
             apple('a-7', 'REFUND_DECLINED', 'T3', $now + 2),
             apple('a-8', 'REFUND_REVERSED', 'T3', $now + 3));
deliver('apple', shuffle((@story) x 6));

is_deeply rows("SELECT refunded, generation % 2 FROM store_transactions
                WHERE transaction_key = 'T3'"), ['0 0'],
    'reversed at the end, whatever came first';
is_deeply rows("SELECT coalesce(sum(fraction_to - fraction_from), 0)
                FROM store_operations WHERE transaction_key = 'T3'
                AND kind = 'reverse_payout'"), [0], '... with nothing left of it';
is_deeply rows("SELECT access FROM store_purchases WHERE purchase_key = 'T3'"),
    ['granted'], '... and access given back';

deliver('apple', apple('a-9', 'REFUND', 'T3', $now + 9));
is_deeply rows("SELECT refunded FROM store_transactions
                WHERE transaction_key = 'T3'"), [100000], 'refunded again';

# --- a late word

deliver('apple', apple('a-10', 'REFUND_REVERSED', 'T1', $now - 5));
is_deeply rows("SELECT stale FROM store_notifications
                WHERE notification_id = 'a-10'"), [1], 'a stale one is marked';
is scalar @{ operations('T1') }, 3, '... and does nothing';

# --- Google

deliver('google', voided('g-1', 'GPA.1', 1, $now),
     voided('g-1', 'GPA.1', 1, $now), voided('g-2', 'GPA.1', 1, $now + 500),
     voided('g-3', 'GPA.2..0', 1, $now, 1),
     google('g-4', 'subscriptionNotification', $now, notificationType => 12,
            purchaseToken => 'token-sub'),
     google('g-5', 'testNotification', $now, version => '1.0'));

is_deeply operations('GPA.1'), [
    'google:GPA.1:debit_balance:1 0 100000 - -',
    'google:GPA.1:reverse_payout:1 0 100000 - -',
    'google:GPA.1:revoke_access:1 0 100000 - -',
], 'a voided purchase, once';
is_deeply operations('GPA.2..0'), [
    'google:GPA.2..0:debit_balance:1 0 100000 - -',
    'google:GPA.2..0:reverse_payout:1 0 100000 - -',
], 'of a subscription only the money';
is_deeply operations('token-sub'), [
    'google:token-sub:revoke_access:1 0 0 - -' ], '... and only its access';
is_deeply rows("SELECT notification_id FROM store_notifications
                WHERE source = 'google' ORDER BY 1"),
    [ map { SUBSCRIPTION . ":g-$_" } 1 .. 5 ],
    'a message is known by its subscription and id';

# --- open questions

deliver('apple', apple('a-20', 'CONSUMPTION_REQUEST', 'T4', $now - 1000));
deliver('apple', apple('a-20', 'CONSUMPTION_REQUEST', 'T4', $now - 1000));
deliver('google', voided('g-20', 'GPA.3', 2, $now),
     google('g-21', 'pendingRefundReviewNotification', $now - 2000,
            pendingRefundToken => 'x', orderId => 'GPA.4'));

is_deeply rows("SELECT notification_id, kind, transaction_key,
    coalesce(deadline, 0), coalesce(CAST(closed_at AS TEXT), 'open')
    FROM store_requests ORDER BY kind"), [
    'a-20 consumption T4 ' . ($now - 1000 + 43200000) . ' open',
    SUBSCRIPTION . ':g-21 review GPA.4 ' . ($now - 2000 + 86400000) . ' open',
    SUBSCRIPTION . ':g-20 units GPA.3 0 open',
], 'each request once, with its deadline';
is_deeply operations('GPA.3'), [], 'nothing is done about unknown units';

# --- what nobody can act on

deliver('apple', ['a-30', apple_body($apple, uuid => 'a-30', transaction => {
    transactionId => 'T5', originalTransactionId => 'T5',
    revocationDate => undef })]);

is_deeply rows("SELECT source, batch_id, reason FROM rejected"),
    ['apple a-30 a refund without revocationDate'], 'it waits for a person';
is_deeply operations('T5'), [], '... and nothing is done';

# --- only what is wanted

$settle->stop;
$settle = start_settle(redis => $redis, @store,
                       refunds => { effects => 'reverse_payout' });
$config = $settle->{config};
deliver('apple', apple('a-40', 'REFUND', 'T6', $now));

is_deeply operations('T6'), [
    'apple:T6:reverse_payout:1 0 100000 10.479 USD' ],
    'effects are what the configuration names';
is_deeply rows("SELECT access FROM store_purchases
                WHERE purchase_key = 'T6'"), ['revoked'],
    '... and access is known all the same';
}
