# Bodies of any size, on any way: in the buffer of the head, in one buffer, in
# two, in a temporary file; by length or chunked; at once, slowly, pipelined.
#
# The signature is over the bytes, so every 200 says that they were the right
# ones; what lies in the inbox is compared as well.

use strict;
use warnings;

use CouponTest;
use Digest::SHA 'hmac_sha256_hex';
use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Test::More;

my $inbox = '{coupons}:inbox';
my $http2_port = free_port();
my $redis = start_redis();
my $nginx = start_nginx(http => <<"END", server => <<'SERVER');
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_secret s3cret;
    server {
        listen 127.0.0.1:$http2_port http2;
        client_max_body_size 32m;
        location / { coupon_callback sportapi; }
    }
END
    location /default { coupon_callback sportapi; }
    location /short {
        coupon_callback sportapi;
        client_body_timeout 1s;
    }
    location /1k {
        coupon_callback sportapi;
        client_body_buffer_size 1k;
    }
    location /single {
        coupon_callback sportapi;
        client_body_buffer_size 16k;
        client_body_in_single_buffer on;
    }
    location /file {
        coupon_callback sportapi;
        client_body_in_file_only clean;
    }
    location /limit {
        coupon_callback sportapi;
        client_max_body_size 4k;
    }
SERVER

my $number = 0;


# A callback of exactly so many bytes; two of one size are not the same.
sub sized
{
    my ($bytes) = @_;
    my $body = sprintf '{"batchId":"b%d","couponCount":1,"coupons":[{'
                       . '"coupon_code":"7","status":2,"x":"%%s"}]}', ++$number;

    $bytes -= length($body) - 2;
    return sprintf $body, substr 'the quick brown fox ' x ($bytes / 20 + 1), 0,
                                 $bytes;
}


# Sends the pieces with a pause between them, and returns what was answered,
# until the server closes the connection.
sub talk
{
    my ($pause, @pieces) = @_;
    my $answer = '';
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";

    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    local $SIG{PIPE} = 'IGNORE';

    for my $piece (@pieces) {
        syswrite $socket, $piece;
        select undef, undef, undef, $pause if $pause;
    }

    while (IO::Select->new($socket)->can_read(60)) {
        sysread $socket, $answer, 65536, length $answer or last;
    }

    return $answer;
}


# The status of each answer in what came over a connection.
sub statuses
{
    my ($text) = @_;

    return join ' ', $text =~ m{HTTP/1\.1 (\d+)}g;
}


