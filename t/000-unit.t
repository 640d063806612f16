# Runs the unit tests, plain C programs that speak TAP themselves: every
# t/unit/NAME.c, of the core, that was built to build/t/NAME, and of the daemon
# those of t/settle that need no server (the others are in t/220 and t/227).

use strict;
use warnings;

use Test::More;
use FindBin;

my $root  = "$FindBin::Bin/..";
my $build = $ENV{COUPON_BUILD} || "$root/build";
my @names = sort map { m{([^/]+)\.c$} } glob "$root/t/unit/*_test.c";
push @names, sort grep { !m{/(?:store|outbox)_} } map { m{(settle/[^/]+)\.c$} }
                                       glob "$root/t/settle/*_test.c";

chdir $root or die "$root: $!";
ok @names > 0, 'there are unit tests';

for my $name (@names) {
    my $program = "$build/t/$name";

    ok -x $program, "$name was built" or next;
    my @lines = `'$program' 2>&1`;
    my $status = $?;

    my $passed = grep { /^ok\b/ } @lines;
    my $failed = grep { /^not ok\b/ } @lines;
    my ($plan) = map { /^1\.\.(\d+)/ ? $1 : () } @lines;

    is $status, 0, "$name: exit status";
    is $failed, 0, "$name: nothing failed";
    ok $passed > 0 && $passed == ($plan // -1), "$name: as many as planned"
        or diag "passed $passed of ", $plan // 'no plan';
    diag grep { !/^ok\b/ } @lines if $status || $failed;
}

done_testing;
