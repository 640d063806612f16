#!/usr/bin/perl

# From the App Store and from Pub/Sub to the ledger: each refund told six times,
# signed anew now and then, shuffled with its decline and its reversal, over two
# workers; every effect stands once.

use strict;
use warnings;

use CouponStores;
use CouponTest;
use List::Util 'shuffle';
use Test::More;

my $seed = $ENV{CC_SEED} // time;
my $redis = start_redis();
my $settle = start_settle(redis => $redis);
my $apple = apple_pki();
my $key = google_key('kid-1');
my $keys = write_file(workdir() . '/keys.json', jwks($key));
my $now = int(1000 * time);      # the certificates are not valid earlier

srand $seed;
diag "seed $seed (CC_SEED)";

my $nginx = start_nginx(workers => 2, server => <<"END");
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_dedup_window 35d;
    location = /apple {
        coupon_callback apple;
        coupon_callback_apple bundle_id=@{[ BUNDLE ]}
                              app_apple_id=@{[ APP_ID ]} root=$apple->{root};
    }
    location = /google {
        coupon_callback google;
        coupon_callback_google audience=@{[ AUDIENCE ]} email=@{[ EMAIL ]}
                               subscription=@{[ SUBSCRIPTION ]} keys=$keys;
    }
    location = /unwrapped {
        coupon_callback google;
        coupon_callback_google audience=@{[ AUDIENCE ]} email=@{[ EMAIL ]}
                               subscription=@{[ SUBSCRIPTION ]} keys=$keys
                               mode=unwrapped;
    }
END


# A notification of Apple about a transaction, signed so much later.
sub apple
{
    my ($id, $type, $transaction, $time, $later) = @_;

    return ['/apple', apple_body($apple, uuid => $id, type => $type,
        date => $time + ($later // 0), transaction => {
            transactionId => $transaction, signedDate => $time,
            originalTransactionId => $transaction,
            revocationDate => $type eq 'REFUND' ? $time : undef })];
}


sub google
{
    my ($id, $order, $attempt) = @_;

    return ['/google', google_body(id => $id,
        more => { deliveryAttempt => $attempt }, data => {
            eventTimeMillis => "$now", voidedPurchaseNotification => {
                purchaseToken => "token-$order", orderId => $order,
                productType => 2, refundType => 1 } }),
        headers => { Authorization => 'Bearer ' . google_token($key) }];
}


# The same in an unwrapped push.
sub unwrapped
{
    my ($id, $order) = @_;

    return ['/unwrapped', google_notification(data => {
            eventTimeMillis => "$now", voidedPurchaseNotification => {
                purchaseToken => "token-$order", orderId => $order,
                productType => 2, refundType => 1 } }),
        headers => { google_lines(id => $id),
                     Authorization => 'Bearer ' . google_token($key) }];
}


sub effects
{
    my ($transaction) = @_;

    return [ map { join ' ', @$_ } ledger($settle->{config},
        "SELECT kind, sum(fraction_to - fraction_from) FROM store_operations
         WHERE transaction_key = '$transaction'
         AND kind IN ('debit_balance', 'reverse_payout') GROUP BY kind") ];
}


sub access
{
    my ($row) = ledger($settle->{config},
        "SELECT access FROM store_purchases WHERE purchase_key = '$_[0]'");

    return $row->[0];
}


my @requests = map { my $n = $_; (
    apple('refund', 'REFUND', 'T1', $now + 1000, 50 * $n),
    apple('declined', 'REFUND_DECLINED', 'T1', $now + 5000),
    apple('again', 'REFUND', 'T2', $now + 1000, 50 * $n),
    apple('reversed', 'REFUND_REVERSED', 'T2', $now + 9000),
    google('1001', 'GPA.1', $n),
    google('1002', 'GPA.1', $n),
    unwrapped('1003', 'GPA.1'),
    unwrapped('1004', 'GPA.2'),
) } 1 .. 6;

my @answers = post_all($nginx, shuffle @requests);
is scalar(grep { $_->{status} == 200 } @answers), scalar @requests,
   'every delivery is answered with 200';
is $redis->cmd('XLEN', '{coupons}:rejected'), 0, 'none is kept aside';

ok +(wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0
                && ledger($settle->{config},
                          'SELECT * FROM store_notifications') == 8 }),
   'eight notifications are settled';

is_deeply effects('T1'), ['debit_balance 100000', 'reverse_payout 100000'],
          'the refund, once';
is access('T1'), 'revoked', '... and access is gone';
is_deeply [ grep { !/ 0$/ } @{ effects('T2') } ], [],
          'of the one that was reversed nothing is left';
is access('T2'), 'granted', '... and access is there';
is_deeply effects('GPA.1'), ['debit_balance 100000', 'reverse_payout 100000'],
          'the voided purchase, once, in three messages';
is_deeply effects('GPA.2'), ['debit_balance 100000', 'reverse_payout 100000'],
          'the one that came unwrapped only';
is_deeply [ map { @$_ } ledger($settle->{config},
    "SELECT notification_id FROM store_notifications WHERE source = 'google'
     ORDER BY 1") ], [ map { SUBSCRIPTION . ":$_" } 1001 .. 1004 ],
          'a message has one name, wrapped or not';

@answers = post_all($nginx, shuffle @requests);
is scalar(grep { $_->{status} == 200 } @answers), scalar @requests,
   'all of it once more';
is $redis->cmd('XLEN', '{coupons}:inbox'), 0, '... is nothing new';

# --- Apple's that was put aside for want of a root is sent to nginx again

my $next = apple_pki();
my $body = apple_body($apple, uuid => 'aside', transaction => apple_transaction(
    $next, transactionId => 'T3', originalTransactionId => 'T3'));

like post($nginx, '/apple', $body)->{body}, qr/"processed":0/,
     'what is signed inside it cannot be verified';
my ($entry) = $redis->entries('{coupons}:rejected');
my (undef, $shown) = settle_command($settle->{config}, 'rejected', 'show',
                                    $entry->{entry});
$shown =~ s/\A.*?\n\n//s;
write_file($apple->{root}, read_file($apple->{root})
                           . read_file($next->{root}));
ok +(wait_for { post($nginx, '/apple', $shown)->{body} =~ /"processed":1/ }),
   '... until the root is there';
ok +(wait_for { @{ effects('T3') } == 2 }), '... and then it is settled';

done_testing;
