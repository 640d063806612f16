#!/usr/bin/perl

# Play's notifications over a Pub/Sub push through a real nginx into a real
# Redis: the token, the envelope, what is a repetition, and keys that rotate
# while nginx runs.  Every check of the provider is in t/unit.

use strict;
use warnings;

use CouponStores;
use CouponTest;
use JSON::PP 'decode_json';
use Test::More;

my $redis = start_redis();
my ($key, $next, $foreign) = map { google_key($_) } 'kid-1', 'kid-2', 'kid-1';
my $keys = workdir() . '/keys.json';
my $inbox = '{coupons}:inbox';
my $rejected = '{coupons}:rejected';

write_file($keys, jwks($key));

my $google = "coupon_callback_google audience=@{[ AUDIENCE ]} "
             . "email=@{[ EMAIL ]} keys=$keys";
my $nginx = start_nginx(
    workers => 2,
    http => 'log_format coupons "$uri $coupon_callback_result '
            . '$coupon_callback_id $coupon_callback_count";',
    server => <<"END");
    access_log logs.txt coupons;
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_dedup_window 35d;
    location = /google {
        coupon_callback google;
        $google subscription=@{[ SUBSCRIPTION ]} package=@{[ PACKAGE ]};
    }
    location = /open {
        coupon_callback google;
        $google;
    }
    location = /bare {
        coupon_callback google;
        $google mode=unwrapped subscription=@{[ SUBSCRIPTION ]}
                package=@{[ PACKAGE ]};
    }
    location = /bare-open {
        coupon_callback google;
        $google mode=unwrapped;
    }
    location = /metrics { coupon_callback_metrics; }
END

my $token = google_token($key);


