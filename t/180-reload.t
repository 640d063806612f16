# Reloads and stops, seen from the module: callbacks in flight are answered by
# the worker that has them, idle workers go at once, and nothing is left behind:
# "open socket left in connection" would be an [alert], and fail this test.

use strict;
use warnings;

use CouponTest;
use IO::Socket::INET;
use List::Util 'min';
use Test::More;
use Time::HiRes 'time';

my $redis = start_redis();
my $other = start_redis();
my $secret = write_file(workdir() . '/secret', "s3cret\n");
my $number = 0;
my $nginx;

# seconds an old worker may take; one that a timer holds takes three or more, and
# does so each time: a machine that has something else to do is tried again
my $soon = 2;
my $tries = 5;


# The configuration; the receiving location may be another, or none.
sub options
{
    my ($location, $server) = @_;

    $location //= 'location = /cb { coupon_callback sportapi; }';
    $server //= $redis;
    return (workers => 2, server => <<"END");
        coupon_callback_redis 127.0.0.1:$server->{port} connections=3;
        coupon_callback_secret file:$secret;
        $location
        location = /metrics { coupon_callback_metrics; }
        location = /ok { return 200 ok; }
END
}


sub body
{
    return callback('b' . ++$number, { code => '007', status => 2 });
}


sub send_one
{
    my (%options) = @_;

    return post($nginx, '/cb', body(), secret => 's3cret', %options)->{status};
}


# Sends a callback and does not wait for its answer.
sub begin
{
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";

    syswrite $socket, request_text('/cb', body(), secret => 's3cret');
    return $socket;
}


# The status of what comes back; 0 if nothing does.
sub answer
{
    my ($socket) = @_;
    local $/;
    my $text = readline $socket;

    close $socket;
    return defined $text && $text =~ m{^HTTP/1\.1 (\d+)} ? $1 : 0;
}


sub pending
{
    return get($nginx, '/metrics')->{body}
           =~ /^coupon_callback_pending (\d+)$/m ? $1 : -1;
}


# How many clients this Redis has, this test not counted.
sub clients
{
    my ($server) = @_;

    return scalar(() = $server->cmd('CLIENT', 'LIST') =~ /^id=/mg) - 1;
}


sub among
{
    my ($pid, @pids) = @_;

    return scalar grep { $_ == $pid } @pids;
}


# Waits until all these processes are gone; the seconds that took.
sub gone
{
    my (@pids) = @_;
    my $begin = time;

    wait_for { !grep { among($_, $nginx->children) } @pids };
    return time - $begin;
}


# nginx has read its new configuration and started new workers.
sub renewed
{
    my (@old) = @_;

    return wait_for { grep { !among($_, @old) } $nginx->children };
}


$nginx = start_nginx(options());
is send_one(), 200, 'up';
ok +(wait_for { clients($redis) == 6 }), 'two workers, three connections each';


# --- idle: they go at once

my @took;

for my $round (1 .. 5) {
    my @old = $nginx->children;

    $nginx->reload;
    is scalar(grep { send_one() == 200 } 1 .. 50), 50,
       "reload $round: callbacks meanwhile";
    push @took, gone(@old);
    is send_one(), 200, '... and the new ones take callbacks';
}

cmp_ok min(@took), '<', $soon, 'the old workers are gone soon';

ok +(wait_for { clients($redis) == 6 }), 'and no connection is left over'
    or diag clients($redis);


# --- busy: the old workers answer what they have, whatever the new ones do

# From one configuration to another; the server is that of the first.
sub busy
{
    my ($name, $server, $from, %options) = @_;
    my $took;

    for my $try (1 .. $tries) {
        if ($try > 1) {
            my @wrong = $nginx->children;
            $nginx->reload(%$from);
            gone(@wrong);
        }

        my @old = $nginx->children;

        $server->pause;
        my @sockets = map { begin() } 1 .. 20;
        ok +(wait_for { pending() == 20 }), '20 wait for Redis';
        $nginx->reload(%options);
        ok renewed(@old), "... a reload: $name";
        $server->resume;
        is_deeply [ map { answer($_) } @sockets ], [ (200) x 20 ],
                  '... all of them are answered';
        $took = gone(@old);
        last if $took < $soon;
    }

    cmp_ok $took, '<', $soon, '... and the old workers go then';
}

busy('the same', $redis, { options() }, options());
busy('another Redis', $redis, { options() }, options(undef, $other));
is send_one(), 200, 'the new Redis takes the next one';
ok grep({ $_->{id} eq "b$number" } $other->entries('{coupons}:inbox')),
   '... it is there';
ok +(wait_for { clients($redis) == 0 }), '... and the old one is left alone';
busy('the location is gone', $other, { options(undef, $other) },
     options('location = /cb { return 404; }'));
is send_one(), 404, 'it is gone';
ok +(wait_for { clients($other) == 0 }), '... and so are the connections';


# --- a new secret; a configuration that is refused

my @old = $nginx->children;
$nginx->reload(options());
ok +(wait_for { send_one() == 200 }), 'the location is back';
gone(@old);

@old = $nginx->children;
write_file($secret, "new\n");
is send_one(), 200, 'a secret is read with the configuration';
$nginx->reload(options());
ok renewed(@old), '... which is read again';
ok +(wait_for { send_one(secret => 'new') == 200 }), '... the new one counts';
gone(@old);
is send_one(), 401, '... and the old one does not';

@old = sort $nginx->children;
write_file($secret, '');
$nginx->reload;
ok +(wait_for { read_file($nginx->{error_log})
                =~ /\[emerg\] .*coupon_callback_secret.* empty/ }),
   'an empty secret is refused';
is send_one(secret => 'new'), 200, '... and all goes on as it was';
is_deeply [ sort $nginx->children ], \@old, '... with the same workers';
allow_log(qr/\[emerg\] .*coupon_callback_secret.* empty/);
write_file($secret, "s3cret\n");


# --- Redis is away while it is reloaded

$redis->stop;
@old = $nginx->children;
$nginx->reload(options());
gone(@old);
is send_one(), 503, 'Redis is away: the new workers say so';
@took = ();
for (1 .. $tries) {
    @old = $nginx->children;
    $nginx->reload(options());
    push @took, gone(@old);
    last if $took[-1] < $soon;
}
cmp_ok min(@took), '<', $soon, '... and go soon all the same';
$redis->start;
ok +(wait_for { send_one() == 200 }), '... and it is back, without a reload';
ok +(wait_for { clients($redis) == 6 }), '... with all connections';


# --- stops

$redis->pause;
my @sockets = map { begin() } 1 .. 10;
ok +(wait_for { pending() == 10 }), '10 wait for Redis';
$nginx->signal('QUIT');
ok +(wait_for { !IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $nginx->{port}) }),
   '... a graceful stop: nobody else is let in';
$redis->resume;
is_deeply [ map { answer($_) } @sockets ], [ (200) x 10 ],
          '... they are answered';
is $nginx->wait, 0, '... and nginx ends';

$nginx->start;
ok +(wait_for { (eval { send_one() } // 0) == 200 }), 'up again';
ok +(wait_for { clients($redis) == 6 }), '... with all connections';
$redis->pause;
@sockets = map { begin() } 1 .. 10;
ok +(wait_for { pending() == 10 }), '10 wait for Redis';
$nginx->signal('TERM');
is $nginx->wait, 0, '... a quick stop ends nginx';
is_deeply [ map { answer($_) } @sockets ], [ (0) x 10 ],
          '... and they are answered nothing';
$redis->resume;

unlike read_file($nginx->{error_log}), qr/open socket|\[alert\]/,
       'nothing was left open';

done_testing;
