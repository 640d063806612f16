package CouponProcess;

# One child process of a test: started in its own process group, so that its
# own children (nginx's workers) go with it, and ended by pid only.  Should the
# test itself be killed, the kernel sends the child SIGTERM (setpriv).
#
#   name, dir, log       log takes stderr, and stdout unless out => FILE
#   command              [program, arguments]
#   env                  { NAME => value } on top of the environment
#   quit                 signal of a clean stop (TERM)
#   ready                what its log says when it is up (a pattern), or code
#                        that is true then: start() waits for that, or for its
#                        end
#
# Every other key of new() is kept for whoever made the object.

use strict;
use warnings;

use POSIX qw(:sys_wait_h setpgid);
use Time::HiRes qw(sleep time);

my @started;


sub new
{
    my ($class, %self) = @_;

    return bless { env => {}, quit => 'TERM', %self }, $class;
}


sub start
{
    my ($self) = @_;

    die "$self->{name} runs already" if $self->alive;
    delete $self->{status};
    my $offset = -s $self->{log} // 0;

    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        $self->become;
    }

    setpgid($pid, $pid);            # here as well: whoever comes first
    $self->{pid} = $pid;
    push @started, $self unless grep { $_ == $self } @started;

    my $deadline = time + 60;
    until ($self->ready($offset) || !$self->alive || time > $deadline) {
        sleep 0.01;
    }

    return $self;
}


# Whether it is up, by its log behind the offset.
sub ready
{
    my ($self, $offset) = @_;
    my $ready = $self->{ready} // return 1;

    return ref $ready eq 'CODE' ? $ready->($self)
           : substr($self->log_text, $offset) =~ $ready;
}


# In the child: never returns, and never runs the END blocks of the test.
sub become
{
    my ($self) = @_;

    setpgid(0, 0);
    open STDIN, '<', '/dev/null';
    open STDOUT, '>>', $self->{out} // $self->{log};
    open STDERR, '>>', $self->{log};
    $ENV{$_} = $self->{env}{$_} for keys %{ $self->{env} };

    no warnings 'exec';
    exec 'setpriv', '--pdeathsig', 'TERM', '--', @{ $self->{command} };
    print STDERR "setpriv: $!\n";
    POSIX::_exit(127);
}


sub pid
{
    return $_[0]{pid};
}


sub alive
{
    my ($self) = @_;

    return 0 unless $self->{pid};
    $self->reap(waitpid($self->{pid}, WNOHANG));
    return defined $self->{pid} ? 1 : 0;
}


sub reap
{
    my ($self, $pid) = @_;

    if ($pid == $self->{pid}) {
        $self->{status} = $? & 127 ? 128 + ($? & 127) : $? >> 8;
        $self->{last_pid} = delete $self->{pid};
    }
}


# Waits until it has ended, and returns its exit status (128 + N by signal N),
# or undef after the deadline.
sub wait
{
    my ($self, $seconds) = @_;
    my $deadline = time + ($seconds // 60);

    while ($self->alive) {
        return undef if time > $deadline;
        sleep 0.01;
    }

    return $self->{status};
}


sub signal
{
    my ($self, $name) = @_;

    return $self->{pid} ? kill($name, $self->{pid}) : 0;
}


# Clean stop.  Returns the exit status; a process that does not end in time is
# killed, and that is status 137.
sub stop
{
    my ($self, $seconds) = @_;

    return $self->{status} unless $self->alive;
    $self->signal('CONT');
    $self->signal($self->{quit});
    my $status = $self->wait($seconds);
    return defined $status ? $status : $self->kill9;
}


# kill -9 of the process and everything it started.
sub kill9
{
    my ($self) = @_;

    return $self->{status} unless $self->{pid};
    kill 'KILL', -$self->{pid}, $self->{pid};
    return $self->wait;
}


sub pause
{
    my ($self) = @_;

    return kill 'STOP', -$self->{pid};
}


sub resume
{
    my ($self) = @_;

    return kill 'CONT', -$self->{pid};
}


# The pids of the process' own children, e.g. nginx's workers.
sub children
{
    my ($self) = @_;

    return unless $self->{pid};
    return grep { $_ } map { /^(\d+)/ ? $1 : () }
        `ps -o pid= --ppid $self->{pid}` =~ /(\d+)/g;
}


# nginx: a new configuration, if options are given, and HUP.
sub reload
{
    my ($self, %options) = @_;

    if (%options) {
        open my $file, '>', "$self->{dir}/nginx.conf" or die $!;
        print {$file} $self->{configure}->($self, %options);
        close $file or die $!;
    }

    return $self->signal('HUP');
}


# Everything that it has written so far.
sub log_text
{
    my ($self) = @_;

    open my $file, '<', $self->{log} or return '';
    local $/;
    return scalar <$file> // '';
}


# In the reverse order of their start; a group may outlive its leader.
sub stop_all
{
    for my $self (reverse @started) {
        $self->stop;
        kill 'KILL', -$self->{last_pid} if $self->{last_pid};
    }

    @started = ();
}


$SIG{$_} //= sub { exit 1 } for qw(INT TERM HUP);

1;
