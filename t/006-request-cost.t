#!/usr/bin/perl

# Does a request cost what it did?  In instructions of nginx, of hiredis and of
# this module, which valgrind counts and which are the same on a loaded machine:
# the table has what they were with gcc 12 -O2 on Debian 12.  libcrypto and libc
# choose their code by the processor, so they are left out.
#
# More by a fourth is a mistake to be looked into; less by as much means that the
# table has to be made anew.  And: loaded but not used, it costs nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use CouponTest qw(read_file start_nginx start_redis workdir);
use Test::More;

# coupons => instructions for a callback
my %table = (1 => 32_700, 10 => 71_300, 100 => 442_000);
my $tolerance = 0.25;
my $dir = workdir();
my ($few, $many) = (100, 300);

plan skip_all => 'sanitizers add instructions of their own'
    if $ENV{COUPON_REPORTS};
plan skip_all => 'no valgrind' if system('which valgrind >/dev/null 2>&1');

system('make -s build/bench/load build/bench/prepare >/dev/null') == 0
    or die 'not built';

my $redis = start_redis();

for my $coupons (sort { $a <=> $b } keys %table) {
    my $cost = cost($coupons, <<"END");
coupon_callback_redis 127.0.0.1:$redis->{port};
coupon_callback_secret secret;
coupon_callback_ack enqueued;
location / { coupon_callback sportapi; }
END

    cmp_ok abs($cost / $table{$coupons} - 1), '<', $tolerance,
        "$coupons coupons: $cost instructions, where $table{$coupons} are"
        . ' in the table';
}

my @idle = map { cost(1, 'location / { return 200; }', @$_) }
               [module => ''], [];

cmp_ok abs($idle[1] / $idle[0] - 1), '<', 0.05,
    "a request elsewhere: $idle[1] instructions with the module loaded,"
    . " $idle[0] without";

done_testing;


# Instructions of a request, without what the server does once.
sub cost
{
    my ($coupons, $server, %options) = @_;
    my @counted = map { counted($coupons, $_, $server, %options) } $few, $many;

    return int(($counted[1] - $counted[0]) / ($many - $few));
}


sub counted
{
    my ($coupons, $requests, $server, %options) = @_;
    my $count = "$dir/callgrind";

    $redis->cmd('FLUSHALL');

    system('build/bench/prepare', "$dir/requests", $coupons, $requests,
           'secret') == 0 or die 'nothing to send';

    my $nginx = start_nginx(
        %options, main => 'master_process off;', http => 'access_log off;',
        server => $server . 'client_body_buffer_size 256k;'
                  . 'keepalive_requests 100000;',
        prefix => ['valgrind', '--tool=callgrind', '-q',
                   "--callgrind-out-file=$count"]);

    my $said = `build/bench/load $dir/requests $nginx->{port} 16 0 $$`;
    $nginx->stop;

    die "not all were answered: $said" unless $said =~ / failed=0 /;
    return instructions(read_file($count));
}


# The lines of callgrind's file: "<position> <cost>", but for those behind a
# "calls=", which tell what the called function cost.
sub instructions
{
    my ($text) = @_;
    my ($sum, $counts, $called, %object) = (0, 0, 0);

    for (split /\n/, $text) {

        if (/^ob=\((\d+)\)(?: (.+))?/) {
            $object{$1} = $2 if defined $2;
            $counts = $object{$1} =~ m{/nginx$|hiredis|coupon_callback};

        } elsif (/^cob=\((\d+)\) (.+)/) {
            $object{$1} = $2;

        } elsif (/^calls=/) {
            $called = 1;

        } elsif (/^[+*-]?\d*\s+(\d+)$/) {
            $sum += $1 if $counts && !$called;
            $called = 0;
        }
    }

    return $sum;
}
