#!/usr/bin/perl

# Several callbacks on one HTTP/2 connection that end while Redis has them in
# hand: the connection is closed, or reset, or each stream is.  The worker lives,
# forgets them, and takes them when they come again.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_LINGER);
use Test::More;

use constant {
    STREAMS => 10,
    DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4,    # RFC 9113
    END_STREAM => 1, END_HEADERS => 4,
    CANCEL => 8,
};

my $secret = 'streams';
my $inbox = '{coupons}:inbox';
my $number = 0;
my $h2 = free_port();

my $redis = start_redis();
my $location = <<"END";
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
            coupon_callback_secret $secret;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END
my $nginx = start_nginx(server => $location,
                        http => "server { listen 127.0.0.1:$h2 http2; $location }");
my ($worker) = $nginx->children;


sub batch
{
    my $id = 'batch-' . ++$number;

    return callback($id, { code => "c$number", status => 2, real_win => 1 });
}


sub frame
{
    my ($type, $flags, $stream, $payload) = @_;

    return substr(pack('N', length $payload), 1)
           . pack('CCN', $type, $flags, $stream) . $payload;
}


# HPACK at its simplest: each name and value as it is
sub field
{
    my ($name, $value) = @_;

    return "\0" . chr(length $name) . $name . chr(length $value) . $value;
}


# One connection, and each body on a stream of its own: 1, 3, 5, ...
sub start_streams
{
    my (@bodies) = @_;
    my $stream = -1;
    my $text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(SETTINGS, 0, 0, '');

    for my $body (@bodies) {
        $stream += 2;
        $text .= frame(HEADERS, END_HEADERS, $stream,
            field(':method', 'POST') . field(':scheme', 'http')
            . field(':path', '/cb') . field(':authority', 'localhost')
            . field('content-length', length $body)
            . field('x-signature', sign($body, $secret)))
            . frame(DATA, END_STREAM, $stream, $body);
    }

    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $h2) or die "connect: $!";
    syswrite $socket, $text;
    return $socket;
}


# How many streams are answered 200, which is the field 8 of HPACK's table.
sub answered
{
    my ($socket, $wanted) = @_;
    my ($n, $seen) = (0, 0);

    while ($seen < $wanted && read $socket, my $head, 9) {
        my ($length, $type) = unpack 'NC', "\0$head";
        read $socket, my $payload, $length or $length == 0 or last;
        next if $type != HEADERS;
        $seen++;
        $n++ if $payload =~ /^\x88/;
    }

    return $n;
}


sub pending
{
    return get($nginx, '/metrics')->{body} =~ /^coupon_callback_pending (\d+)$/m
           ? $1 : -1;
}


my %ends = (
    'the connection is closed' => sub { close $_[0] },
    'the connection is reset' => sub {
        setsockopt $_[0], SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
        close $_[0];
    },
    'each stream is reset' => sub {
        syswrite $_[0], join '', map { frame(RST_STREAM, 0, 2 * $_ - 1,
                                             pack 'N', CANCEL) } 1 .. STREAMS;
    },
);

is answered(start_streams(map { batch() } 1 .. STREAMS), STREAMS), STREAMS,
   'several on one connection: 200 for each';

for my $end (sort keys %ends) {
    $redis->pause;
    my @bodies = map { batch() } 1 .. STREAMS;
    my $socket = start_streams(@bodies);
    ok +(wait_for { pending() == STREAMS }), 'all wait for Redis';
    $ends{$end}->($socket);

    my $again = start_streams(@bodies);
    ok +(wait_for { pending() == 2 * STREAMS }), "... $end, and all come again";
    $redis->resume;
    is answered($again, STREAMS), STREAMS, '... Redis goes on: 200 for each';
    ok +(wait_for { pending() == 0 }), '... nobody waits';

    my %count;
    $count{ $_->{body} }++ for $redis->entries($inbox);
    is_deeply [map { $count{$_} } @bodies], [(1) x STREAMS],
              '... each is in the inbox once';
}

is +($nginx->children)[0], $worker, 'the worker is that of the beginning';

done_testing;
