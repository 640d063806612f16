#!/usr/bin/perl

# The commands around refunds: open requests, a fraction by hand, and Google's
# keys for nginx.

use strict;
use warnings;

use CouponStores;
use CouponTest;
use IO::Socket::INET;
use JSON::PP 'decode_json';
use POSIX ();
use Test::More;

my $redis = start_redis();
my $apple = apple_pki();
my $settle = start_settle(redis => $redis);
my $config = $settle->{config};
my $now = int(1000 * time);


sub deliver
{
    my ($source, $id, $body) = @_;

    inbox_add($redis, $body, source => $source, id => $id, count => 1);
    wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0 }
        or die "not settled: " . $settle->log_text;
}


sub command_is
{
    my ($what, $status, $out, $err, @arguments) = @_;
    my @got = settle_command($config, @arguments);

    is $got[0], $status, "$what: exits with $status";
    like $got[1], $out, '... says';
    like $got[2], $err, '... complains';
}


# --- requests

wait_for { (settle_command($config, 'requests', 'list'))[0] == 0 };
command_is('no request', 0, qr/^\z/, qr/^\z/, 'requests', 'list');

deliver('google', 'g-1', google_body(id => 'g-1', data => {
    eventTimeMillis => "$now", voidedPurchaseNotification => {
        purchaseToken => 'token', orderId => 'GPA.1', productType => 2,
        refundType => 2 } }));
deliver('google', 'g-2', google_body(id => 'g-2', data => {
    eventTimeMillis => "$now", pendingRefundReviewNotification => {
        pendingRefundToken => 'x', orderId => 'GPA.2' } }));
deliver('apple', 'a-1', apple_body($apple, type => 'CONSUMPTION_REQUEST',
    date => $now - 13 * 3600_000, uuid => 'a-1'));

my $g = quotemeta SUBSCRIPTION;
command_is('three requests', 0, qr/\A
    \ -\ \ 1h0\dm\ apple\ a-1\ consumption\ 2000000001\n
    \ \ \ 2[34]h\d\dm\ google\ $g:g-2\ review\ GPA\.2\n
    \ {8}-\ google\ $g:g-1\ units\ GPA\.1\n\z/x, qr/^\z/, 'requests', 'list');

command_is('closing one', 0, qr/^apple a-1 is closed$/, qr/^\z/,
           'requests', 'close', 'apple', 'a-1');
command_is('closing it again', 1, qr/^\z/, qr/no open request apple a-1$/,
           'requests', 'close', 'apple', 'a-1');
command_is('the rest', 0, qr/\A[^\n]+g-2[^\n]+\n[^\n]+g-1[^\n]+\n\z/, qr/^\z/,
           'requests', 'list');
command_is('no such word', 2, qr/^\z/, qr/usage: coupon-settle requests list/,
           'requests', 'open');

# --- a fraction by hand

command_is('a third', 0, qr/^google GPA\.1 is refunded to 33\.333 %$/, qr/^\z/,
           'refunded', 'google', 'GPA.1', '--fraction', '1/3');
command_is('two thirds', 0, qr/to 66\.667 %$/, qr/^\z/,
           'refunded', 'google', 'GPA.1', '--fraction', '2/3');
command_is('the same', 0, qr/to 66\.667 %$/, qr/^\z/,
           'refunded', 'google', 'GPA.1', '--fraction', '66667');
command_is('all', 0, qr/to 100\.000 %$/, qr/^\z/,
           'refunded', 'google', 'GPA.1', '--fraction', '3/3');

