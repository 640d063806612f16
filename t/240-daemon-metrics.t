#!/usr/bin/perl

# The numbers of coupon-settle's page of metrics: what was settled, repeated,
# rejected and held, what waits, and what the API was asked.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponMetrics;
use CouponStores;
use CouponTest;
use Test::More;

my $inbox = '{coupons}:inbox';
my $redis = start_redis();
my $port = free_port();
my $number = 0;
my %sample;


# The page, which has to be in order.  It waits for a part only a second: looked
# at again where the machine took longer.
sub scrape
{
    my (%parts) = (redis => 1, store => 1, @_);
    my ($answer, $sample, @wrong);

    wait_for {
        $answer = get($port, '/metrics');
        ($sample, @wrong) = metrics_parse($answer->{body});
        !grep { $sample->{"coupon_settle_up{part=\"$_\"}"} != $parts{$_} }
              keys %parts;
    };

    is_deeply(\@wrong, [], 'the text is well-formed') or diag $answer->{body};
    %sample = %$sample;
    return;
}


# One sample, by its name behind coupon_settle_; undef if it is not there, and is
# not only left out for a moment.
sub now_is
{
    my ($name) = @_;

    my $value;

    wait_for {
        my ($sample) = metrics_parse(get($port, '/metrics')->{body});
        defined($value = $sample->{"coupon_settle_$name"});
    } 3;
    return $value;
}


# The samples of the page that was scraped last.
sub are
{
    my (%expected) = @_;

    is($sample{"coupon_settle_$_"}, $expected{$_}, $_) for sort keys %expected;
    return;
}


sub batch
{
    return callback('batch-' . ++$number, @_);
}


