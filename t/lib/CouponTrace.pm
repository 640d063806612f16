package CouponTrace;

# strace: what servers tell the kernel, in the order in which they do.
#
#   my $trace = trace([$redis->pid], @options) or skip ...;
#   my @lines = traced($trace);         detaches
#
# It also slows a system call down, or breaks it: see strace(1), "inject".

use strict;
use warnings;

use Exporter 'import';

use CouponProcess;
use CouponTest ();

our @EXPORT = qw(trace traced);

my $count = 0;


# Attaches to these processes; undef if that is not permitted here.
sub trace
{
    my ($pids, @options) = @_;
    my $out = CouponTest::workdir() . '/trace.' . ++$count;
    my $trace = CouponProcess->new(name => 'strace', dir => CouponTest::workdir(),
        log => "$out.log", out => $out, command => ['strace', '-o', $out, '-yy',
        '-s', 1_000_000, '-e', 'trace=write,writev,fdatasync,fsync', @options,
        map { ('-p', $_) } @$pids]);

    $trace->start;
    CouponTest::wait_for { !$trace->alive
        || @$pids <= (() = $trace->log_text =~ /^strace: Process \d+ attached/mg) };
    return $trace->alive ? $trace : undef;
}


sub traced
{
    my ($trace) = @_;

    $trace->stop;
    return split /\n/, CouponTest::read_file($trace->{out});
}


1;