is_deeply [ map { join ' ', @$_ } ledger($config,
    "SELECT operation_key, fraction_from, fraction_to FROM store_operations
     WHERE kind <> 'reverse_payout' ORDER BY fraction_to, kind") ], [
    'google:GPA.1:debit_balance:1 0 33333',
    'google:GPA.1:debit_balance:2 33333 66667',
    'google:GPA.1:debit_balance:3 66667 100000',
    'google:GPA.1:revoke_access:3 66667 100000',
], 'each difference once, and access goes with the last';
command_is('its request is closed', 0, qr/\A[^\n]+g-2[^\n]+\n\z/, qr/^\z/,
           'requests', 'list');

command_is('an unknown one', 1, qr/^\z/, qr/no transaction google GPA\.9$/,
           'refunded', 'google', 'GPA.9', '--fraction', '1/3');
command_is('an unknown store', 2, qr/^\z/, qr/apple or google, not "amazon"/,
           'refunded', 'amazon', 'GPA.1', '--fraction', '1/3');
command_is("the fraction $_", 2, qr/^\z/, qr/--fraction wants/,
           'refunded', 'google', 'GPA.1', '--fraction', $_)
    for '4/3', '100001', '-1', '1/0', '0.5', '', '1/3x';
command_is('no fraction', 2, qr/^\z/, qr/--fraction wants/,
           'refunded', 'google', 'GPA.1');

# --- what was rejected

deliver('apple', 'a-2', apple_body($apple, uuid => 'a-2', transaction => {
    revocationDate => undef }));
command_is('a refund without a date', 0, qr/apple +a-2 .* without revocationDate/,
           qr/^\z/, 'rejected', 'list');
command_is('its retry', 1, qr/^\z/, qr/1 stays .* without revocationDate$/,
           'rejected', 'retry', 1);

my $entry = $redis->cmd('XADD', '{coupons}:rejected', '*', source => 'apple',
    id => 'a-3', reason => 'of another app', received => $now,
    body => apple_body($apple, uuid => 'a-3'));
command_is('what nginx has judged', 1, qr/^\z/,
           qr/stays .* send its body to nginx again/, 'rejected', 'retry',
           $entry);
is_deeply [ ledger($config, "SELECT * FROM store_notifications
                             WHERE notification_id = 'a-3'") ], [],
    '... is not settled by hand';

deliver('apple', 'a-4', apple_body($apple, uuid => 'a-5'));
command_is('an entry of another id', 0,
           qr/a-4 .* id of the inbox entry is not that of the body/,
           qr/^\z/, 'rejected', 'list');

# --- what nginx put aside of Google's, once it is said which apps are ours

# The id of an entry in the quarantine of nginx.
sub aside
{
    my ($id, $body) = @_;

    return $redis->cmd('XADD', '{coupons}:rejected', '*', source => 'google',
        id => $id, reason => 'packageName is of another app',
        received => $now, body => $body);
}


# The notifications of Google whose id ends so.
sub notified
{
    return [ map { @$_ } ledger($config, "SELECT notification_id
        FROM store_notifications WHERE notification_id LIKE '%:$_[0]'") ];
}


my %data = (packageName => 'com.second', eventTimeMillis => "$now",
            voidedPurchaseNotification => { purchaseToken => 'second',
                orderId => 'GPA.7', productType => 2, refundType => 1 });
my ($plain, $settled) = ($config, qr/msg="notification settled"/);

$entry = aside('p-1', google_body(id => 'p-1', data => \%data));
command_is('nobody says whose app it is', 1, qr/^\z/,
           qr/$entry stays .* \[google\] package does not say/,
           'rejected', 'retry', $entry);

$config = write_file(workdir() . '/other.ini', read_file($plain)
                     . "[google]\npackage = com.secondary\n");
command_is('another app', 1, qr/^\z/, qr/stays .* package does not name$/,
           'rejected', 'retry', $entry);
is_deeply notified('p-1'), [], '... is not settled';

$config = write_file(workdir() . '/ours.ini', read_file($plain)
                     . "[google]\npackage = com.first com.second\n");
command_is('an app of ours', 0, qr/^$entry is settled/, $settled,
           'rejected', 'retry', $entry);
is_deeply notified('p-1'), [ SUBSCRIPTION . ':p-1' ], '... is settled';
is_deeply [ map { @$_ } ledger($config, "SELECT refunded
    FROM store_transactions WHERE transaction_key = 'GPA.7'") ], [100000],
    '... and its refund counts';
command_is('it is gone', 1, qr/^\z/, qr/nothing with the id/,
           'rejected', 'show', $entry);

$entry = aside(SUBSCRIPTION . ':p-2', google_notification(data => \%data));
command_is('an unwrapped push', 0, qr/^$entry is settled/, $settled,
           'rejected', 'retry', $entry);
is_deeply notified('p-2'), [ SUBSCRIPTION . ':p-2' ], '... by its own id';

$entry = aside('', google_body(id => 'p-3', data => \%data));
command_is('one whose id nginx did not take', 1, qr/^\z/,
           qr/stays .* no message id/, 'rejected', 'retry', $entry);
$entry = aside('p-4', google_body(id => 'p-5', data => \%data));
command_is('one of another id', 1, qr/^\z/, qr/stays .* is not that of the/,
           'rejected', 'retry', $entry);
$entry = aside('p-6', google_body(id => 'p-6', data => 'e30='));
command_is('one that says nothing', 1, qr/^\z/, qr/stays .* names no package/,
           'rejected', 'retry', $entry);
is_deeply notified('p-_'), [ map { SUBSCRIPTION . ":p-$_" } 1, 2 ],
    '... none of them is settled';
$config = $plain;

# an unwrapped push is known by the id it came with, out of the table as well
inbox_add($redis, google_notification(), source => 'google', count => undef,
          id => SUBSCRIPTION . ':u-1');
wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0 };
my ($number) = map { @$_ } ledger($config, "SELECT id FROM rejected
    WHERE batch_id = '@{[ SUBSCRIPTION ]}:u-1'");
command_is('an unwrapped push without a count', 0, qr/^$number is settled/,
           qr/msg="notification settled"/, 'rejected', 'retry', $number);
is_deeply notified('u-1'), [ SUBSCRIPTION . ':u-1' ], '... is known by its id';

# --- Google's keys

my $port = free_port();
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5,
    LocalPort => $port, ReuseAddr => 1) or die $!;
my $keys = workdir() . '/keys.json';
$config = settle_config(redis => $redis,
                        google => { keys_url => "http://127.0.0.1:$port/k" });


# Runs `jwks` against one answer of a server: status, body, header lines.
sub fetch
{
    my ($what, $status, $out, $err, $code, $body, @headers) = @_;
    my $pid = fork() // die "fork: $!";

    if ($pid == 0) {
        my $connection = $server->accept;
        local $/ = "\r\n\r\n";
        my $request = <$connection>;
        print {$connection} join "\r\n", "HTTP/1.1 $code Said",
            'Content-Length: ' . length $body, @headers, '', $body;
        close $connection;
        POSIX::_exit($request =~ m{^GET /k HTTP/1} ? 0 : 1);
    }

    command_is($what, $status, $out, $err, 'jwks', '--out', $keys);
    waitpid $pid, 0;
    is $?, 0, '... after one GET';
}


my $set = jwks(google_key('kid-1'));

fetch('a key set', 0, qr/is fresh for 3500 s$/, qr/^\z/, 200, $set,
      'Cache-Control: public, max-age=3600', 'Age: 100');
my $got = decode_json(read_file($keys));
is $got->{keys}[0]{kid}, 'kid-1', 'its key';
cmp_ok abs($got->{expires} - time - 3500), '<', 60, 'when it expires';
is sprintf('%o', (stat $keys)[2] & 0777), 644, 'nginx may read it';

fetch('one without a word on caching', 0, qr/fresh for 3600 s$/, qr/^\z/,
      200, jwks(google_key('kid-2'), 12345));
$got = decode_json(read_file($keys));
is $got->{keys}[0]{kid}, 'kid-2', 'its key';
cmp_ok $got->{expires}, '>', time, 'the time is ours';

my $before = read_file($keys);
fetch('a set without keys', 1, qr/^\z/, qr/no usable key/, 200, jwks());
fetch('no set', 1, qr/^\z/, qr/no set of keys/, 200, '<html>');
fetch('an error', 1, qr/^\z/, qr/answers 503$/, 503, $set);
fetch('a redirect', 1, qr/^\z/, qr/answers 302$/, 302, '',
      "Location: http://127.0.0.1:$port/other");
is read_file($keys), $before, 'the file is as it was';
ok !-e "$keys.new", '... and nothing lies beside it';

$keys = workdir() . '/nowhere/keys.json';
fetch('a folder that is not there', 1, qr/^\z/, qr/cannot write/, 200, $set);

close $server;
command_is('nobody there', 1, qr/^\z/, qr/127\.0\.0\.1/, 'jwks', '--out', $keys);
command_is('no file', 2, qr/^\z/, qr/--out FILE is missing/, 'jwks');
done_testing;
