#!/usr/bin/perl

# One contract, both stores: t/settle/store*_test.c on SQLite and on PostgreSQL,
# there as a role that owns nothing but its schema.

use strict;
use warnings;

use lib 't/lib';
use CouponPostgres;
use CouponTest;
use Test::More;

my $programs = ($ENV{COUPON_BUILD} || 'build') . '/t/settle';

# the test makes deadlocks on purpose, and waits for each
my $postgres = start_postgres(deadlock_timeout => '20ms');


sub contract
{
    my ($program, $least, $url) = @_;
    my @lines = `'$programs/$program' '$url' 2>&1`;
    my $status = $?;
    my $passed = grep { /^ok\b/ } @lines;
    my ($plan) = map { /^1\.\.(\d+)/ ? $1 : () } @lines;

    is($status, 0, "$program: exit status");
    cmp_ok($passed, '>=', $least, '... tests have passed');
    is($passed, $plan, '... all of them');
    diag grep { !/^ok\b/ } @lines if $status || $passed != ($plan // -1);
    note grep { /^#/ } @lines;
}


for my $store (qw(sqlite postgresql)) {
    my $url = $store eq 'sqlite'
              ? sub { 'sqlite:' . workdir() . "/$_[0].db" }
              : sub { $postgres->url($_[0]) };

    subtest $store => sub {
        contract('store_test', 80, $url->('contract'));
        contract('store_writers_test', 6, $url->('contract'));
        contract('store_outbox_test', 20, $url->('outbox'));
    };
}

done_testing;
