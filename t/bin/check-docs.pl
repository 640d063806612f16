#!/usr/bin/perl

# Checks that what a user may write is written down: every directive and
# variable of the module, every option and command of coupon-settle, and every
# metric of both stands in the README, every directive and option in the samples
# of conf/ too, and the samples name nothing that is not there.  Run in the root; exits 1 if not.

use strict;
use warnings;

my $module = join '', map { text($_) } glob('ngx_*.c src/ngx/*.c');
my $daemon = join '', map { text($_) } glob('src/settle/*.c');
my $readme = text('README.md');
my $conf   = text('conf/nginx.conf');
my $ini    = text('conf/settle.ini');
my $wrong  = 0;

# { ngx_string("name"), NGX_HTTP_... is a directive, everything else a variable
my (%directive, %variable);
while ($module =~ /\{\s*ngx_string\("(coupon_callback\w*)"\),\s*(NGX_HTTP_)?/g) {
    ($2 ? $directive{$1} : $variable{$1})++;
}

# { "section", "option", cs_set_..., offsetof(...), "default" or NULL
my (%option, %default);
while ($daemon =~ /\{\s*"(\w+)",\s*"(\w+)",\s*cs_set_
                   (?:\w+,\s*offsetof\([^)]*\),\s*("([^"]*)"|NULL))?/gx) {
    $option{$1}{$2} = 1;
    $default{"$1 $2"} = $4 // 'none' if defined $3;
}

# { "name", "arguments", 0, 0, 0, cs_cmd_...
my @command = $daemon =~ /\{\s*"(\w+)",\s*"[^"]*",[\s\d,]*cs_cmd_/g;

# HELP and TYPE of a page of metrics
my $page = text('src/ngx/metrics_page.c');
my %metric = map { $_ => 1 }
    text('src/settle/metrics_page.c')
        =~ /"(coupon_settle_[a-z_]+?)(?:_bucket)?["{]/g,
    $page =~ /# TYPE (coupon_callback_\w+)/g,
    map { "coupon_callback_$_" }
        $page =~ /_metrics_(?:head\(p,|\w+\(b->last, shared, n,)\s*"(\w+)"/g;

wrong('no directive found in the sources') unless %directive;
wrong('no variable found in the sources')  unless %variable;
wrong('no option found in the sources')    unless %option;
wrong('no command found in the sources')   unless @command;
for my $program (qw(callback settle)) {
    wrong("no metric of coupon_$program found in the sources")
        unless grep { /^coupon_${program}_/ } keys %metric;
}

for my $name (sort keys %directive) {
    wrong("README.md does not have the directive $name")
        unless $readme =~ /\b$name\b/;
    wrong("conf/nginx.conf does not have the directive $name")
        unless $conf =~ /^\s*#?$name\b/m;
}

for my $name (sort keys %variable) {
    wrong("README.md does not have the variable \$$name")
        unless $readme =~ /\$$name\b/;
}

while ($conf =~ /(\$?)(?<!\w)(coupon_callback\w*)/g) {
    wrong("conf/nginx.conf has $1$2, the module has not")
        unless $1 ? $variable{$2} : $directive{$2};
}

for my $name (sort keys %metric) {
    wrong("README.md does not have the metric $name")
        unless $readme =~ /`$name\b/;
}

while ($readme =~ /\b(coupon_settle_[a-z_]+)/g) {
    wrong("README.md has the metric $1, coupon-settle has not")
        unless $metric{$1};
}

for my $name (@command) {
    wrong("README.md does not have the command coupon-settle $name")
        unless $readme =~ /\b$name\b/;
}

# | `[section] name` | `default` | what |, and the next without the section; a
# row may have two names and two defaults
my $of;
for (split /\n/, $readme) {
    my (undef, $names, $values) = split / ?\| /;

    undef $of if !/^\| `/;
    $of = $1  if /^\| `\[(\w+)\] /;
    next unless defined $of;

    my @value = $values =~ /`([^`]*)`/g;
    for my $name ($names =~ /(\w+)`/g) {
        my $said = shift @value // 'none';
        my $is = $default{"$of $name"} // $said;
        wrong("README.md says that $name of [$of] is $said, not $is")
            if $said ne $is;
    }
}

my %sample;
my $section = '';
for (split /\n/, $ini) {
    $section = $1 if /^;?\[(\w+)\]/;
    $sample{$section}{$1} = 1 if /^;?(\w+) =/;
}

for my $section (sort keys %option) {
    for my $name (sort keys %{ $option{$section} }) {
        wrong("README.md does not have the option $name of [$section]")
            unless $readme =~ /\b$name\b/;
        wrong("conf/settle.ini does not have $name in [$section]")
            unless $sample{$section}{$name};
    }
}

for my $section (sort keys %sample) {
    for my $name (sort keys %{ $sample{$section} }) {
        wrong("conf/settle.ini has $name in [$section], coupon-settle has not")
            unless $option{$section}{$name};
    }
}

exit($wrong ? 1 : 0);


sub text
{
    my ($file) = @_;

    open my $in, '<', $file or return '';
    local $/;
    return scalar <$in>;
}


sub wrong
{
    print "$_[0]\n";
    $wrong = 1;
}
