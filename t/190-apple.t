#!/usr/bin/perl

# Notifications of the App Store through a real nginx into a real Redis: what is
# stored, what is a repetition, what is kept aside and what is turned away.
# Every check of the provider is in t/unit; here is what the module makes of it.

use strict;
use warnings;

use CouponStores;
use CouponTest;
use JSON::PP 'decode_json';
use Test::More;

my $redis = start_redis();
my $apple = apple_pki();
my $other = apple_pki();
my $root = workdir() . '/root.pem';
my $inbox = '{coupons}:inbox';
my $rejected = '{coupons}:rejected';

write_file($root, read_file($apple->{root}));

my $nginx = start_nginx(
    http => 'log_format coupons "$uri $coupon_callback_result '
            . '$coupon_callback_id $coupon_callback_count";',
    server => <<"END");
    access_log logs.txt coupons;
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_dedup_window 35d;
    location = /apple {
        coupon_callback apple;
        coupon_callback_apple bundle_id=@{[ BUNDLE ]}
                              app_apple_id=@{[ APP_ID ]} root=$root;
    }
    location = /sandbox {
        coupon_callback apple;
        coupon_callback_apple bundle_id=@{[ BUNDLE ]} environment=Sandbox
                              root=$root;
    }
    location = /any {
        coupon_callback apple;
        coupon_callback_quarantine off;
        coupon_callback_apple bundle_id=@{[ BUNDLE ]} environment=any
                              app_apple_id=@{[ APP_ID ]} root=$root;
    }
    location = /metrics { coupon_callback_metrics; }
END


# The answer's status and code, and how much came into inbox and quarantine.
sub delivered
{
    my ($path, $body) = @_;
    my @before = map { $redis->cmd('XLEN', $_) } $inbox, $rejected;
    my $answer = post($nginx, $path, $body);
    my @after = map { $redis->cmd('XLEN', $_) } $inbox, $rejected;
    my $said = decode_json($answer->{body});

    return join ' ', $answer->{status},
        $said->{success} ? "processed=$said->{processed}" : $said->{error},
        'inbox+' . ($after[0] - $before[0]),
        'rejected+' . ($after[1] - $before[1]);
}


sub metric
{
    my ($name) = @_;
    my ($value) = get($nginx, '/metrics')->{body} =~ /^\Q$name\E (\S+)$/m;

    return $value // 'none';
}


my $taken = '200 processed=1 inbox+1 rejected+0';
my $again = '200 processed=1 inbox+0 rejected+0';

# --- taken, once

my $uuid = '75CD1AFE-a3c1-4126-8905-acec8807794c';
my $body = apple_body($apple, uuid => $uuid);

is delivered('/apple', $body), $taken, 'a refund';

my ($entry) = $redis->entries($inbox);
is $entry->{source}, 'apple', 'its source';
is $entry->{id}, lc $uuid, 'its id is the UUID in lower case';
is $entry->{count}, 1, 'its count';
is $entry->{body}, $body, 'its body';

my $key = '{coupons}:seen:apple:Production:' . lc $uuid;
ok $redis->cmd('PTTL', $key) > 34 * 86400 * 1000, 'it is remembered';

is delivered('/apple', $body), $again, 'the same again';
is delivered('/apple', apple_body($apple, uuid => lc $uuid)), $again,
   'signed anew: other bytes, the same notification';
is $redis->cmd('XLEN', $rejected), 0, '... which is no conflict';

is delivered('/any', $body), $again, 'on another location, too';
is delivered('/apple', apple_body($apple, type => $_)), $taken, "a $_"
    for qw(REFUND_REVERSED REFUND_DECLINED REVOKE CONSUMPTION_REQUEST);
is delivered('/apple', apple_body($apple, type => 'TEST',
                                  transaction => undef)), $taken, 'a TEST';
is delivered('/apple', apple_body($apple, type => 'BRAND_NEW')), $taken,
   'a type that does not exist yet';
is delivered('/apple', apple_body($apple, padding => 'x' x 200_000)), $taken,
   'a large one';

# --- environments

my %sandbox = (environment => 'Sandbox', appAppleId => undef, uuid => $uuid,
               transaction => { environment => 'Sandbox' });

is delivered('/apple', apple_body($apple, %sandbox)),
   '403 foreign inbox+0 rejected+0', 'Sandbox at Production';
is delivered('/sandbox', apple_body($apple)),
   '403 foreign inbox+0 rejected+0', 'Production at Sandbox';
