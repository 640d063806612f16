#!/usr/bin/perl

# Whatever becomes of the callbacks, the ledger ends at the API's truth: some
# thousand histories in one process, with a provider in memory and a clock that
# the test moves (t/truth).  The programs there speak TAP, which is only counted.
#
# COUPON_SEED repeats a run, TRUTH_HISTORIES says how many.

use strict;
use warnings;

use Test::More;
use FindBin;

my $build = $ENV{COUPON_BUILD} || "$FindBin::Bin/../build";
my $seed = $ENV{COUPON_SEED} // time;
my $histories = $ENV{TRUTH_HISTORIES} // 2000;

diag("COUPON_SEED=$seed");

# each round takes and frees some 200 KB: without this the C library would give
# them back to the kernel each time, and that is nine tenths of the time
$ENV{MALLOC_TRIM_THRESHOLD_} = 64 << 20;

sub program
{
    my ($command) = @_;
    my @lines = `CC_SEED=$seed '$build/t/truth/'$command`;
    my $status = $?;

    is $status, 0, "$command: exit status";
    is((grep { /^not ok/ } @lines), 0, '... nothing failed');
    like $lines[-1] // '', qr/^1\.\.\d+$/, '... all of it was run';
    diag @lines if $status;
    return @lines;
}


program('overtaken_test');
ok((grep { /^ok \d+ - $histories of $histories histories/ }
    program("truth_test $histories")), "$histories histories");

done_testing;
