#!/usr/bin/perl

# Checks what no compiler checks: who may include whom, and how sources look.
# Prints FILE:LINE: what, and exits 1 if anything was wrong.  Run in the root.
#
# The layers:  core <- providers <- ngx        core <- settle
#              core <- tls <- ngx, settle
#
# The looks are nginx's: 4 spaces, 80 columns, no tabs, no // comments, the
# return type on its own line, and functions of at most 80 lines.

use strict;
use warnings;

use File::Find;

use constant {
    COLUMNS        => 80,
    FUNCTION_LINES => 80,
    FILE_LINES     => 500,
};

# the folders whose headers a folder may include, and system headers it may not
my $nginx  = qr/^(?:ngx|nginx)/;
my $redis  = qr/^hiredis|^valkey/;
my $sql    = qr/^(?:sqlite3|libpq)/;
my $ini    = qr/^ini\.h/;
my $socket = qr{^(?:sys/socket|netinet/|arpa/|netdb)};

my %layer = (
    'src/core'      => { from => [qw(src/core)],
                         not => [$nginx, $redis, $sql, $ini, $socket] },
    'src/providers' => { from => [qw(src/providers src/core)],
                         not => [$nginx, $redis, $sql, $ini, $socket] },
    'src/tls'       => { from => [qw(src/tls src/core)],
                         not => [$nginx, $sql, $ini, $socket] },
    'src/ngx'       => { from => [qw(src/ngx src/providers src/tls src/core)],
                         not => [$sql, $ini] },
    '.'             => { from => [qw(src/ngx src/providers src/tls src/core)],
                         not => [$sql, $ini] },
    'src/settle'    => { from => [qw(src/settle src/tls src/core)],
                         not => [$nginx] },
    't/unit'        => { from => [qw(t/unit src/core src/providers)],
                         not => [$nginx, $redis, $sql] },
    't/settle'      => { from => [qw(t/settle t/unit src/settle src/core)],
                         not => [$nginx, $redis, $sql] },
    't/truth'       => { from => [qw(t/truth t/unit src/settle src/core)],
                         not => [$nginx, $redis, $sql] },
    't/bench'       => { from => [qw(t/bench t/unit src/core src/providers)],
                         not => [$nginx, $redis] },
    't/bench/module' => { from => [qw(src/ngx src/providers src/core)],
                         not => [$sql, $ini] },
    't/fuzz'        => { from => [qw(t/fuzz t/unit src/core src/providers)],
                         not => [$nginx, $redis, $sql] },
);

my $wrong = 0;
my @files;

find({ no_chdir => 1, wanted => sub {
    s{^\./}{};
    $File::Find::prune = 1 if m{^(?:build|\.git)$};
    push @files, $_ if -f && !-l;
} }, '.');

for my $file (sort grep { !m{^build/} } @files) {
    my @lines = read_lines($file) or next;

    check_text($file, @lines);
    check_c($file, @lines)    if $file =~ /\.[ch]$/;
    check_test($file, @lines) if $file =~ /\.t$/;
}

exit($wrong ? 1 : 0);


sub read_lines
{
    my ($file) = @_;

    open my $in, '<', $file or die "$file: $!";
    return if -B $in;
    return <$in>;
}


sub wrong
{
    my ($file, $line, $what) = @_;

    print "$file:$line: $what\n";
    $wrong = 1;
}


sub check_text
{
    my ($file, @lines) = @_;

    return if $file =~ m{^t/fuzz/.*(?:corpus|dict)|^LICENSE$};

    for my $i (0 .. $#lines) {
        my $line = $lines[$i];

        wrong($file, $i + 1, 'trailing white space') if $line =~ /[ \t]\r?$/;
        wrong($file, $i + 1, 'carriage return') if $line =~ /\r$/;
        wrong($file, $i + 1, 'conflict marker')
            if $line =~ /^(?:<{7}|>{7}) /;
    }

    wrong($file, scalar @lines, 'no newline at the end')
        unless $lines[-1] =~ /\n\z/;
}


sub check_c
{
    my ($file, @lines) = @_;
    my ($begin, $name);

    check_includes($file, @lines);

    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        my $code = without_strings($line);

        wrong($file, $i + 1, 'tab') if $line =~ /\t/;
        wrong($file, $i + 1, 'more than ' . COLUMNS . ' columns')
            if width($line) > COLUMNS;
        wrong($file, $i + 1, '// comment') if $code =~ m{(?<!:)//};
        wrong($file, $i + 1, 'TODO or the like')
            if $line =~ /\b(?:TODO|FIXME|XXX)\b/;

        # a function: NAME(...) in the first column, then { and } there too
        if ($line =~ /^(\w+)\(/) {
            ($begin, $name) = ($i, $1);
        } elsif ($line =~ /^\}/ && defined $begin) {
            my $n = $i - $begin + 1;
            wrong($file, $begin + 1, "$name() has $n lines")
                if $n > FUNCTION_LINES;
            undef $begin;
        } elsif ($line =~ /^[^\s{}].*;$/) {
            undef $begin;               # it was a prototype or a macro
        }
    }

    print "$file: ", scalar @lines, " lines (only a hint)\n"
        if @lines > FILE_LINES;
}


# in characters, not in bytes
sub width
{
    my ($line) = @_;

    chomp $line;
    utf8::decode($line);
    return length $line;
}


sub without_strings
{
    my ($line) = @_;

    $line =~ s/"(?:[^"\\]|\\.)*"/""/g;
    $line =~ s{/\*.*?\*/}{}g;
    $line =~ s{^\s*\*.*}{};             # inside of a comment
    $line =~ s{/\*.*}{};
    return $line;
}


sub check_includes
{
    my ($file, @lines) = @_;
    my ($folder) = $file =~ m{^(.*)/[^/]+$};
    my $layer = $layer{ $folder // '.' };

    return wrong($file, 1, 'C source in a folder without a layer')
        unless $layer;

    # what it defines has to be known to the headers of the C library
    my ($first) = grep { $lines[$_] =~ /^\s*#\s*include\b/ } 0 .. $#lines;
    wrong($file, $first + 1, 'a header in front of <ngx_config.h>')
        if defined $first && !grep({ $_ eq $nginx } @{ $layer->{not} })
           && $lines[$first] =~ /<(?!ngx_config\.h>)/;

    for my $i (0 .. $#lines) {
        if ($lines[$i] =~ /^\s*#\s*include\s+"(.+)"/) {
            my $name = $1;
            wrong($file, $i + 1, "may not include \"$name\"")
                unless grep { -e "$_/$name" } @{ $layer->{from} };
        } elsif ($lines[$i] =~ /^\s*#\s*include\s+<(.+)>/) {
            my $name = $1;
            wrong($file, $i + 1, "may not include <$name>")
                if grep { $name =~ $_ } @{ $layer->{not} };
        }
    }
}


sub check_test
{
    my ($file, @lines) = @_;

    for my $i (0 .. $#lines) {
        wrong($file, $i + 1, "left over: $1")
            if $lines[$i] =~ /^--- (ONLY|LAST|SKIP)\b/;
        wrong($file, $i + 1, 'sleep instead of wait_for')
            if $lines[$i] =~ /^\s*sleep\b/;
    }
}
