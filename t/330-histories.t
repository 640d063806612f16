#!/usr/bin/perl

# Histories chosen by chance, through all of the system: what happens to some
# hundred coupons is packed into callbacks, and these are delivered in any order,
# at the same time, several times, mixed with forgeries and with other bodies
# under known ids; Redis forgets some ids, a person resolves some doubts.  The
# ledger must be what a model of a few lines says, given the order of the inbox,
# and whatever happened, no coupon is paid twice.
#
#   COUPON_SEED=42 prove t/330-histories.t

use strict;
use warnings;

use lib 't/lib';
use CouponLoad;
use CouponTest;
use List::Util 'shuffle';
use Test::More;

use constant {
    COUPONS => 300,
    WAVES   => 6,
};

my $seed = $ENV{COUPON_SEED} // time;
my $secret = 'histories';
my $inbox = '{coupons}:inbox';

diag("COUPON_SEED=$seed");
srand $seed;

my $redis = start_redis();
my $config = settle_config(redis => $redis);
my $nginx = start_nginx(workers => 2, server => <<"END");
        access_log off;
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port};
            coupon_callback_secret $secret;
        }
END


# --- the model: DESIGN's table; A is an open coupon, R a recalculation, F a
#     final; amounts in cents

my %coupons;
my %settled;                    # batch id => the body that was settled
my $rejected = 0;               # other bodies that came to the daemon
my %kind = (1 => 'A', 5 => 'A', 15 => 'R', 2 => 'F', 3 => 'F', 4 => 'F');

my %callback = (
    active        => { A => [], R => ['generation', 'doubt'], F => ['credit'] },
    final         => { A => ['doubt'], R => ['generation'], F => ['compare'] },
    recalculating => { A => [], R => [], F => ['credit'] },
);

my %authority = (
    active        => { A => [], R => ['generation'], F => ['credit', 'confirm'] },
    final         => { A => ['doubt'], R => ['generation'], F => ['adopt'] },
    recalculating => { A => [], R => [], F => ['credit', 'confirm'] },
);

my %does = (
    doubt      => sub { $_[0]{doubt} = 1 },
    confirm    => sub { $_[0]{confirmed} = 1 },
    generation => \&generation,
    credit     => \&credit,
    compare    => sub { $_[0]{doubt} = 1 if $_[0]{paid} != $_[1] },
    adopt      => \&adopt,
);


sub pay
{
    my ($c, $kind, $cents) = @_;

    push @{ $c->{operations} }, [$c->{generation}, $kind, $cents];
    $c->{paid} += $cents;
}


sub generation
{
    my ($c) = @_;

    $c->{generation}++;
    pay($c, 'recalculation_debit', -$c->{paid}) if $c->{state} eq 'final';
    $c->{state} = 'recalculating';
    $c->{confirmed} = 0;
}


sub credit
{
    my ($c, $cents) = @_;

    pay($c, 'final_credit', $cents);
    $c->{state} = 'final';
}


sub adopt
{
    my ($c, $cents) = @_;

    if ($c->{paid} != $cents) {
        generation($c);
        credit($c, $cents);
    }
    $c->{confirmed} = 1;
}


sub see
{
    my ($code, $status, $cents, $table) = @_;
    my $c = $coupons{$code} //= { state => 'active', generation => 0, paid => 0,
                                  doubt => 0, confirmed => 0,
                                  operations => [], bets => {} };

    return if $c->{doubt} && $table == \%callback;
    $c->{doubt} = 0;
    $does{$_}->($c, $cents) for @{ $table->{ $c->{state} }{ $kind{$status} } };
}


# An entry of the inbox; the model knows what was packed into each body.
my %packed;                     # body => [[code, status, cents, { bets }], ...]

sub settle_model
{
    my ($id, $body) = @_;

    if (exists $settled{$id}) {
        $rejected++ if $settled{$id} ne $body;
        return;
    }

    $settled{$id} = $body;
    for my $seen (@{ $packed{$body} }) {
        my ($code, $status, $cents, $bets) = @$seen;
        see($code, $status, $cents, \%callback);
        $coupons{$code}{bets}{$_} = $bets->{$_} for keys %$bets;
    }
}


# --- the histories

my %stories;                    # coupon => what is going to happen to it


