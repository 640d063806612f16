# The metrics: a text that Prometheus reads, and numbers that are right, over
# all workers and over a reload.

use strict;
use warnings;

use CouponMetrics;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

my $redis = start_redis();
my $dead = free_port();
my $long = '/' . "\xc3\xa9" x 70;
my %options = (workers => 2, server => <<"END");
    server_name first.example second.example;
    coupon_callback_redis 127.0.0.1:$redis->{port} connections=3;
    coupon_callback_secret s3cret;
    location = /cb { coupon_callback sportapi; }
    location = /idle { coupon_callback sportapi; }
    location = $long { coupon_callback sportapi; }
    location = "/a\\"b\\\\c" { coupon_callback sportapi; }
    location = /dead {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$dead connections=2;
    }
    location = /metrics { coupon_callback_metrics; }
    location = /limited {
        coupon_callback_metrics;
        deny all;
    }
END
my $nginx = start_nginx(%options);
my $number = 0;
my $cb = '{server="first.example",location="/cb"';


sub body
{
    my ($coupons) = @_;

    return callback('b' . ++$number,
                    map { { code => $_, status => 2 } } 1 .. $coupons // 1);
}


sub send_one
{
    my ($path, $body) = @_;

    return post($nginx, $path, $body // body(), secret => 's3cret')->{status};
}


# The page as { sample => value }, once everything in it was checked.
sub scrape
{
    my $answer = get($nginx, '/metrics');
    my ($sample, @wrong) = metrics_parse($answer->{body});

    is_deeply \@wrong, [], 'the text is well-formed' or diag $answer->{body};
    return %$sample;
}


sub result
{
    my ($sample, $result, $location) = @_;

    return $sample->{'coupon_callback_requests_total{server="first.example",'
                     . 'location="' . ($location // '/cb')
                     . qq(",result="$result"})};
}


# A reload, until the workers of before are gone.
sub reloaded
{
    my (%changed) = @_;
    my @workers = $nginx->children;

    $nginx->reload(%options, %changed);
    return wait_for { my @now = $nginx->children;
                      @now == 2 && !grep { my $pid = $_; grep { $_ == $pid } @now }
                                   @workers };
}


# --- the page itself

my $answer = get($nginx, '/metrics');
is $answer->{status}, 200, 'the page';
is $answer->{headers}{'content-type'}, 'text/plain; version=0.0.4',
   '... is of the type that Prometheus wants';
is $answer->{headers}{'content-length'}, length $answer->{body},
   '... and as long as it says';
is get($nginx, '/limited')->{status}, 403, 'access rules apply';
is post($nginx, '/metrics', 'x')->{status}, 405, 'it is not posted to';
like post($nginx, '/metrics', '', method => 'HEAD')->{headers}{'content-length'},
     qr/^\d+$/, 'HEAD';

my %sample = scrape();
for my $result (qw(accepted duplicate conflict unsigned malformed unavailable
                   timeout overloaded))
{
    is result(\%sample, $result, $_), 0, "$result in $_ begins at 0"
        for '/cb', '/idle', '/a\"b\\\\c';
}
is result(\%sample, 'accepted', substr $long, 0, 127), 0,
   'a label that is too long ends with a whole character';


# --- counted, whichever worker it was

my @answers = post_all($nginx, map { ['/cb', body(2), secret => 's3cret'] }
                               1 .. 40);
is scalar(grep { $_->{status} == 200 } @answers), 40, '40 callbacks';
my $body = body(1);
is send_one('/cb', $body), 200, 'one more';
is send_one('/cb', $body), 200, '... again';
is send_one('/cb', $body =~ s/:2/:3/r), 200, '... and with another body';
is post($nginx, '/cb', $body)->{status}, 401, '... and unsigned';
is send_one('/cb', '{}'), 400, '... and malformed';
is send_one('/dead'), 503, 'one that Redis does not get';
is send_one('/a%22b%5Cc'), 200, 'a location with a strange name';
is get($nginx, '/cb')->{status}, 405, 'no callback at all';

%sample = scrape();
my %expected = (accepted => 41, duplicate => 1, conflict => 1, unsigned => 1,
                malformed => 1, unavailable => 0, timeout => 0, overloaded => 0);
is result(\%sample, $_), $expected{$_}, "counted: $_" for sort keys %expected;
is result(\%sample, 'unavailable', '/dead'), 1, 'counted: unavailable';
is result(\%sample, 'accepted', '/a\"b\\\\c'), 1, 'labels are escaped';
is result(\%sample, 'accepted', '/idle'), 0, 'others are others';

is $sample{"coupon_callback_coupons_total$cb}"}, 81, 'coupons';
my $bytes = 0;
$bytes += length for (map { callback("b$_", { code => 1, status => 2 },
                                     { code => 2, status => 2 }) } 1 .. 40),
                     ($body) x 4, '{}';
is $sample{"coupon_callback_body_bytes_total$cb}"}, $bytes, 'bytes of bodies';
is $sample{"coupon_callback_request_seconds$cb}"} // 'none', 'none',
   'no sample beside the histogram';
cmp_ok $sample{'coupon_callback_redis_errors_total{kind="connect"}'}, '>', 0,
       'errors of Redis';

ok +(wait_for { my %now = scrape_quietly();
                $now{coupon_callback_redis_connections_up} == 6 }),
   'connections of both workers are up';
is $sample{coupon_callback_redis_connections}, 10, '... of those configured';
is $sample{coupon_callback_pending}, 0, '... and nothing waits';


# The time is short because a connection that the kernel has shown only to a
# worker that is killed then waits for the next one to come.
sub scrape_quietly
{
    return get($nginx, '/metrics', timeout => 2)->{body}
           =~ /^(coupon_\S+) (\S+)$/mg;
}


# --- histograms

my $page = get($nginx, '/metrics')->{body};
my ($requests) = $page =~ /^coupon_callback_request_seconds_count\Q$cb\E\} (\d+)/m;
my ($asked) = $page =~ /^coupon_callback_redis_seconds_count\Q$cb\E\} (\d+)/m;
is $requests, 45, 'all callbacks are in the histogram of requests';
is $asked, 44, '... and those that Redis was asked for in its own';

$redis->pause;
my $begin = time;
my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                   PeerPort => $nginx->{port});
print {$socket} request_text('/cb', body(), secret => 's3cret');
$socket->flush;
ok +(wait_for { my %now = scrape_quietly(); $now{coupon_callback_pending} == 1 }),
   'one waits';
wait_for { time - $begin > 0.6 };
$redis->resume;
like scalar readline $socket, qr/ 200 /, '... and is answered';

my ($sum) = get($nginx, '/metrics')->{body}
    =~ /^coupon_callback_redis_seconds_sum\Q$cb\E\} (\S+)/m;
cmp_ok $sum, '>=', 0.6, 'its time is in the sum';
cmp_ok $sum, '<', time - $begin + 44, '... in seconds';


# --- over a reload

my %before = scrape();
ok reloaded(), 'reloaded';
my %after = scrape();
my @lower = grep { /_total|_count|_bucket|_sum/
                   && ($after{$_} // -1) < $before{$_} } keys %before;
is_deeply \@lower, [], 'no counter has lost anything';

is send_one('/cb'), 200, 'one more';
my %later = scrape();
is result(\%later, 'accepted'), result(\%after, 'accepted') + 1, '... counts on';
ok +(wait_for { my %now = scrape_quietly();
                $now{coupon_callback_redis_connections_up} == 6
                && $now{coupon_callback_redis_connections} == 10 }),
   'connections of workers that are gone do not count';

$nginx->reload(%options, server => $options{server}
               =~ s/location = .idle/location = \/new/r);
ok +(wait_for { my $text = get($nginx, '/metrics')->{body};
                $text =~ /location="\/new",result="accepted"\} 0/ }),
   'a new location appears';
is result({ scrape() }, 'accepted'), result(\%later, 'accepted'),
   '... and the others keep what they had';
is result({ scrape() }, 'accepted', '/idle'), undef,
   '... and one that is gone is shown no more';


# --- over many reloads: no name stays in the way of another

for my $name ('b', 'c', 'd') {
    my $more = join '', map { "location = /$name$_ { coupon_callback sportapi; }" }
                        1 .. 251;

    ok reloaded(server => $options{server} . $more),
       "256 locations, 251 of them are new: $name";
    is send_one("/${name}1"), 200, '... one takes a callback';

    my %now = scrape();
    is result(\%now, 'accepted', "/${name}1"), 1, '... counts from 0';
    is result(\%now, 'accepted'), result(\%later, 'accepted'),
       '... and the old ones keep what they had';
}


# --- a worker that is killed leaves nothing behind in the gauges

wait_for { $nginx->children == 2 };
kill 'KILL', ($nginx->children)[0];
ok +(wait_for { my %now = scrape_quietly();
                ($now{coupon_callback_redis_connections} // 0) == 10
                && $now{coupon_callback_redis_connections_up} == 6 }),
   'a worker killed: its place is taken';
allow_log(qr/exited on signal 9/);

done_testing;
