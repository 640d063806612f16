package CouponHTTP;

# HTTP over raw sockets: the tests decide about every byte.
#
#   post($nginx, '/cb', $body, secret => 's', headers => { 'X-A' => 1 })
#   get($nginx, '/metrics')
#   post_all($nginx, ['/cb', $body, secret => 's'], [...], ...)
#
# Options: secret (signs the body, X-Signature), headers (a hash; undef leaves
# one out), method, chunked (bytes per chunk), timeout (60 s), port (another
# nginx, in post_all).
# An answer: { status, headers { lower-case name }, body, time }; status 0 is a
# connection that ended without one.  $nginx may be a port number.

use strict;
use warnings;

use Digest::SHA 'hmac_sha256_hex';
use Errno qw(EAGAIN EINPROGRESS EWOULDBLOCK);
use Exporter 'import';
use IO::Select;
use IO::Socket::INET;
use Time::HiRes 'time';

our @EXPORT = qw(post get post_all request_text);


sub post
{
    my ($nginx, @request) = @_;

    return (post_all($nginx, [@request]))[0];
}


sub get
{
    my ($nginx, $path, %options) = @_;

    return post($nginx, $path, '', method => 'GET', %options);
}


# All requests at the same time, each on a connection of its own: the last byte
# of every request is held back until all are that far.
sub post_all
{
    my ($nginx, @requests) = @_;
    my $port = ref $nginx ? $nginx->{port} : $nginx;
    my $timeout = 60;
    my @calls;

    for my $request (@requests) {
        my ($path, $body, %options) = @$request;

        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
            PeerPort => $options{port} // $port)
            or die "connect to port $port: $!";
        $socket->blocking(0);
        $timeout = $options{timeout} if $options{timeout};
        push @calls, { socket => $socket, in => '',
                       out => request_text($path, $body, %options) };
    }

    local $SIG{PIPE} = 'IGNORE';
    my $begin = time;
    my @last = map { chop $_->{out} } @calls;
    exchange(\@calls, $begin + $timeout, sub { $_[0]{out} ne '' });

    $calls[$_]{out} .= $last[$_] for 0 .. $#calls;
    exchange(\@calls, $begin + $timeout, sub { !$_[0]{done} });

    return map { { %{ parse($_->{in}) }, time => ($_->{done} // time) - $begin } }
           @calls;
}


# The bytes of a request.
sub request_text
{
    my ($path, $body, %options) = @_;
    my %headers = (Host => 'localhost', Connection => 'close');

    $headers{'X-Signature'} = hmac_sha256_hex($body, $options{secret})
        if defined $options{secret};

    if ($options{chunked}) {
        $headers{'Transfer-Encoding'} = 'chunked';
        my @chunks = unpack "(a$options{chunked})*", $body;
        $body = join '', (map { sprintf "%x\r\n%s\r\n", length, $_ } @chunks),
                         "0\r\n\r\n";
    } elsif (($options{method} // 'POST') ne 'GET') {
        $headers{'Content-Length'} = length $body;
    }

    %headers = (%headers, %{ $options{headers} // {} });

    return join "\r\n", ($options{method} // 'POST') . " $path HTTP/1.1",
        (map { "$_: $headers{$_}" } grep { defined $headers{$_} }
             sort keys %headers), '', $body;
}


# Moves bytes both ways until $wanted is false for every call.
sub exchange
{
    my ($calls, $deadline, $wanted) = @_;

    while (my @open = grep { !$_->{done} && $wanted->($_) } @$calls) {
        my $left = $deadline - time;
        last if $left <= 0;

        my %by_fd = map { fileno($_->{socket}) => $_ } @open;
        my @all = map { $_->{socket} } @open;
        my ($read, $write) = IO::Select::select(IO::Select->new(@all),
            IO::Select->new(map { $_->{socket} }
                            grep { $_->{out} ne '' } @open),
            undef, $left) or last;

        send_some($by_fd{ fileno $_ }) for @{ $write // [] };
        receive_some($by_fd{ fileno $_ }) for @{ $read // [] };
    }
}


sub send_some
{
    my ($call) = @_;
    my $n = syswrite $call->{socket}, $call->{out};

    if (defined $n) {
        substr $call->{out}, 0, $n, '';
    } elsif ($! != EAGAIN && $! != EWOULDBLOCK && $! != EINPROGRESS) {
        $call->{out} = '';          # refused early: the answer may be there
    }
}


sub receive_some
{
    my ($call) = @_;
    my $n = sysread $call->{socket}, $call->{in}, 65536, length $call->{in};

    return if !defined $n && ($! == EAGAIN || $! == EWOULDBLOCK);
    $call->{done} = time unless $n;
}


sub parse
{
    my ($text) = @_;
    my ($head, $body) = split /\r\n\r\n/, $text, 2;
    my ($first, @lines) = split /\r\n/, $head // '';
    my ($status) = ($first // '') =~ m{^HTTP/1\.[01] (\d\d\d)};
    my %headers = map { /^([^:]+):\s*(.*)$/ ? (lc $1 => $2) : () } @lines;

    $body //= '';
    if (($headers{'transfer-encoding'} // '') eq 'chunked') {
        my $plain = '';
        while ($body =~ s/^([0-9a-fA-F]+)\r\n//) {
            my $n = hex $1 or last;
            $plain .= substr $body, 0, $n, '';
            $body =~ s/^\r\n//;
        }
        $body = $plain;
    }

    return { status => $status // 0, headers => \%headers, body => $body };
}


1;