is delivered('/sandbox', apple_body($apple, %sandbox)), $taken,
   'Sandbox at Sandbox; the UUID is another there';
is delivered('/any', apple_body($apple, %sandbox)), $again, 'Sandbox at any';
is delivered('/any', apple_body($apple)), $taken, 'Production at any';

# --- turned away: nothing is stored

my $away = 'inbox+0 rejected+0';

is delivered('/apple', '{}'), "400 malformed $away", 'no notification';
is delivered('/apple', "$body x"), "400 malformed $away", 'no JSON';
is delivered('/apple', apple_body($other)), "401 unsigned $away",
   'signed by another PKI';
is delivered('/apple', $body =~ s/"\}$/A"}/r), "401 unsigned $away",
   'a signature that is too long';
is delivered('/apple', apple_body($apple, date => 1000 * (time + 900))),
   "401 unsigned $away", 'signed in the future';
is delivered('/apple', apple_body($apple, uuid => undef)),
   "401 unsigned $away", 'nothing to know it by';
is delivered('/apple', apple_body($apple, bundleId => 'com.example.other')),
   "403 foreign $away", 'another app';
is delivered('/apple', apple_body($apple, appAppleId => 7)),
   "403 foreign $away", 'another app id';

# --- authentic, and of no use

is delivered('/apple', apple_body($apple, uuid => 'no-transaction',
                                  transaction => undef)),
   '200 processed=0 inbox+0 rejected+1', 'a refund of nothing';

my ($kept) = reverse $redis->entries($rejected);
is $kept->{source}, 'apple', 'it is kept: its source';
is $kept->{id}, 'no-transaction', '... its id';
like $kept->{reason}, qr/signedTransactionInfo is missing/, '... and why';

is delivered('/apple', apple_body($apple,
             transaction => apple_transaction($other))),
   '200 processed=0 inbox+0 rejected+1', 'a transaction by another PKI';
is delivered('/any', apple_body($apple, transaction => undef)),
   '200 processed=0 inbox+0 rejected+0', 'without a quarantine: only the log';

# --- what is said of it

my @lines = split /\n/, read_file("$nginx->{dir}/logs.txt");
is $lines[0], '/apple accepted ' . lc($uuid) . ' 1', 'the log: accepted';
is $lines[2], '/apple duplicate ' . lc($uuid) . ' 1', '... duplicate';
ok +(grep { /^\/apple unusable no-transaction/ } @lines), '... unusable';
ok +(grep { /^\/apple foreign / } @lines), '... foreign';

my $labels = 'server="",location="/apple"';
is metric("coupon_callback_requests_total{$labels,result=\"unusable\"}"), 2,
   'the metrics: unusable';
is metric("coupon_callback_requests_total{$labels,result=\"foreign\"}"), 3,
   '... foreign';

# --- the root changes, without a reload

# At once: half of a file would be another bad one.
sub replace
{
    write_file("$root.new", $_[0]);
    rename "$root.new", $root or die $!;
}

replace(read_file($other->{root}));
ok +(wait_for { delivered('/apple', apple_body($other)) eq $taken }),
   'another root is taken up';
is delivered('/apple', apple_body($apple)), "401 unsigned $away",
   '... and the old one is not pinned any more, remembered chain or not';

my $errors = "coupon_callback_file_errors_total{$labels}";
is metric($errors), 0, 'no bad file so far';

replace("-----BEGIN CERTIFICATE-----\nnonsense\n");
ok +(wait_for { metric($errors) == 1 }), 'a bad file is counted';
is delivered('/apple', apple_body($other)), $taken, '... and the old root kept';
like read_file($nginx->{error_log}),
     qr/\[error\] .* cannot use "\Q$root\E": it holds no CA certificate/,
     '... and logged';

unlink $root;
ok +(wait_for { metric($errors) == 2 }), 'a file that is gone is counted';
is delivered('/apple', apple_body($other)), $taken, '... and the old root kept';

replace(read_file($apple->{root}));
ok +(wait_for { delivered('/apple', apple_body($apple)) eq $taken }),
   'a good file is taken up again';

# --- Redis away

$redis->kill9;
is post($nginx, '/apple', apple_body($apple))->{status}, 503, 'Redis is away';
$redis->restart;
ok +(wait_for { delivered('/apple', apple_body($apple)) eq $taken }),
   '... and back';

done_testing;