# A coupon is open for a while, is settled, perhaps recalculated; sometimes the
# provider is wrong.
sub story
{
    my ($code) = @_;
    my @story = map { [$code, 1] } 1 .. rand 3;

    for my $round (0 .. rand 3) {
        push @story, [$code, 15], map { [$code, (5, 15)[rand 2]] } 1 .. rand 2
            if $round;
        my $cents = int rand 100_000;
        push @story, map { [$code, 2 + $round % 3, $cents] } 0 .. rand 2;
        push @story, [$code, 2, $cents + 1] if rand() < 0.05;
        push @story, [$code, 1] if rand() < 0.05;
    }

    return \@story;
}


# The same amount, written in one way or another.
sub amount
{
    my ($cents) = @_;
    my $plain = sprintf '%d.%02d', $cents / 100, $cents % 100;

    return ($plain, qq("$plain"), "${cents}e-2", "${plain}0")[rand 4];
}


my $number = 0;

sub pack_batch
{
    my ($id, @snapshots) = @_;
    my (@coupons, @seen);

    for my $snapshot (@snapshots) {
        my ($code, $status, $cents) = @$snapshot;
        my %bets = map { ("$code-" . int rand 4) => $status } 0 .. rand 3;
        push @seen, [$code, $status, $cents, \%bets];
        push @coupons, { code => $code, status => $status, events => \%bets,
                         real_win => defined $cents ? amount($cents) : undef };
    }

    my $body = callback($id, @coupons);
    $packed{$body} = \@seen;
    return [$id, $body];
}


