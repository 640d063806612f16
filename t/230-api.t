#!/usr/bin/perl

# The client of the provider's API: what it makes of each kind of answer, and
# what it says.  poll --once makes one request of a round, so that one fault is
# one outcome; the window must not move by a round that failed.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponProcess;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

my $api = start_api(token => 'secret-token-7f3a');
my $config = settle_config(url => 'redis://127.0.0.1:1/0',
                           api_config($api, timeout => '60s'));
my $polled = 'SELECT value FROM poll_marks WHERE name = \'polled_at\'';


# How long an answer is waited for.
sub patience
{
    my ($seconds) = @_;

    write_file($config, read_file($config)
               =~ s/^timeout = \K\d+/$seconds/mr);
}


# One round: (exit status, standard error).
sub poll_once
{
    my ($status, undef, $err) = settle_command($config, 'poll', '--once');

    unlike($err, qr/secret-token/, 'no token in the log');
    return ($status, $err);
}


sub operations
{
    return [map { join ' ', @$_ } ledger($config,
        'SELECT operation_key, amount FROM coupon_operations
         ORDER BY operation_key')];
}


# --- a good answer

$api->coupon('0007', status => 2, real_win => '12.50', calculated => $api->now,
             events => { 98123 => 2, '0a' => 3 });
$api->coupon('0008', status => 3, real_win => '"0.10"',
             calculated => $api->now);
$api->coupon('0009', status => 1);

my ($status, $err) = poll_once();
is($status, 0, 'a round');
like($err, qr/msg=polled minutes=10 coupons=2 operations=2/, '... says what');
is_deeply(operations(),
          ['0007:0:final_credit 12.50', '0008:0:final_credit 0.10'],
          'what is calculated is credited, zeros and all');
is_deeply([ledger($config, "SELECT uuid FROM coupon_events
                            WHERE coupon_code = '0007' ORDER BY uuid")],
          [['0a'], ['98123']], 'a bet is named by its id, as a string');
is_deeply([$api->requests], ['GET /api/partner/coupons/calculated?time=10'],
          'one request, of the configured window');

($status) = poll_once();
is($status, 0, 'the same again');
is(@{operations()}, 2, '... moves no money again');
is((ledger($config, 'SELECT count(*) FROM coupons
                     WHERE confirmed_at IS NOT NULL'))[0][0], 2,
   'both are confirmed');
$api->requests;


# --- each failure: a sentence, no money, and the window stays

$api->coupon('0010', status => 2, real_win => 5, calculated => $api->now);
my ($mark) = map { $_->[0] } ledger($config, $polled);

for my $case (
    ['401', qr/refuses the token \(HTTP 401\).*token/],
    ['403', qr/refuses the token \(HTTP 403\)/],
    ['500', qr/not available \(HTTP 500\)/],
    ['502', qr/not available \(HTTP 502\)/],
    ['503', qr/overloaded \(HTTP 503\)\n/],
    ['429/1', qr/overloaded \(HTTP 429\) and says when to come back/],
    ['404', qr/does not take the request \(HTTP 404\).*base_url/],
    ['elsewhere', qr/sends elsewhere \(HTTP 302\)/],
    ['code=1002', qr/error_code 1002: it is as it is/],
    ['code=471', qr/error_code 471/],
    ['code=7', qr/error_code 7: it is as it is/],
    ['echo', qr/error_code 9: \(no message\)/],
    ['html', qr/cannot be used: no JSON/],
    ['cut', qr/transfer closed|bytes (?:remaining|missing)/i],
    ['close', qr/Empty reply/],
    ['huge', qr/larger than 64 MB/],
    ['silent', qr/timed out/i],
    ['endless', qr/timed out/i],
    ['slow', qr/timed out/i],
) {
    my ($fault, $sentence) = @$case;
    my $before = time;

    patience($sentence =~ /timed out/ ? 2 : 60);
    $api->fault($fault);
    ($status, $err) = poll_once();
    is($status, 1, "$fault: exit status 1");
    like($err, $sentence, '... and a sentence');
    cmp_ok(time - $before, '<', 50, '... in time');
    is_deeply([$api->requests], ['GET /api/partner/coupons/calculated?time=10'],
              '... after one request');
}

patience(60);
is_deeply([ledger($config, $polled)], [[$mark]], 'the window has not moved');
is(@{operations()}, 2, 'no money has moved');

($status) = poll_once();
is($status, 0, 'then the API is back');
is(@{operations()}, 3, '... and nothing is missing');
cmp_ok((ledger($config, $polled))[0][0], '>', $mark, 'the window moves');


# --- one wrong coupon: the others are taken

$api->coupon('0011', status => 2, real_win => 5, calculated => $api->now);
$api->coupon('0012', status => '"2"', real_win => 5, calculated => $api->now);
($status, $err) = poll_once();
is($status, 0, 'a coupon without shape does not stop a round');
like($err, qr/level=error [^\n]*cannot be used" coupon=0012 reason="a coupon's status/,
     '... it is named');
like($err, qr/msg=polled [^\n]*malformed=1/, '... and counted');
is(@{operations()}, 4, '... and its neighbour is settled');
$api->coupon('0012', status => 2);
($status) = poll_once();
is(@{operations()}, 5, '... and so is it when it is right');


# --- the token is read again when its file changes

my $token = "$api->{dir}/token";

$api->{token} = 'secret-token-new';
$api->save;
($status, $err) = poll_once();
is($status, 1, 'an expired token');
like($err, qr/HTTP 401.*\Q$token\E/, '... and where a new one belongs');

write_file($token, "secret-token-new\n");
($status) = poll_once();
is($status, 0, 'the new one is taken');

for my $case (['', 'is empty'], ["\n", 'is empty'],
              ["a b\n", 'is no token'], ["a\r\nX-Evil: 1", 'is no token'],
              ['x' x 20000, 'is too long'])
{
    write_file($token, $case->[0]);
    $api->requests;
    ($status, $err) = poll_once();
    is($status, 1, "a token that $case->[1]");
    like($err, qr/token_file \Q$token\E: \Q$case->[1]\E/, '... is said');
    is_deeply([$api->requests], [], '... and nothing is asked');
}

unlink $token;
($status, $err) = poll_once();
like($err, qr/token_file .*No such file/, 'no token file');
write_file($token, "secret-token-new\n");


# --- commands that go on until they are asked to stop

for my $command ('poll', 'recover') {
    my $process = CouponProcess->new(
        name => $command, dir => workdir(), log => workdir() . "/$command",
        command => [($ENV{COUPON_BUILD} || 'build') . '/coupon-settle',
                    $command, '-c', $config]);

    # recover would end by itself: it is in the middle of a request
    $api->fault('silent') if $command eq 'recover';
    $api->requests;
    $process->start;
    ok((wait_for { $api->requests }), "$command asks the API");
    ok((wait_for { $process->log_text =~ /msg=polled/ }), '... and settles')
        if $command eq 'poll';
    is($process->stop, $command eq 'poll' ? 0 : 1, '... until SIGTERM');
    like($process->log_text, qr/the recovery is not finished: start it again/,
         '... and says that it is not done') if $command eq 'recover';
}


# --- check

my ($exit, $out) = settle_command($config, 'check');
like($out, qr{^ok     API http://127\.0\.0\.1:\d+, \d+ coupons in}m,
     'check asks the API');
$api->fault('401');
($exit, $out) = settle_command($config, 'check');
is($exit, 1, 'check with a wrong token');
like($out, qr/^wrong  API .*: the API refuses the token/m, '... says so');
$api->stop;
($exit, $out) = settle_command($config, 'check');
like($out, qr/^wrong  API .*: .*(?:refused|connect)/mi, 'no API at all');

done_testing;
