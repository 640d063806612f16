#!/usr/bin/perl

# Makes Markdown tables of what http.sh measured: medians of all rounds, and how
# far the rounds were apart.
#
#   table.pl FILE
#
# FILE has one line of NAME=VALUE a run.  What was answered otherwise than with
# 200 is an error: it was not what should have been measured.

use strict;
use warnings;

my @order = qw(body hmac redis guard module lua node);
my %title = (
    body   => 'body read, 200',
    hmac   => '+ HMAC-SHA256',
    redis  => '+ bare Redis transaction: the limit',
    guard  => '+ the guard: the limit with duplicates known',
    module => '**this module**',
    lua    => 'OpenResty-style Lua',
    node   => 'Node, fastify + ioredis',
);

my (%runs, %kinds);

while (<>) {
    my %run = /(\w+)=(\S+)/g;

    die "$run{contender}: $run{failed} requests failed\n" if $run{failed};

    my $kind = "appendfsync $run{appendfsync}, $run{duplicates} % duplicates";
    $kinds{$kind} //= $.;
    push @{ $runs{$kind}{ $run{coupons} }{ $run{contender} } }, \%run;
}

for my $kind (sort { $kinds{$a} <=> $kinds{$b} } keys %kinds) {
    table($kind, $runs{$kind});
}


sub table
{
    my ($kind, $sizes) = @_;

    print "\n#### $kind\n\n",
        "| coupons | what | requests/s (lowest to highest round) ",
        "| p50 / p99 / p99.9 ms | CPU µs per request, server + Redis ",
        "| of the limit | … with the guard |\n",
        "| ---: | --- | --- | --- | --- | ---: | ---: |\n";

    for my $coupons (sort { $a <=> $b } keys %$sizes) {
        my $size = $sizes->{$coupons};
        row($coupons, $_, $size) for grep { $size->{$_} } @order;
    }

    for my $coupons (sort { $a <=> $b } keys %$sizes) {
        ratios($coupons, $sizes->{$coupons}) if $sizes->{$coupons}{module};
    }
}


sub row
{
    my ($coupons, $contender, $size) = @_;
    my $runs = $size->{$contender};
    my @rates = sort { $a <=> $b } map { $_->{per_second} } @$runs;

    printf "| %d | %s | %s (%s to %s) | %.2f / %.2f / %.2f | %.0f + %.0f "
           . "| %s | %s |\n",
        $coupons, $title{$contender}, median($runs, 'per_second'),
        $rates[0], $rates[-1],
        (map { median($runs, $_) } qw(p50 p99 p999 cpu1 cpu2)),
        map { $size->{$_} ? sprintf('%.2f', ratio($contender, $_, $size)) : '' }
            qw(redis guard);
}


sub ratios
{
    my ($coupons, $size) = @_;
    my %name = (redis => 'the limit', guard => 'the limit with the guard');
    my @others = grep { $size->{$_} } qw(node lua guard redis);

    print "\n$coupons coupons: the module is ", join(', ', map {
        sprintf '%.2f × %s', ratio('module', $_, $size), $name{$_} // $_
    } @others), ".\n" if @others;

    print 'p99: ', join(', ', map {
        sprintf '%.2f times that of %s', median($size->{module}, 'p99')
                / median($size->{$_}, 'p99'), $name{$_}
    } grep { $name{$_} } @others), ".\n" if grep { $name{$_} } @others;

    # on a machine that has other things to do, this is the sturdier number
    print 'CPU time of the module and its Redis: ', join(', ', map {
        sprintf '%.2f of %s', cpu($size->{module}) / cpu($size->{$_}),
                $name{$_} // $_
    } @others), ".\n" if @others;
}


sub cpu
{
    my ($runs) = @_;

    return median($runs, 'cpu1') + median($runs, 'cpu2');
}


sub ratio
{
    my ($contender, $other, $size) = @_;

    return median($size->{$contender}, 'per_second')
           / median($size->{$other}, 'per_second');
}


sub median
{
    my ($runs, $name) = @_;
    my @values = sort { $a <=> $b } map { $_->{$name} } @$runs;

    return ($values[$#values / 2] + $values[@values / 2]) / 2;
}