sub add
{
    return inbox_add($redis, $_[0], @_[1 .. $#_]);
}


sub left
{
    my ($n) = @_;

    return wait_for { $redis->cmd('XLEN', $inbox) == $n };
}


# --- before there is a store

my $config = settle_config(redis => $redis,
                           metrics => { listen => "127.0.0.1:$port" });
write_file($config, read_file($config)
           =~ s/\[redis\]/[redis]\nconsumer = here\nclaim_after = 1s/r
           =~ s/\[store\]/[store]\nmigrate = no/r);

my $other = "o\"t\\h\xe4\nr";
$redis->cmd('XGROUP', 'CREATE', $inbox, 'settle', '0', 'MKSTREAM');
add(batch({ code => 'c1', status => 2, real_win => '1.5' },
          { code => 'c2', status => 1 }));
$redis->cmd('XREADGROUP', 'GROUP', 'settle', $other, 'COUNT', 1,
            'STREAMS', $inbox, '>');
my ($first) = map { $_->{body} } $redis->entries($inbox);
add($first);
add(batch({ code => 'c1', status => 15 }));
$redis->cmd('XADD', '{coupons}:rejected', '*', 'x', $_) for 1, 2;

my $settle = start_settle(config => $config);
my $label = 'consumer_pending{consumer="o\\"t\\\\h\\\\xe4\\\\x0ar"}';

ok(wait_for { (now_is('inbox_oldest_seconds') // 0) > 0.3 }, 'something waits');
scrape(store => 0);
are('up{part="redis"}' => 1, 'up{part="store"}' => 0, ready => 0,
    inbox_undelivered => 2, inbox_pending => 1, consumers => 1, $label => 1,
    'quarantined{in="stream"}' => 2, 'quarantined{in="table"}' => undef,
    doubts_open => undef, 'batches_total{result="settled"}' => 0,
    poll_success_timestamp_seconds => undef, commit_seconds_count => 0);
cmp_ok($sample{coupon_settle_inbox_oldest_seconds}, '<', 60, 'its age');
cmp_ok($sample{'coupon_settle_retries_total{cause="store"}'}, '>', 0,
       'the store is tried again');
my ($version) = (settle_command(undef, '--version'))[1] =~ /([\d.]+)$/m;
is($sample{"coupon_settle_build_info{version=\"$version\"}"}, 1, 'the version');
cmp_ok(abs($sample{coupon_settle_start_time_seconds} - time), '<', 60,
       'the time of the start');

is((settle_command($config, 'migrate'))[0], 0, 'migrate');
ok(left(0), 'everything is settled');
scrape();
are('up{part="store"}' => 1, ready => 1, inbox_undelivered => 0,
    inbox_pending => 0, inbox_oldest_seconds => '0.000', $label => 0,
    'consumer_pending{consumer="here"}' => 0, consumers => 2,
    inbox_claimed_total => 1, inbox_lost_total => 0, coupons_total => 3,
    'batches_total{result="settled"}' => 2,
    'batches_total{result="repeated"}' => 1,
    'operations_total{kind="final_credit"}' => 1,
    'operations_total{kind="recalculation_debit"}' => 1,
    'quarantined{in="table"}' => 0, doubts_open => 0);
cmp_ok($sample{coupon_settle_commit_seconds_count}, '>', 0, 'commits');
cmp_ok($sample{coupon_settle_commit_seconds_sum}, '<', 60, '... in seconds');


# --- what is rejected, and why; a group is settled together

ledger_write($config, "INSERT INTO coupons (coupon_code, status, state,
    settlement_generation, version, raw) VALUES ('bad', 2, 'final', 0, 1, '{}')");
add($first =~ s/"status":1,/"status":3,/r);
add(batch({ code => 'c0', status => 2, real_win => 1 },
          { code => 'bad', status => 2, real_win => 1 }));
add('{}', id => 'x', count => 1);
add(batch({ code => 'c3', status => 1 }), count => 2);
add(batch({ code => 'c4', status => 1 }), body => undef);
add(batch({ code => 'c5', status => 1 }), source => 'nobody');
add('{}', source => 'apple', id => 'x', count => 1);
add(batch({ code => 'c6', status => 1 }));
ok(left(0), 'what is bad, and one good batch');
scrape();
are('batches_total{result="settled"}' => 3, coupons_total => 4,
    (map { ("rejected_total{reason=\"$_\"}" => 1) }
         qw(conflict mismatch entry source)),
    'rejected_total{reason="body"}' => 2, 'rejected_total{reason="store"}' => 1,
    'operations_total{kind="final_credit"}' => 1,
    'quarantined{in="table"}' => 7);


# --- a backlog of short callbacks: hundreds share a transaction

my $backlog = 1200;
my $commits = now_is('commit_seconds_count');
$settle->pause;
add(batch({ code => "b$_", status => 1 })) for 1 .. $backlog;
$settle->resume;
ok(left(0), 'a backlog');
cmp_ok(now_is('commit_seconds_count') - $commits, '<=', 8,
       '... in a few transactions');
is(now_is('batches_total{result="settled"}'), 3 + $backlog, '... each batch');
scrape();


# --- doubts, and refunds

add(batch({ code => 'c7', status => 2, real_win => 5 }));
add(batch({ code => 'c7', status => 3, real_win => 7 }));
add(batch({ code => 'c7', status => 2, real_win => 8 }));
ok(left(0), 'callbacks that contradict each other');
scrape();
are('doubts_total{change="opened"}' => 1, 'doubts_total{change="cleared"}' => 0,
    doubts_open => 1);
is((settle_command($config, 'resolve', 'c7', '--status', 2, '--real-win', 7))[0],
   0, 'resolved by hand');
is(now_is('doubts_open'), 0, '... there is none');

my $apple = apple_pki();
my %note = (date => int(1000 * time) - 3600_000, uuid => 'a-1');
my $refund = apple_body($apple, type => 'REFUND', %note);
my $question = apple_body($apple, type => 'CONSUMPTION_REQUEST', %note,
                          uuid => 'a-2');
add($refund, source => 'apple', id => 'a-1', count => 1) for 1, 2;
add($question, source => 'apple', id => 'a-2', count => 1);
ok(left(0), 'a refund, again, and a question');
scrape();
are('notifications_total{result="settled"}' => 2,
    'notifications_total{result="repeated"}' => 1,
    'store_operations_total{kind="revoke_access"}' => 1,
    'store_operations_total{kind="restore_access"}' => 0,
    store_requests_open => 1);
cmp_ok(abs($sample{coupon_settle_store_deadline_timestamp_seconds} - time
           - 11 * 3600), '<', 600, 'the question has a deadline');


# --- a wallet that holds batches

ledger_write($config, on_postgres() ? <<'END' : <<'END2');
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF new.coupon_code LIKE 'held%' THEN RAISE EXCEPTION 'not now'; END IF;
        RETURN new; END $$;
    CREATE TRIGGER hold BEFORE INSERT ON coupon_operations FOR EACH ROW
        EXECUTE FUNCTION hold();
END
    CREATE TRIGGER hold BEFORE INSERT ON coupon_operations
    WHEN new.coupon_code LIKE 'held%' BEGIN SELECT RAISE(ABORT, 'not now'); END;
END2
add(batch({ code => "held$_", status => 2, real_win => 1 })) for 1, 2;
add(batch({ code => 'c8', status => 2, real_win => 1 }));
ok(left(2), 'two batches are held, one is not');
ok(wait_for { now_is('retries_total{cause="wallet"}') > 1 }, 'tried again');
scrape();
are(inbox_pending => 2, inbox_undelivered => 0, ready => 1,
    'consumer_pending{consumer="here"}' => 2,
    'batches_total{result="settled"}' => 7 + $backlog,
    'operations_total{kind="final_credit"}' => 3);
cmp_ok($sample{coupon_settle_inbox_oldest_seconds}, '>', 0, 'they have an age');

my $id = add(batch({ code => 'held3', status => 2, real_win => 1 }));
ok(wait_for { now_is('inbox_pending') == 3 }, 'a third one is held');
$redis->cmd('XDEL', $inbox, $id);
ok(wait_for { now_is('inbox_lost_total') == 1 }, '... and deleted: it is lost');

ledger_write($config, 'DROP TRIGGER hold'
                      . (on_postgres() ? ' ON coupon_operations' : ''));
ok(left(0), '... until the wallet lets them through');
scrape();
are('batches_total{result="settled"}' => 9 + $backlog, inbox_pending => 0);
is($settle->stop, 0, 'stopped');


# --- the API

my $api = start_api();
$config = settle_config(redis => $redis,
                        metrics => { listen => "127.0.0.1:$port" },
                        api_config($api, interval => '1s', window => '2s',
                                   confirm_after => '1s'));
$api->fault('503/0');
$api->coupon('c1', status => 2, real_win => 3, calculated => $api->now);
$settle = start_settle(config => $config);
ok(wait_for { (now_is('poll_success_timestamp_seconds') // 0) > time - 60
              && now_is('coupons_total') > 0 }, 'a round of polling');
scrape();
are(poll_recovering => 0, 'api_requests_total{outcome="failed"}' => 1,
    'retries_total{cause="api"}' => 1,
    'operations_total{kind="final_credit"}' => 1);
cmp_ok($sample{'coupon_settle_api_requests_total{outcome="ok"}'}, '>', 0,
       'requests that were answered');
add(batch({ code => 'c1', status => 2, real_win => 4 }));
ok(wait_for { now_is('doubts_total{change="cleared"}') == 1 },
   'a doubt is opened, and cleared by the API');
scrape();
are('doubts_total{change="opened"}' => 1, doubts_open => 0);

$api->fault('nameless');
$api->coupon('c2', status => 2, real_win => 4, calculated => $api->now);
ok(wait_for { now_is('api_malformed_total') }, 'a malformed coupon');
ok(wait_for { now_is('rejected_total{reason="coupon"}') == 1 }, '... put aside');

ledger_write($config, "INSERT INTO poll_marks VALUES ('gap_since', 1)");
is(now_is('poll_recovering'), 1, 'a recovery');
is(now_is('relay_waiting'), undef, 'nothing is relayed, and no line for it');
is($settle->stop, 0, 'stopped');


# --- the relay

$config = settle_config(redis => $redis,
                        operations => { stream => 'yes', max_length => 100 },
                        metrics => { listen => "127.0.0.1:$port" });
$settle = start_settle(config => $config);
add(batch(map { { code => "r$number-$_", status => 2, real_win => 1 } } 1 .. 60))
    for 1, 2;
ok(wait_for { (now_is('relayed_total') // 0) == 100 }, 'operations are relayed');
ok(wait_for { now_is('relay_waiting') == 20 }, '... and wait for room');
$redis->cmd('XTRIM', '{coupons}:operations', 'MAXLEN', 0);
ok(wait_for { now_is('relay_waiting') == 0 }, '... which there is');
scrape();
are(relayed_total => 120);
is($settle->stop, 0, 'stopped');

done_testing;
