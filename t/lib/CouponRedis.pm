package CouponRedis;

# A Redis of a test: a CouponProcess that also speaks RESP, and is its own
# client.  cmd() connects where that is needed, so that it works again after a
# restart.
#
#   $redis->cmd('XLEN', 'key')      integers and strings as scalars,
#                                   arrays as references, nil as undef
#   an error reply dies with its text; try() returns it as "ERR ..." instead

use strict;
use warnings;

use parent 'CouponProcess';

use Cwd 'abs_path';
use File::Basename 'dirname';
use IO::Socket::INET;
use Time::HiRes qw(sleep time);


# A server that t/bin/fetch-redis.sh has put beside the system's: redis-server or
# valkey-server, of version 8.  undef if it is not there, or does not run here.
sub beside
{
    my ($name) = @_;
    my $path = dirname(dirname(dirname(abs_path(__FILE__)))) . "/build/trixie/$name";

    return -x $path && `'$path' --version 2>&1` =~ / v=8\./ ? $path : undef;
}


# Whether its WAITAOF is one that a fence can believe.
sub fenced
{
    my ($self) = @_;
    my ($version) = (my $info = $self->cmd('INFO', 'server'))
                    =~ /^redis_version:(\d+)/m;

    return $version >= 8 && $info !~ /^valkey_version:/m;
}


# Starts it (again) and waits until it answers; loading included.
sub restart
{
    my ($self) = @_;

    $self->stop;
    $self->start;
    $self->wait_ready;
    return $self;
}


sub wait_ready
{
    my ($self) = @_;
    my $deadline = time + 60;

    until (eval { $self->cmd('PING') eq 'PONG' }) {
        die "redis does not start: " . $self->log_text
            if time > $deadline || !$self->alive;
        sleep 0.02;
    }
}


sub cmd
{
    my ($self, @words) = @_;

    my $reply = eval {
        my $socket = $self->connected;
        print {$socket} encode(@words);
        read_reply($socket);
    };
    if ($@) {
        delete $self->{socket};
        die $@;
    }

    die $$reply . "\n" if ref $reply eq 'SCALAR';
    return $reply;
}


sub try
{
    my ($self, @words) = @_;
    my $reply = eval { $self->cmd(@words) };

    return $@ ? $@ =~ s/\n\z//r : $reply;
}


sub connected
{
    my ($self) = @_;

    return $self->{socket} if $self->{socket}
        && ($self->{socket_pid} // 0) == ($self->{pid} // 0);

    my $socket = IO::Socket::INET->new(PeerAddr => $self->{host} // '127.0.0.1',
        PeerPort => $self->{port}, Timeout => 60) or die "redis: $!\n";
    $socket->autoflush(1);
    if (defined $self->{password}) {
        print {$socket} encode('AUTH', $self->{password});
        read_reply($socket);
    }

    $self->{socket_pid} = $self->{pid};
    return $self->{socket} = $socket;
}


sub encode
{
    my (@words) = @_;

    return join '', '*' . @words . "\r\n",
        map { '$' . length($_) . "\r\n$_\r\n" } @words;
}


sub read_reply
{
    my ($socket) = @_;
    local $/ = "\r\n";

    defined(my $line = <$socket>) or die "redis closed the connection\n";
    chomp $line;
    my ($type, $rest) = $line =~ /^(.)(.*)$/s;

    return $rest if $type eq '+' || $type eq ':';
    return \"$rest" if $type eq '-';
    return undef if $rest eq '-1';

    if ($type eq '$') {
        read($socket, my $data, $rest + 2) == $rest + 2
            or die "redis closed the connection\n";
        return substr $data, 0, $rest;
    }

    return [ map { read_reply($socket) } 1 .. $rest ] if $type eq '*';
    die "not RESP: $line\n";
}


# The entries of a stream: ({ entry => '1-0', field => value, ... }, ...)
sub entries
{
    my ($self, $key) = @_;

    return map { { entry => $_->[0], @{ $_->[1] } } }
        @{ $self->cmd('XRANGE', $key, '-', '+') };
}


1;
