#!/usr/bin/perl

# Whatever becomes of the callbacks, the ledger ends at the API's truth: some
# thousand histories in one process, with a provider in memory and a clock that
# the test moves (t/truth).  Its lines are TAP; here they are only repeated.
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

my @lines = `CC_SEED=$seed '$build/t/truth_test' $histories`;
my $status = $?;

is $status, 0, 'exit status';
is((grep { /^not ok/ } @lines), 0, 'nothing failed');
like $lines[-1] // '', qr/^1\.\.\d\d/, 'all of it was run';
ok((grep { /^ok \d+ - $histories of $histories histories/ } @lines),
   "$histories histories");
diag @lines if $status;

done_testing;
