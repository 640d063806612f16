#!/usr/bin/perl

# One contract, both stores: t/settle/store_test.c on SQLite and on PostgreSQL,
# there as a role that owns nothing but its schema.

use strict;
use warnings;

use lib 't/lib';
use CouponPostgres;
use CouponTest;
use Test::More;

my $program = ($ENV{COUPON_BUILD} || 'build') . '/t/settle/store_test';

# the test makes deadlocks on purpose, and waits for each
my $postgres = start_postgres(deadlock_timeout => '20ms');


sub contract
{
    my ($url) = @_;
    my @lines = `'$program' '$url' 2>&1`;
    my $status = $?;
    my $passed = grep { /^ok\b/ } @lines;
    my ($plan) = map { /^1\.\.(\d+)/ ? $1 : () } @lines;

    is($status, 0, 'exit status');
    cmp_ok($passed, '>', 90, 'tests have passed');
    is($passed, $plan, '... all of them');
    diag grep { !/^ok\b/ } @lines if $status || $passed != ($plan // -1);
    note grep { /^#/ } @lines;
}


for my $url ('sqlite:' . workdir() . '/contract.db', $postgres->url) {
    subtest $url =~ s/:.*//r => sub { contract($url) };
}

done_testing;
