# Anything in any order: good and bad requests, in pieces, given up halfway or
# not, over connections that live on; a Redis that is paused, killed, filled up
# or well; reloads.  Afterwards every callback that was answered 200 is in the
# inbox, once, no other than those that were sent is, and no worker has died.
#
# SEED repeats a run, SECONDS (6) makes it longer.

use strict;
use warnings;

use CouponTest;
use Errno qw(EAGAIN EWOULDBLOCK);
use IO::Select;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_LINGER);
use Test::More;
use Time::HiRes 'time';

use constant CLIENTS => 24;

my $seed = $ENV{SEED} // time ^ $$;
my $seconds = $ENV{SECONDS} // 6;
my $redis = start_redis();
my %options = (workers => 2, level => 'notice', server => <<"END");
    coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
    coupon_callback_secret s3cret;
    coupon_callback_timeout 500ms;
    coupon_callback_max_pending 16;
    client_body_timeout 2s;
    location = /cb { coupon_callback sportapi; }
    location = /file {
        coupon_callback sportapi;
        client_body_buffer_size 1k;
    }
    location = /metrics { coupon_callback_metrics; }
END
my $nginx = start_nginx(%options);
my $number = 0;
my (%sent, %acknowledged, %statuses, @clients);

diag "SEED=$seed";
srand $seed;


sub chance
{
    return rand() < $_[0];
}


sub one_of
{
    return $_[ rand @_ ];
}


# A callback that nobody has sent before, of a random size.
sub fresh
{
    my $id = 'b' . ++$number;
    my $body = callback($id, map { { code => "c$_", status => 2,
                                     real_win => 1 } }
                             1 .. one_of(1, 1, 1, 5, 40, 100));

    $sent{$id} = $body;
    return ($id, $body);
}


# A request, and the id it has if a 200 acknowledges that.
sub anything
{
    my $path = one_of('/cb', '/cb', '/file');
    my %keep = (headers => { Connection => one_of('keep-alive', 'close') });
    my ($id, $body) = chance(0.2) && $number ? again() : fresh();

    return (request_text($path, $body, secret => 's3cret', %keep,
                         chance(0.3) ? (chunked => one_of(1, 7, 1000)) : ()),
            $id) if chance(0.7);

    return request_text($path, $body, secret => 'wrong', %keep) if chance(0.2);
    return request_text($path, one_of('', '{}', 'x' x 5000), %keep,
                        secret => 's3cret') if chance(0.3);
    return request_text($path, $body, method => one_of(qw(GET PUT HEAD)), %keep)
        if chance(0.3);
    return request_text($path, $body, secret => 's3cret', headers => {
                        'Content-Encoding' => 'gzip' }) if chance(0.3);
    return request_text('/metrics', '', method => 'GET', %keep) if chance(0.3);

    # bytes turned around somewhere
    my $text = request_text($path, $body, secret => 's3cret', chunked => 50);
    substr($text, rand length $text, 1) = chr rand 256 for 1 .. 3;
    return $text;
}


sub again
{
    my $id = 'b' . (1 + int rand $number);

    return ($id, $sent{$id});
}


# One connection does one thing: connects, sends some, reads what is there, or
# goes away.
sub step
{
    my ($client) = @_;

    if (!$client->{socket}) {
        $client->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
            PeerPort => $nginx->{port}) or return;
        $client->{socket}->blocking(0);
        @$client{qw(in out ids)} = ('', '', []);
    }

    if ($client->{out} eq '' && !@{ $client->{ids} }) {
        my ($text, $id) = anything();
        $client->{out} = $text;
        $client->{ids} = [ $id // '' ];
        $client->{patience} = time + 8;
        $client->{head} = $text =~ /^HEAD/;
    }

    my $n = chance(0.5) ? length $client->{out} : 1 + int rand 200;
    my $written = syswrite $client->{socket}, $client->{out}, $n;
    substr $client->{out}, 0, $written // 0, '';
    my $lost = !defined $written && $! != EAGAIN && $! != EWOULDBLOCK;

    my $read = sysread $client->{socket}, $client->{in}, 65536,
                       length $client->{in};
    $lost ||= defined $read ? $read == 0 : $! != EAGAIN;
    answered($client);
    return unless $client->{socket};

    return leave($client, 0) if $lost;
    leave($client, chance(0.5)) if chance(0.01) || time > $client->{patience};
}


# Takes a whole answer off what has come in.
sub answered
{
    my ($client) = @_;
    my ($status, $length) = $client->{in}
        =~ m{\AHTTP/1\.1 (\d+) .*?^Content-Length: (\d+)\r\n.*?\r\n\r\n}ms
        or return;
    my $end = $+[0] + ($client->{head} ? 0 : $length);

    return if length $client->{in} < $end;
    my $id = shift @{ $client->{ids} };
    $statuses{$status}++;
    $acknowledged{$id} = 1 if $status == 200 && $id ne '';
    substr $client->{in}, 0, $end, '';

    # what comes behind an early answer is nobody's request
    leave($client, 0) if $client->{out} ne '' || $status >= 400;
}


sub leave
{
    my ($client, $reset) = @_;

    setsockopt $client->{socket}, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0
        if $reset;
    close $client->{socket};
    %$client = ();
}


# What happens to the servers, and how it is put right again.
my @events = (
    sub { $redis->pause; sub { $redis->resume } },
    sub { $redis->kill9; sub { $redis->restart } },
    sub { $redis->try('CONFIG', 'SET', 'maxmemory', 1);
          sub { $redis->try('CONFIG', 'SET', 'maxmemory', 0) } },
    sub { $redis->try('CLIENT', 'KILL', 'TYPE', 'normal'); sub { } },
    sub { $nginx->reload; sub { } },
    sub { $nginx->reload(%options); sub { } },
);


local $SIG{PIPE} = 'IGNORE';
@clients = map { {} } 1 .. CLIENTS;
my $end = time + $seconds;
my $next = time + 0.3;
my $repair;

# on a slow machine for longer, so that there is something to look at
while (time < $end || ($statuses{200} // 0) <= 100 && time < $end + 60) {
    step($_) for @clients;
    select undef, undef, undef, 0.001;
    next if time < $next;

    $next = time + 0.1 + rand 0.5;
    if ($repair) {
        $repair->();
        $repair = undef;
    } else {
        $repair = one_of(@events)->();
    }
}

$repair->() if $repair;
$_->{socket} && leave($_, 1) for @clients;


# --- afterwards

my ($id, $body) = fresh();
ok +(wait_for { post($nginx, '/cb', $body, secret => 's3cret')->{status} == 200 }),
   'all is well again';
$acknowledged{$id} = 1;
ok +(wait_for { get($nginx, '/metrics')->{body}
                =~ /^coupon_callback_pending 0$/m }), 'nothing waits';

my (%stored, @strange);
for my $entry ($redis->entries('{coupons}:inbox')) {
    $stored{ $entry->{id} }++;
    push @strange, $entry->{id}
        if ($sent{ $entry->{id} } // '') ne $entry->{body};
}
is_deeply [ grep { !$stored{$_} } keys %acknowledged ], [],
          'what was acknowledged is there';
is_deeply [ grep { $stored{$_} > 1 } keys %stored ], [], '... and once';
is_deeply \@strange, [], '... and is what was sent';
unlike read_file($nginx->{error_log}), qr/exited on signal/, 'no worker has died';

diag join ' ', map { "$_: $statuses{$_}" } sort keys %statuses;
cmp_ok $statuses{200} // 0, '>', 100, 'there was something to do';

done_testing;
