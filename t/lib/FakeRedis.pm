package FakeRedis;

# A Redis that misbehaves on demand: a small server in a process of its own.
#
#   my $fake = FakeRedis->new;              listens on $fake->{port}
#   $fake->behave(EXEC => "-OOM no\r\n");   from now on, on every connection
#   $fake->behave;                          well again
#   $fake->received('EXEC')                 how often it came
#   $fake->stop; $fake->start;              refuses connections; on the same port
#
# What it can be told, beside replies (raw bytes) by the name of a command:
#   stall_at => NAME    does not even read on at this command, until told else
#   close_at => NAME    closes at this command, behind its reply
#   close_on_accept     closes before a word is said
#   say_on_accept       says this before it is asked anything
#   dribble             sends single bytes, each in a packet of its own
#
# Well-behaved it has appendonly yes and appendfsync always, and takes every
# transaction for a first delivery; it keeps nothing.

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Storable ();

use CouponProcess;
use CouponTest ();

our @ISA = ('CouponProcess');

my %config = (
    appendonly => 'yes', appendfsync => 'always',
    'maxmemory-policy' => 'noeviction', 'no-appendfsync-on-rewrite' => 'no',
);
my $info = join "\r\n", '# Server', 'redis_version:7.0.15', '# Persistence',
    'loading:0', 'aof_enabled:1', 'aof_rewrite_in_progress:0',
    'aof_rewrite_scheduled:0', '';
my $count = 0;


sub new
{
    my ($class) = @_;
    my $path = CouponTest::workdir() . '/fake' . ++$count;
    my $self = $class->SUPER::new(name => 'fake redis', dir => $path,
                                  log => "$path.log", orders => "$path.orders",
                                  port => CouponTest::free_port());

    $self->behave;
    return $self->start;
}


# New orders take effect at the next command that comes in.
sub behave
{
    my ($self, %orders) = @_;

    Storable::store(\%orders, "$self->{orders}.new");
    rename "$self->{orders}.new", $self->{orders} or die $!;
}


sub received
{
    my ($self, $name) = @_;

    return scalar(() = $self->log_text =~ /^\Q$name\E$/mg);
}


sub start
{
    my ($self) = @_;

    $self->SUPER::start;
    CouponTest::wait_for { CouponTest::port_open($self->{port}) }
        or die "the fake Redis does not start: " . $self->log_text;
    return $self;
}


# Instead of another program: the server itself.
sub become
{
    my ($self) = @_;

    POSIX::setpgid(0, 0);
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
    $SIG{PIPE} = 'IGNORE';
    open STDERR, '>>', $self->{log};
    STDERR->autoflush(1);
    eval { $self->serve };
    print STDERR "died: $@";
    POSIX::_exit(1);
}


sub serve
{
    my ($self) = @_;
    my %in;
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => $self->{port}, ReuseAddr => 1, Listen => 128)
        or die "listen: $!";
    my $select = IO::Select->new($listen);

    while (1) {
        my @ready = $select->can_read(0.02);
        my $orders = Storable::retrieve($self->{orders});

        # new orders may have ended a stall
        my @stalled = grep { $in{$_} && $in{$_}{in} ne '' } $select->handles;

        for my $socket (@ready) {

            if ($socket == $listen) {
                my $client = $listen->accept or next;
                print STDERR "connected\n";
                next if $orders->{close_on_accept};
                syswrite $client, $orders->{say_on_accept} // '';
                setsockopt $client, IPPROTO_TCP, TCP_NODELAY, 1;
                $select->add($client);
                $in{$client} = { in => '', queued => [] };
                next;
            }

            my $ok = sysread $socket, $in{$socket}{in}, 65536,
                             length $in{$socket}{in};
            $in{$socket}{over} = 1 unless $ok;
        }

        for my $socket (@stalled, grep { $_ != $listen } @ready) {
            my $state = $in{$socket} or next;
            next if !$state->{over} && converse($socket, $state, $orders);
            $select->remove($socket);
            delete $in{$socket};
            close $socket;
        }
    }
}


# Answers the commands that are complete; false if the connection is to close.
sub converse
{
    my ($socket, $state, $orders) = @_;

    while (my @words = command(\$state->{in}, $orders->{stall_at} // '')) {
        my $name = uc $words[0];
        my $own = reply($name, $state, @words);
        my $reply = $orders->{$name} // $own;

        print STDERR "$name\n";

        for my $piece ($orders->{dribble} ? split //, $reply : $reply) {
            syswrite $socket, $piece if length $piece;
        }

        return 0 if ($orders->{close_at} // '') eq $name;
    }

    return 1;
}


# Takes one complete command off the text, if there is one, and not this one.
sub command
{
    my ($text, $stall_at) = @_;
    my ($n) = $$text =~ /\A\*(\d+)\r\n/ or return;
    my $at = $+[0];
    my @words;

    for (1 .. $n) {
        pos($$text) = $at;
        $$text =~ /\G\$(\d+)\r\n/g or return;
        $at = pos($$text) + $1 + 2;
        return if $at > length $$text;
        push @words, substr $$text, pos $$text, $1;
    }

    return if $n && uc $words[0] eq $stall_at;
    substr $$text, 0, $at, '';
    return @words;
}


sub reply
{
    my ($name, $state, @words) = @_;

    return "+OK\r\n"   if $name =~ /^(?:AUTH|SELECT)$/;
    return "+PONG\r\n" if $name eq 'PING';
    return bulk($info) if $name eq 'INFO';
    return "*2\r\n" . bulk($words[2]) . bulk($config{ $words[2] } // '')
        if $name eq 'CONFIG';

    if ($name eq 'MULTI') {
        $state->{queued} = [$name];
        return "+OK\r\n";
    }

    if ($name eq 'EXEC') {
        my @replies = map { done($_) } @{ $state->{queued} }[1 .. 3];
        $state->{queued} = [];
        return '*' . @replies . "\r\n" . join '', @replies;
    }

    if (@{ $state->{queued} }) {
        push @{ $state->{queued} }, $name;
        return "+QUEUED\r\n";
    }

    return done($name);
}


# The reply of a command of a delivery: the first one of its id.
sub done
{
    my ($name) = @_;

    return "+OK\r\n"                if $name eq 'SET';
    return bulk('1700000000000-0')  if $name eq 'XADD';
    return "+STORED\r\n"            if $name eq 'EVAL';
    return "-ERR unknown command '$name'\r\n";
}


sub bulk
{
    my ($text) = @_;

    return '$' . length($text) . "\r\n$text\r\n";
}


1;
