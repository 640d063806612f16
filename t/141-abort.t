# Clients that go away: before their body is there, or while Redis has their
# callback in hand.  The worker must live, count nothing twice, and forget them.

use strict;
use warnings;

use CouponTest;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_LINGER);
use Test::More;

my $redis = start_redis();
my $nginx = start_nginx(server => <<"END");
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_secret s3cret;
    location = /cb { coupon_callback sportapi; }
    location = /metrics { coupon_callback_metrics; }
END

my ($worker) = $nginx->children;
my $inbox = '{coupons}:inbox';
my $number = 0;


sub body
{
    return callback('b' . ++$number, { code => '007', status => 2 });
}


# Sends this much of a callback and keeps the connection.
sub begin
{
    my ($request) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";

    syswrite $socket, $request;
    return $socket;
}


# Closes with a reset instead of a goodbye.
sub reset_it
{
    my ($socket) = @_;

    setsockopt $socket, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
    close $socket;
}


sub metric
{
    my ($name) = @_;

    return get($nginx, '/metrics')->{body} =~ /^\Q$name\E (\S+)$/m ? $1 : 'none';
}


sub lines
{
    return read_file($nginx->{access_log}) =~ tr/\n//;
}


# How many did not wait for their answer; nginx logs them as 499.
sub gone
{
    return scalar(() = read_file($nginx->{access_log}) =~ /" 499 0 "/g);
}


# All went well: the same worker answers, and nothing waits any more.
sub unharmed
{
    my ($name) = @_;

    is post($nginx, '/cb', body(), secret => 's3cret')->{status}, 200,
       "$name: the next one is answered";
    is join(' ', $nginx->children), $worker, '... by the same worker';
    ok +(wait_for { metric('coupon_callback_pending') eq '0' }),
       '... and nothing waits' or diag metric('coupon_callback_pending');
}


is post($nginx, '/cb', body(), secret => 's3cret')->{status}, 200, 'up';


# --- before the body is there

for my $how (['closed', 0], ['reset', 1]) {
    my ($name, $reset) = @$how;
    my $before = lines();

    for my $n (1 .. 50) {
        my $request = request_text('/cb', body(), secret => 's3cret',
                                   $n % 2 ? () : (chunked => 20));
        my $socket = begin(substr $request, 0, -1 - $n % 100);
        $reset ? reset_it($socket) : close $socket;
    }

    ok +(wait_for { lines() >= $before + 50 }), "50 $name in the middle";
    unharmed("50 $name in the middle");
}

is $redis->cmd('XLEN', $inbox), 3, 'no half body was taken';


# --- while Redis has it in hand

for my $how (['closed', 0], ['reset', 1]) {
    my ($name, $reset) = @$how;
    my $before = lines();

    $redis->cmd('DEL', $inbox);
    $redis->pause;
    my @sockets = map { begin(request_text('/cb', body(), secret => 's3cret')) }
                  1 .. 50;
    ok +(wait_for { metric('coupon_callback_pending') eq '50' }),
       "50 wait for Redis";

    $reset ? reset_it($_) : close $_ for @sockets;
    ok +(wait_for { lines() >= $before + 50 }), "... and are $name";
    is join(' ', $nginx->children), $worker, '... which nginx notices';

    $redis->resume;
    unharmed("50 $name while Redis stalls");
    is $redis->cmd('XLEN', $inbox), 51, '... and Redis has what was sent to it';
}

is gone(), 100, 'they are logged as gone';


# --- some go, and some stay

$redis->pause;
my (@gone, @staying);
for my $n (1 .. 20) {
    my $socket = begin(request_text('/cb', body(), secret => 's3cret'));
    push @{ $n % 2 ? \@gone : \@staying }, $socket;
}
ok +(wait_for { metric('coupon_callback_pending') eq '20' }), '20 wait';
reset_it($_) for @gone;
ok +(wait_for { gone() == 110 }), '10 of them go';
$redis->resume;

my @answers = map { local $/; my $answer = readline $_; $answer } @staying;
is scalar(grep { m{^HTTP/1\.1 200 .*"processed":1\}$}s } @answers), 10,
   '10 stay, and are answered';
unharmed('some go, some stay');


# --- what was stored for one who went is a duplicate when it comes again

my $body = body();
$redis->pause;
my $socket = begin(request_text('/cb', $body, secret => 's3cret'));
ok +(wait_for { metric('coupon_callback_pending') eq '1' }), 'one waits';
reset_it($socket);
$redis->resume;
is post($nginx, '/cb', $body, secret => 's3cret')->{status}, 200,
   '... goes, and comes again';
is scalar(grep { $_->{body} eq $body } $redis->entries($inbox)), 1,
   '... and is stored once';


# --- and in the middle of what nginx discards

my $before = lines();
for (1 .. 20) {
    reset_it(begin(request_text('/cb', body(), method => 'PUT')
                   =~ s/(Content-Length: )\d+/${1}100000/r));
}
ok +(wait_for { lines() >= $before + 20 }), '20 go that were refused';
unharmed('20 go that were refused');

done_testing;