sub delivered
{
    my ($name, $answer, $body) = @_;
    my $last = $redis->cmd('XREVRANGE', $inbox, '+', '-', 'COUNT', 1)->[0];
    my %entry = @{ $last ? $last->[1] : [] };

    is $answer, 200, $name;
    ok(($entry{body} // '') eq $body, '... and stored as it is');
}


# nginx warns of every body that goes to a temporary file.
sub in_a_file
{
    my ($path) = @_;

    return read_file($nginx->{error_log})
           =~ m{a client request body is buffered .* "POST $path HTTP}m;
}


# --- where a body lies

is post($nginx, '/default', sized(200_000), secret => 's3cret')->{status}, 200,
   'a large batch';
ok !in_a_file('/default'), '... stays in memory';
is post($nginx, '/default', sized(400_000), secret => 's3cret')->{status}, 200,
   'a larger one';
ok in_a_file('/default'), '... does not';
is post($nginx, '/1k', sized(5000), secret => 's3cret')->{status}, 200,
   'a buffer that is set';
ok in_a_file('/1k'), '... is as large as it is set';


# --- sizes around every boundary, by every way

my @sizes = (200, 1023, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193, 16383,
             16384, 16385, 32768, 43_000, 65535, 65536, 65537, 262_143,
             262_144, 262_145, 1_048_576);

for my $path (qw(/default /1k /single /file)) {
    for my $size (@sizes) {
        my $body = sized($size);
        my $answer = post($nginx, $path, $body, secret => 's3cret');
        delivered("$path, $size bytes", $answer->{status}, $body);

        for my $chunk ($size, int($size / 3) + 1) {
            $body = sized($size);
            $answer = post($nginx, $path, $body, secret => 's3cret',
                           chunked => $chunk);
            delivered("$path, $size bytes in chunks of $chunk",
                      $answer->{status}, $body);
        }
    }
}

$redis->cmd('FLUSHALL');
my @bodies = map { sized($_) } 100 .. 1200;
my $accepted = grep { $_->{status} == 200 }
               map { post($nginx, '/default', $_, secret => 's3cret') } @bodies;
is $accepted, scalar @bodies, 'every size from 100 to 1200 bytes';
is_deeply [ map { $_->{body} } $redis->entries($inbox) ], \@bodies,
          '... stored as they are';


# --- in pieces

for my $path (qw(/default /1k /file)) {
    my $body = sized(300);
    my $request = request_text($path, $body, secret => 's3cret');
    my ($head) = $request =~ /^(.*?\r\n\r\n)/s;

    delivered("$path: head and body apart",
              statuses(talk(0.01, $head, $body)), $body);

    $body = sized(300);
    $request = request_text($path, $body, secret => 's3cret');
    delivered("$path: in two pieces, cut in the body",
              statuses(talk(0.01, unpack 'a400 a*', $request)), $body);

    $body = sized(120);
    $request = request_text($path, $body, secret => 's3cret');
    ($head) = $request =~ /^(.*?\r\n\r\n)/s;
    delivered("$path: byte by byte",
              statuses(talk(0.002, $head, split //, $body)), $body);

    $body = sized(120);
    $request = request_text($path, $body, secret => 's3cret', chunked => 1);
    delivered("$path: chunks of one byte", statuses(talk(0, $request)), $body);

    $body = sized(120);
    $request = request_text($path, $body, secret => 's3cret', chunked => 10);
    delivered("$path: chunks in single bytes",
              statuses(talk(0.001, split //, $request)), $body);
}

for my $way ([], [chunked => 1]) {
    my $answer = post($nginx, '/default', '', secret => 's3cret', @$way);
    is $answer->{status}, 400, "no bytes, well signed @$way";
    $answer = post($nginx, '/default', '', @$way);
    is $answer->{status}, 401, "no bytes, not signed @$way";
    $answer = post($nginx, '/default', 'x', secret => 's3cret', @$way);
    is $answer->{status}, 400, "one byte, well signed @$way";
}


# --- HTTP around it

my $body = sized(50_000);
my $signature = hmac_sha256_hex($body, 's3cret');
my $head = "POST /default HTTP/1.1\r\nHost: x\r\nX-Signature: $signature\r\n"
           . "Connection: close\r\n";

my $text = talk(0, $head . "Expect: 100-continue\r\nContent-Length: 50000\r\n\r\n",
                $body);
delivered('Expect: 100-continue', statuses($text) =~ s/^100 //r, $body);
like $text, qr{^HTTP/1\.1 100 Continue\r\n\r\n}, '... and told to go on';

$redis->cmd('FLUSHALL');
@bodies = map { sized($_) } 150, 9000, 200, 40_000, 300;
my @requests = map { request_text('/default', $_, secret => 's3cret',
                                  headers => { Connection => 'keep-alive' }) }
               @bodies;
$requests[-1] =~ s/keep-alive/close/;
is statuses(talk(0, join '', @requests)), '200 200 200 200 200',
   'five requests in one piece';
is_deeply [ map { $_->{body} } $redis->entries($inbox) ], \@bodies,
          '... stored in their order';

my $mixed = join '', request_text('/default', $bodies[0],
    headers => { Connection => 'keep-alive', 'X-Signature' => 'f' x 64 }),
    request_text('/default', $bodies[0], secret => 's3cret');
is statuses(talk(0, $mixed)), '401 200', 'an unsigned one, and a signed one';


# --- what is too much, too little, or broken

is post($nginx, '/limit', sized(4096), secret => 's3cret')->{status}, 200,
   'as much as is allowed';

for my $way ([], [chunked => 1000], [chunked => 5000]) {
    my $answer = post($nginx, '/limit', sized(4097), secret => 's3cret', @$way);
    is $answer->{status}, 413, "a byte too much @$way";
    like $answer->{body}, qr/^\{"success":false,"error":"too_large",/,
         '... in JSON';
}

$text = talk(0, $head . "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n");
is statuses($text), '400', 'a broken chunk';
like $text, qr/\r\n\r\n\{"success":false,"error":"bad_request",/,
     '... in JSON';

$text = talk(0, $head =~ s{/default}{/short}r
                . "Content-Length: 100\r\n\r\nhello");
is $text, '', 'a body that does not come: closed, as nginx does';
ok +(wait_for { read_file($nginx->{access_log}) =~ /" 408 0 "/ }),
   '... and logged as 408';


# --- HTTP/2, if this curl can

SKIP: {
    skip 'curl without HTTP/2', 4 if `curl -V` !~ /HTTP2/;

    for my $size (200, 43_000) {
        $body = sized($size);
        write_file(workdir() . '/body', $body);
        $signature = hmac_sha256_hex($body, 's3cret');
        my $status = `curl -sS --http2-prior-knowledge -o /dev/null \\
            -w '%{http_code} %{http_version}' -H 'X-Signature: $signature' \\
            --data-binary \@@{[ workdir() ]}/body http://127.0.0.1:$http2_port/cb`;
        delivered("HTTP/2, $size bytes", $status =~ s/ 2$//r, $body);
    }
}

done_testing;