# The answer's status and code, and how much came into inbox and quarantine.
sub delivered
{
    my ($body, %options) = @_;
    my $line = exists $options{authorization} ? $options{authorization}
               : 'Bearer ' . ($options{token} // $token);
    my @before = map { $redis->cmd('XLEN', $_) } $inbox, $rejected;
    my $answer = post($nginx, $options{path} // '/google', $body,
                      headers => { Authorization => $line,
                                   %{ $options{lines} // {} } });
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
    my ($value) = get($nginx, '/metrics')->{body}
        =~ m{^coupon_callback_$name\{server="",location="/google"\} (\S+)$}m;

    return $value // 'none';
}


my $id = 1000;
my $taken = '200 processed=1 inbox+1 rejected+0';
my $again = '200 processed=1 inbox+0 rejected+0';
my $away = 'inbox+0 rejected+0';


sub fresh
{
    $id++;
    return google_body(id => "$id", @_);
}


# --- taken, once

my $voided = { voidedPurchaseNotification => { purchaseToken => 'token',
    orderId => 'GPA.1', productType => 2, refundType => 1 } };
my $body = google_body(id => '42', data => $voided);

is delivered($body), $taken, 'a voided purchase';

my ($entry) = $redis->entries($inbox);
is $entry->{source}, 'google', 'its source';
is $entry->{id}, '42', 'its id is the messageId';
is $entry->{body}, $body, 'its body';

my $seen = '{coupons}:seen:google:' . SUBSCRIPTION . ':42';
ok $redis->cmd('PTTL', $seen) > 34 * 86400 * 1000, 'it is remembered';

is delivered($body), $again, 'the same again';
is delivered(google_body(id => '42', data => $voided,
                         more => { deliveryAttempt => 2 })), $again,
   'the next attempt: other bytes, the same message';
is delivered(google_body(id => '43', data => $voided)), $taken,
   'the same purchase in another message';
is delivered(fresh()), $taken, 'a test notification';
is delivered(fresh(data => { brandNewNotification => {} })), $taken,
   'a kind that does not exist yet';
is delivered(fresh(), authorization => "bearer $token"), $taken,
   'the scheme in lower case';
is delivered(fresh(data => { testNotification => { x => 'x' x 150_000 } })),
   $taken, 'a large one';

my $elsewhere = 'projects/p/subscriptions/elsewhere';
is delivered(google_body(id => '42', subscription => $elsewhere),
             path => '/open'), $taken,
   'another subscription, where any is taken: its ids are others';

# --- who calls

my %wrong = (
    'no token'           => { authorization => undef },
    'another scheme'     => { authorization => "Basic $token" },
    'two tokens'         => { authorization => "Bearer $token, $token" },
    'no JWT'             => { token => 'ya29.opaque' },
    'a foreign key'      => { token => google_token($foreign) },
    'another audience'   => { token => google_token($key, aud => 'x') },
    'another account'    => { token => google_token($key, email => 'a@b.c') },
    'no account'         => { token => google_token($key, email => undef) },
    'an unverified one'  => { token => google_token($key,
                                   email_verified => JSON::PP::false) },
    'another issuer'     => { token => google_token($key, iss => 'x') },
    'an expired token'   => { token => google_token($key,
                                                    exp => time - 400) },
    'a token from ahead' => { token => google_token($key,
                                                    iat => time + 400) },
);

is delivered(fresh(), %{ $wrong{$_} }), "401 unsigned $away", $_
    for sort keys %wrong;

# nginx itself says so, before it knows the location, and logs both of them
is post($nginx, '/google', fresh(), headers => { Authorization =>
    "one\r\nAuthorization: two" })->{status}, 400, 'two Authorization lines';

# --- the envelope

is delivered('[]'), '400 malformed inbox+0 rejected+1', 'no envelope';
is delivered(google_body()), '400 malformed inbox+0 rejected+1',
   'no messageId';
is delivered(fresh(subscription => $elsewhere)), "403 foreign $away",
   'another subscription';
is delivered(fresh(subscription => undef)), "403 foreign $away",
   'no subscription';

# --- what is in it, and of no use

is delivered(fresh(data => $_)), '200 processed=0 inbox+0 rejected+1',
   "data: $_" for 'e30=', 'bm9uc2Vuc2U=', 'e30', '*';
is delivered(fresh(data => { %$voided, packageName => 'com.other' })),
   '200 processed=0 inbox+0 rejected+1', 'another app on this topic';
is delivered(fresh(data => { %$voided, packageName => 'com.other' }),
             path => '/open'), $taken, '... where any is taken';

my ($kept) = reverse $redis->entries($rejected);
is $kept->{source}, 'google', 'it is kept: its source';
is $kept->{reason}, 'packageName is of another app', '... and why';

# --- unwrapped: the head names the message, the body is the notification

sub unwrapped
{
    my ($lines, %options) = @_;

    $lines = { google_lines(%$lines) } unless $options{raw};
    return delivered($options{body} // google_notification(data => $voided),
                     path => '/bare', %options, lines => $lines);
}


my $notification = google_notification(data => $voided);
is unwrapped({ id => 'u-1' }, body => $notification), $taken,
   'an unwrapped push';

my ($last) = reverse $redis->entries($inbox);
is $last->{id}, SUBSCRIPTION . ':u-1', 'its id has the subscription in it';
is $last->{body}, $notification, 'its body is the notification';
ok $redis->cmd('PTTL', '{coupons}:seen:google:' . SUBSCRIPTION . ':u-1') > 0,
   'it is remembered like a wrapped one';

is unwrapped({ id => 'u-1' }), $again, 'the same message again';
is delivered(google_body(id => 'u-1', data => $voided)), $again,
   '... wrapped, after the subscription was changed';
is unwrapped({ id => 'u-2' }), $taken, 'another message';
is unwrapped({ id => 'u-1', subscription => $elsewhere },
             path => '/bare-open'), $taken,
   'another subscription, where any is taken: its ids are others';
is unwrapped({ id => 'u-3' }, token => google_token($foreign)),
   "401 unsigned $away", 'an unwrapped push from anybody';

my $odd = '400 malformed inbox+0 rejected+1';
is unwrapped({}), $odd, 'no message id: without metadata it cannot be known';
is unwrapped({ subscription => undef, time => undef }), $odd,
   '... nor without any of it';
is unwrapped({ id => 'u-3', time => undef }), $odd, 'no publish time';
is unwrapped({ id => "u-3\r\nX-Goog-Pubsub-Message-Id: u-4" }), $odd,
   'two message ids';
is unwrapped({ id => 'u-3', time => "then\r\nx-goog-pubsub-publish-time: x" }),
   $odd, 'two publish times';
is unwrapped({ id => 'x' x 257 }), $odd, 'an id that is too long';
is unwrapped({ id => 'u:3' }), $odd, 'an id that could be another';
is unwrapped({ id => 'u-3', subscription => $_ }), "403 foreign $away",
   'a subscription: ' . ($_ // 'none')
    for undef, $elsewhere, SUBSCRIPTION . '2', "@{[ SUBSCRIPTION ]}\r\n"
        . "x-goog-pubsub-subscription-name: @{[ SUBSCRIPTION ]}";
is unwrapped({ id => 'u-5' }, body => $_),
   '200 processed=0 inbox+0 rejected+1', "unwrapped, and of no use: $_"
    for 'hello', '{}', '[]', google_body(id => 'u-5'),
        google_notification(data => { %$voided, packageName => 'com.other' });

($last) = reverse $redis->entries($rejected);
is $last->{id}, SUBSCRIPTION . ':u-5', 'it is kept with its id';

is delivered($notification, lines => { google_lines(id => 'u-6') }), $odd,
   'an unwrapped push where wrapped ones are taken';
is delivered(google_body(id => 'u-7'), path => '/bare'), $odd,
   'a wrapped one where unwrapped ones are';
is delivered(google_body(id => 'u-1'), lines => { google_lines(id => 'u-8') }),
   $again, 'the head of a wrapped push means nothing';

# --- one token on many messages, and no more work for them than one

my @many = post_all($nginx, map { ['/google', fresh(), headers =>
    { Authorization => "Bearer $token" }] } 1 .. 200);
is scalar(grep { $_->{status} == 200 } @many), 200,
   'one token on 200 messages at once';
my @same = post_all($nginx, (['/google', google_body(id => 'one'), headers =>
    { Authorization => "Bearer $token" }]) x 50);
is scalar(grep { $_->{status} == 200 } @same), 50, 'one message 50 times';
is scalar(grep { $_->{id} eq 'one' } $redis->entries($inbox)), 1,
   '... is stored once';

# --- keys rotate, without a reload

is delivered(fresh(), token => google_token($next)),
   "503 unavailable $away", 'an unknown key is put off, not turned away';

write_file("$keys.new", jwks($key, $next));
rename "$keys.new", $keys or die $!;
ok +(wait_for { delivered(fresh(), token => google_token($next)) eq $taken }),
   'the next key is taken up';
is delivered(fresh()), $taken, '... beside the old one';

write_file("$keys.new", jwks($next));
rename "$keys.new", $keys or die $!;
ok +(wait_for { delivered(fresh()) eq "503 unavailable $away" }),
   'a key that is rotated away is unknown';

for my $bad ('<html>', '{"keys":[]}', jwks({ kid => 'weak', n => 'AQAB' })) {
    my $before = metric('file_errors_total');
    write_file($keys, $bad);
    ok +(wait_for { metric('file_errors_total') > $before }),
       'a bad key file is counted: ' . substr $bad, 0, 20;
    is delivered(fresh(), token => google_token($next)), $taken,
       '... and the old keys kept';
}

# --- keys expire

write_file($keys, jwks($next, time + 3600));
ok +(wait_for { metric('keys_expire_seconds') > time + 3000
                && metric('keys_expire_seconds') < time + 4000 }),
   'the metrics say when the keys expire';
is metric('keys_expired'), 0, '... and that they have not';

write_file($keys, jwks($next, time - 5));
ok +(wait_for { metric('keys_expired') == 1 }), '... and that they have';
is delivered(fresh(), token => google_token($next)), $taken,
   'which costs no message';

# --- what the logs say, and do not say

my $log = read_file($nginx->{error_log});
unlike $log, qr/\Q$token\E|Bearer/, 'no token in the error log';
unlike $log, qr/purchaseToken|GPA\.1/, '... nor a purchase';
like read_file("$nginx->{dir}/logs.txt"), qr/^\/google accepted 42 1$/m,
     'the access log has the id';

done_testing;
