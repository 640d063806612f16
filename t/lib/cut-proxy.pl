# A TCP proxy that loses connections at the worst moment of a PostgreSQL COMMIT.
#
#   cut-proxy.pl LISTEN-PORT SERVER-PORT FILE
#
# One connection at a time is enough.  As long as FILE names a moment, the next
# COMMIT is cut there, and FILE is emptied:
#
#   before   the server does not see it
#   at       the server sees it, and the client is gone at once
#   after    the server has done it, and the answer is lost

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;

my ($port, $to, $file) = @ARGV;
my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16,
    LocalPort => $port, ReuseAddr => 1) or die "listen: $!";

# a Bind of the statement that src/settle/store_postgres.h counts third, and
# what the server answers to it
my $commit = qr/\0s2\0/;
my $committed = qr/C\0\0\0\x0bCOMMIT\0/;
my %other;                                  # the other end of a connection
my %client;

$SIG{PIPE} = 'IGNORE';
my $all = IO::Select->new($listen);


sub moment
{
    open my $in, '<', $file or return '';
    return scalar <$in> // '';
}


sub cut
{
    my ($socket) = @_;
    my $peer = delete $other{$socket};

    delete $other{$peer};
    $all->remove($socket, $peer);
    close $socket;
    close $peer;
}


sub forward
{
    my ($socket) = @_;
    my $data;

    sysread $socket, $data, 65536 or return cut($socket);
    my $moment = moment();
    my $asked = $client{$socket} && $data =~ $commit;
    my $done = !$client{$socket} && $data =~ $committed;

    my $now = $moment eq 'after' ? $done : $asked;

    open my $out, '>', $file if $moment && $now;
    return cut($socket) if $now && $moment =~ /before|after/;
    my $to = $other{$socket};
    while (length $data) {
        my $n = syswrite $to, $data or last;
        substr $data, 0, $n, '';
    }
    cut($socket) if $now && $moment eq 'at';
}


for (;;) {
    for my $socket ($all->can_read) {
        if ($socket == $listen) {
            my $from = $listen->accept or next;
            my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                PeerPort => $to) or close $from, next;
            @other{$from, $server} = ($server, $from);
            $client{$from} = 1;
            delete $client{$server};
            $all->add($from, $server);
        } elsif ($other{$socket}) {
            forward($socket);
        }
    }
}