# As many callbacks as it takes to tell a part of the stories.
sub pack_some
{
    my ($part) = @_;
    my @left = grep { @{ $stories{$_} } } keys %stories;
    my $total = 0;
    my @batches;

    $total += @{ $stories{$_} } for @left;
    for (my $told = 0; $told < $total * $part && @left; ) {
        my @chosen = map { $left[rand @left] } 0 .. rand 12;
        my @snapshots = map { shift @{ $stories{$_} } // () } @chosen;
        $told += @snapshots;
        push @batches, pack_batch('batch-' . ++$number, @snapshots) if @snapshots;
        @left = grep { @{ $stories{$_} } } @left;
    }

    return @batches;
}


# --- the waves

$stories{ sprintf '%012d', $_ } = story(sprintf '%012d', $_) for 1 .. COUPONS;

my @known;                      # every batch that was ever delivered


sub wave
{
    my ($part) = @_;
    my @fresh = pack_some($part);
    my @again = map { (@known, @fresh)[rand @known + @fresh] } 1 .. @fresh;

    # Redis forgets what it had seen of some of them
    my @forgotten = @known ? map { $known[rand @known] } 1 .. 20 : ();
    $redis->cmd('DEL', "{coupons}:seen:sportapi:$_->[0]") for @forgotten;

    my @others = map { pack_batch($_->[0], ['other', 2, 1 + int rand 100]) }
                     grep { defined } @fresh[0 .. 4], @forgotten[0 .. 4];
    my @queue = (shuffle(@fresh, @again, @others));

    my $load = CouponLoad->new(nginx => [$nginx], secret => $secret, width => 24,
                               next => sub { @{ shift @queue // [] } });
    ok($load->run(sub { 0 }), @fresh + @again + @others . ' deliveries');
    is_deeply([keys %{ $load->{statuses} }], [200], '... all answered 200');

    my $forged = pack_batch('forged', ['000000000001', 2, 99_999_999]);
    is(post($nginx, '/cb', $forged->[1], secret => 'guess')->{status}, 401,
       '... but for a forged one');

    my @entries = $redis->entries($inbox);
    my %offered = map { $_->[1] => 1 } @fresh, @again, @others;
    is_deeply([grep { !$offered{ $_->{body} } } @entries], [],
              '... nothing else is in the inbox');
    my %ids;
    is_deeply([grep { $ids{ $_->{id} }++ } @entries], [], '... no id twice');
    is_deeply([grep { !$ids{ $_->[0] } } @fresh], [], '... no new one is missing');

    push @known, @fresh;
    settle_model($_->{id}, $_->{body}) for @entries;

    my $settle = start_settle(config => $config);
    ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, '... and it is settled');
    is($settle->stop, 0, '... by the daemon');
    unlike($settle->log_text, qr/level=error(?!.*reason=conflict)/,
           '... without an error but a conflict');
}


# A person looks at some of the doubts.
sub resolve
{
    my @doubts = shuffle(grep { $coupons{$_}{doubt} } keys %coupons);

    for my $code (grep { defined } @doubts[0 .. 14]) {
        my $status = (1, 15, 2, 3)[rand 4];
        my $cents = (int rand 100_000, $coupons{$code}{paid})[rand 2];

        settle_command($config, 'resolve', $code, '--status', $status,
            $kind{$status} eq 'F' ? ('--real-win', $cents / 100) : ());
        see($code, $status, $cents, \%authority);
    }
}


# --- the comparison

sub cents
{
    my ($text) = @_;
    my ($sign, $units, $cents) = $text =~ /^(-?)(\d+)(?:\.(\d\d?)0*)?$/
        or return "not money: $text";

    return "$sign$units" . substr(($cents // '') . '00', 0, 2) + 0;
}


sub in_ledger
{
    my %found = map { $_->[0] => { state => $_->[1], generation => $_->[2],
        doubt => $_->[3], confirmed => $_->[4], paid => 0, operations => [],
        bets => {} } } ledger($config, 'SELECT coupon_code, state,
        settlement_generation, CASE WHEN doubt IS NULL THEN 0 ELSE 1 END,
        CASE WHEN confirmed_at IS NULL THEN 0 ELSE 1 END FROM coupons');

    for (ledger($config, 'SELECT coupon_code, settlement_generation, kind, amount
             FROM coupon_operations ORDER BY settlement_generation, kind DESC')) {
        my ($code, $generation, $kind, $amount) = @$_;
        push @{ $found{$code}{operations} }, [$generation, $kind, cents($amount)];
        $found{$code}{paid} += cents($amount);
    }

    $found{ $_->[0] }{bets}{ $_->[1] } = $_->[2]
        for ledger($config, 'SELECT coupon_code, uuid, status FROM coupon_events');
    return \%found;
}


sub compare
{
    my ($when) = @_;
    my $found = in_ledger();

    is_deeply($found, \%coupons, "$when: the ledger is what the model says")
        or diag "COUPON_SEED=$seed";
    is((ledger($config, 'SELECT count(*) FROM coupon_callback_batches'))[0][0],
       keys %settled, '... as many batches');
    is((ledger($config, "SELECT count(*) FROM rejected
                         WHERE reason = 'conflict'"))[0][0], $rejected,
       '... as many conflicts');

    # said once more without the model
    is_deeply([ledger($config, "SELECT count(*) FROM (SELECT 1
        FROM coupon_operations GROUP BY coupon_code, settlement_generation, kind
        HAVING count(*) > 1) AS twice")], [[0]],
        '... a generation has one operation of a kind at most');
    is_deeply([ledger($config, "SELECT count(*) FROM coupon_operations
        WHERE operation_key != coupon_code || ':' || settlement_generation || ':'
                               || kind")], [[0]], '... their keys say which');

    my @twice;
    for my $code (keys %$found) {
        my ($c, $last) = ($found->{$code}, 0);
        $last = $_->[1] eq 'final_credit' ? $_->[2] : 0 for @{ $c->{operations} };
        push @twice, $code if $c->{paid} != $last
            || ($c->{state} ne 'final' && $c->{paid});
    }
    is_deeply(\@twice, [], '... and nobody is paid more than the last credit');
}


for my $wave (1 .. WAVES) {
    wave($wave == WAVES ? 1 : 1 / (WAVES - $wave + 1));
    compare("wave $wave");
    resolve();
    compare("wave $wave, resolved");
}

my ($doubts, $operations, $again) = (0, 0, 0);

for my $c (values %coupons) {
    $doubts += $c->{doubt};
    $operations += @{ $c->{operations} };
    $again++ if $c->{generation};
}

cmp_ok($operations, '>', COUPONS, 'money has moved');
cmp_ok($again, '>', COUPONS / 10, '... in more than one generation');
cmp_ok($doubts, '>', 0, '... and some doubts are left');
cmp_ok($rejected, '>', 0, '... and some conflicts came to the daemon');
diag(sprintf '%d callbacks, %d operations, %d coupons recalculated, %d in doubt',
     $number, $operations, $again, $doubts);

done_testing;
