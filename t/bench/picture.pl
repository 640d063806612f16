#!/usr/bin/perl

# Draws what http.sh measured: a bar for the requests per second of each
# contender, in one panel for each number of coupons.
#
#   picture.pl FILE > PICTURE.svg
#
# FILE is that of table.pl; only its first appendfsync and share of duplicates
# are drawn.  Bars are as long as a part of the limit, so that panels can be
# compared; what is faster than the limit, as it does less, ends at the edge.

use strict;
use warnings;

use constant { WIDTH => 760, LABEL => 250, BAR => 360, ROW => 24 };

my @order = qw(redis guard module lua node);
my %title = (redis => 'bare Redis transaction: the limit',
             guard => '… with the guard',
             module => 'this module', lua => 'OpenResty-style Lua',
             node => 'Node, fastify + ioredis');
my %color = (redis => '#b8bec6', guard => '#8e96a1', module => '#2f6fd0', lua => '#d9a441',
             node => '#6aa84f');

my (%rates, $kind);

while (<>) {
    my %run = /(\w+)=(\S+)/g;
    my $this = "appendfsync $run{appendfsync}, $run{duplicates} % duplicates";

    $kind //= $this;
    push @{ $rates{ $run{coupons} }{ $run{contender} } }, $run{per_second}
        if $this eq $kind;
}

my @sizes = sort { $a <=> $b } keys %rates;
my ($y, $text) = (30, '');

$text .= text(10, 20, "callbacks per second, one worker, $kind", 'bold');
panel($_) for @sizes;

printf '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"'
       . ' font-family="sans-serif" font-size="13">%s'
       . '<rect width="100%%" height="100%%" fill="#fff"/>%s%s</svg>%s',
       WIDTH, $y, "\n", "\n", $text, "\n";


sub panel
{
    my ($coupons) = @_;
    my $rates = $rates{$coupons};
    my $limit = median($rates->{redis} // [1]);

    $y += ROW;
    $text .= text(10, $y, $coupons . ($coupons == 1 ? ' coupon' : ' coupons'),
                  'bold');
    $y += 8;

    for my $contender (grep { $rates->{$_} } @order) {
        my $rate = median($rates->{$contender});
        my $part = $rate > $limit ? 1 : $rate / $limit;

        $text .= sprintf '<rect x="%d" y="%d" width="%.0f" height="%d"'
                         . ' fill="%s"/>%s', LABEL, $y, BAR * $part, ROW - 6,
                         $color{$contender}, "\n";
        $text .= text(20, $y + 14, $title{$contender})
                 . text(LABEL + BAR * $part + 8, $y + 14, sprintf '%.0f', $rate);
        $y += ROW;
    }
}


sub text
{
    my ($x, $baseline, $words, $weight) = @_;

    return sprintf '<text x="%.0f" y="%d"%s>%s</text>%s', $x, $baseline,
        $weight ? " font-weight=\"$weight\"" : '', $words, "\n";
}


sub median
{
    my ($values) = @_;
    my @sorted = sort { $a <=> $b } @$values;

    return ($sorted[$#sorted / 2] + $sorted[@sorted / 2]) / 2;
}
