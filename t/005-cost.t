#!/usr/bin/perl

# Does checking the shape of a body cost what it did?  In instructions, which
# valgrind counts and which are the same on a loaded machine: the table has what
# they were with gcc 12 -O2.  More by a fourth is a mistake to be looked into;
# less by as much means that the table has to be made anew.

use strict;
use warnings;

use File::Temp 'tempdir';
use Test::More;

# coupons => instructions for a body
my %table = (1 => 10_700, 10 => 45_400, 100 => 397_000);
my $tolerance = 0.25;
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'sanitizers add instructions of their own'
    if $ENV{COUPON_REPORTS};
plan skip_all => 'no valgrind' if system('which valgrind >/dev/null 2>&1');

system('make -s build/bench/scan build/bench/prepare >/dev/null') == 0
    or die 'not built';

for my $coupons (sort { $a <=> $b } keys %table) {
    my $file = "$dir/$coupons";

    system('build/bench/prepare', $file, $coupons, 1, 'secret') == 0
        or die 'nothing to read';

    # without what the program does once
    my $cost = (counted($file, 11) - counted($file, 1)) / 10;

    cmp_ok abs($cost / $table{$coupons} - 1), '<', $tolerance,
        "$coupons coupons: $cost instructions, where $table{$coupons} are"
        . ' in the table';
}

done_testing;


# Instructions of so many readings.
sub counted
{
    my ($file, $times) = @_;
    my $said = `valgrind --tool=callgrind --callgrind-out-file=/dev/null \\
                build/bench/scan $file $times 2>&1`;

    return $said =~ /Collected : (\d+)/ ? $1 : die $said;
}
