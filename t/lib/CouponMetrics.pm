package CouponMetrics;

# A strict reader of the text format of Prometheus, for the page of nginx and
# for that of coupon-settle.
#
#   my ($sample, @wrong) = metrics_parse($text);
#
# $sample is { 'name{label="value"}' => number }; @wrong, what a scraper might
# not take, or what breaks the conventions: it should be empty.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(metrics_parse);


sub metrics_parse
{
    my ($text) = @_;
    my (%sample, %type, %help, %done, @wrong);
    my $family = '';

    push @wrong, 'no newline at the end' unless $text =~ /\n\z/;
    push @wrong, 'no text in UTF-8'
        if $text =~ /[^\n -~\x80-\xff]/ || !utf8::decode(my $copy = $text);

    for my $line (split /\n/, $text, -1) {
        next if $line eq '';

        if (my ($what, $of, $words) = $line =~ /^# (HELP|TYPE) ([a-z_]+) (.+)$/) {
            my $known = $what eq 'HELP' ? \%help : \%type;
            push @wrong, "twice: $line" if exists $known->{$of};
            push @wrong, "no type: $line"
                if $what eq 'TYPE' && $words !~ /^(?:counter|gauge|histogram)$/;
            $known->{$of} = $words;

            # a family's lines stand together
            $done{$family} = 1 if $family ne $of;
            push @wrong, "torn apart: $line" if $done{$of};
            $family = $of;
            next;
        }

        my ($name, $labels, $value) = sample($line);
        if (!defined $name) {
            push @wrong, "no sample: $line";
            next;
        }

        push @wrong, sample_wrong($name, $labels, $value, $family,
                                  $type{$family} // '');
        push @wrong, "no type or help: $line"
            unless $type{$family} && $help{$family};
        push @wrong, "twice: $line" if exists $sample{"$name$labels"};
        $sample{"$name$labels"} = $value;
    }

    return (\%sample, @wrong, histograms(\%sample, \%type));
}


# (name, labels with their braces or '', value), or nothing
sub sample
{
    my ($line) = @_;
    my $pair = qr/[a-z_]+="(?:[^"\\]|\\["\\n])*"/;

    return $line =~ /^([a-z_]+)((?:\{$pair(?:,$pair)*\})?) (\S+)$/;
}


sub sample_wrong
{
    my ($name, $labels, $value, $family, $type) = @_;
    my $part = $type eq 'histogram' ? '_(?:bucket|sum|count)' : '';
    my @names = $labels =~ /([a-z_]+)="/g;
    my %seen;
    my @wrong;

    push @wrong, "no number: $name $value" if $value !~ /^\d+(?:\.\d+)?$/;
    push @wrong, "out of its family: $name" if $name !~ /^\Q$family\E$part$/;
    push @wrong, "a counter is called total: $name"
        if ($type eq 'counter') != ($name =~ /_total$/);
    push @wrong, "a label twice: $name$labels" if grep { $seen{$_}++ } @names;
    push @wrong, "le does not belong there: $name$labels"
        if ($name =~ /_bucket$/ && $type eq 'histogram') != ($labels =~ /\ble="/);
    return @wrong;
}


# What is wrong with the histograms.
sub histograms
{
    my ($sample, $type) = @_;
    my (%buckets, @wrong);

    for (keys %$sample) {
        next unless /^(\w+)_bucket\{(?:(.*),)?le="([^"]+)"\}$/;
        push @{ $buckets{"$1 " . (defined $2 ? "{$2}" : '')} },
             [$3 eq '+Inf' ? 9**9**9 : $3, $sample->{$_}];
    }

    for my $key (sort keys %buckets) {
        my ($name, $labels) = split / /, $key, 2;
        my @sorted = sort { $a->[0] <=> $b->[0] } @{ $buckets{$key} };
        my @values = map { $_->[1] } @sorted;
        push @wrong, "$key: no histogram" if ($type->{$name} // '') ne 'histogram';
        push @wrong, "$key: not cumulative: @values"
            if "@values" ne join ' ', sort { $a <=> $b } @values;
        push @wrong, "$key: no +Inf" if $sorted[-1][0] != 9**9**9;
        push @wrong, "$key: the count"
            if ($sample->{"${name}_count$labels"} // -1) != $values[-1];
        push @wrong, "$key: no sum" unless defined $sample->{"${name}_sum$labels"};
    }

    push @wrong, 'no histogram' unless %buckets;
    return @wrong;
}


1;
