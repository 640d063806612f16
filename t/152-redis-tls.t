# TLS to Redis: whom the module believes, what it shows of itself, what becomes
# of a handshake that goes wrong or nowhere, and that all else works as in clear.

use strict;
use warnings;

use CouponTLS;
use CouponTest;
use FakeRedis;
use Test::More;
use Time::HiRes 'time';

my $dir = pki();
certificate('redis', san => 'DNS:localhost,DNS:redis.example.com');
certificate('address', san => 'IP:127.0.0.1');
certificate('wild', san => 'DNS:*.example.com');
certificate('plain');
certificate('expired', san => 'IP:127.0.0.1', end => '20200102000000Z');
certificate('other', san => 'IP:127.0.0.1', ca => 'stranger');
certificate('client');
certificate('foreign-client', ca => 'stranger');

my $redis = start_tls_redis('redis', requirepass => 'open-sesame');
my $address = start_tls_redis('address');
my $wild = start_tls_redis('wild');
my $plain = start_tls_redis('plain');
my $expired = start_tls_redis('expired');
my $other = start_tls_redis('other');
my $strict = start_tls_redis('address', 'tls-auth-clients' => 'yes');
my $old = start_tls_redis('address', 'tls-protocols' => '"TLSv1.1"',
                          'tls-ciphers' => 'DEFAULT:@SECLEVEL=0');
my $twelve = start_tls_redis('address', 'tls-protocols' => '"TLSv1.2"');
my $beside = CouponRedis::beside('redis-server');
my $fenced = $beside && start_tls_redis('address', program => $beside,
                                        appendfsync => 'everysec');
my $clear = FakeRedis->new;
my $mute = FakeRedis->new;     # a handshake is no command: it waits for one

# where => what stands behind the address in coupon_callback_redis
my %location = (
    name     => "localhost:$redis->{tls} ca=$dir/ca.pem password=open-sesame",
    named    => "127.0.0.1:$redis->{tls} ca=$dir/ca.pem name=redis.example.com"
                . ' password=open-sesame db=3 connections=2',
    misnamed => "127.0.0.1:$redis->{tls} ca=$dir/ca.pem password=open-sesame",
    unnamed  => "localhost:$redis->{tls} ca=$dir/ca.pem name=example.com",
    address  => "127.0.0.1:$address->{tls} ca=$dir/ca.pem",
    one      => "127.0.0.1:$address->{tls} ca=$dir/ca.pem connections=1",
    elsewhere => "127.0.0.1:$address->{tls} ca=$dir/ca.pem name=127.0.0.2",
    wild     => "127.0.0.1:$wild->{tls} ca=$dir/ca.pem name=a.example.com",
    wilder   => "127.0.0.1:$wild->{tls} ca=$dir/ca.pem name=a.b.example.com",
    nameless => "127.0.0.1:$plain->{tls} ca=$dir/ca.pem",
    expired  => "127.0.0.1:$expired->{tls} ca=$dir/ca.pem",
    stranger => "127.0.0.1:$other->{tls} ca=$dir/ca.pem",
    system   => "127.0.0.1:$address->{tls}",
    client   => "127.0.0.1:$strict->{tls} ca=$dir/ca.pem cert=$dir/client.pem"
                . " key=$dir/client.key",
    nobody   => "127.0.0.1:$strict->{tls} ca=$dir/ca.pem",
    intruder => "127.0.0.1:$strict->{tls} ca=$dir/ca.pem"
                . " cert=$dir/foreign-client.pem key=$dir/foreign-client.key",
    old      => "127.0.0.1:$old->{tls} ca=$dir/ca.pem",
    twelve   => "127.0.0.1:$twelve->{tls} ca=$dir/ca.pem",
    $fenced ? (fenced => "127.0.0.1:$fenced->{tls} ca=$dir/ca.pem") : (),
    clear    => "127.0.0.1:$clear->{port} ca=$dir/ca.pem",
    mute     => "127.0.0.1:$mute->{port} ca=$dir/ca.pem",
);
my $https = free_port();
my $locations = join '', map { <<"END" } sort keys %location;
    location = /$_ {
        coupon_callback sportapi;
        coupon_callback_redis $location{$_} tls=on;
        coupon_callback_timeout @{[ $_ eq 'mute' ? '1s' : '9s' ]};
    }
END
my $nginx = start_nginx(server => <<"END");
    listen 127.0.0.1:$https ssl;
    ssl_certificate $dir/address.pem;
    ssl_certificate_key $dir/address.key;
    coupon_callback_secret s3cret;
    $locations
    location = /metrics { coupon_callback_metrics; }
    location = /ok { return 200 ok; }
END
my ($worker) = $nginx->children;
my $number = 0;


sub batch
{
    return callback('b' . ++$number, { code => '7', status => 2 });
}


# The same, with so many bytes that mean nothing.
sub filled
{
    my ($size) = @_;

    return batch() =~ s/"coupons":/"filler":"@{[ 'x' x $size ]}",$&/r;
}


sub send_to
{
    my ($path, $body) = @_;

    return post($nginx, $path, $body // batch(), secret => 's3cret');
}


# Entries with this body, in any database.
sub stored
{
    my ($server, $body, $db) = @_;

    $server->cmd('SELECT', $db // 0);
    return scalar grep { $_->{body} eq $body } $server->entries('{coupons}:inbox');
}


sub taken
{
    my ($what, $path, $server, $db) = @_;
    my $body = batch();

    for my $time ('', ', again') {
        my $answer = send_to($path, $body);
        is $answer->{status}, 200, "$what$time" or diag $answer->{body};
    }
    is stored($server, $body, $db), 1, '... it is stored once';
}


# 503, and the log says why (of each directive one line a second).
sub refused
{
    my ($what, $path, $why) = @_;
    my ($name) = $location{$path =~ s{/}{}r} =~ /^(\S+)/;

    is send_to($path)->{status}, 503, $what;
    ok +(wait_for { read_file($nginx->{error_log})
                    =~ /\[error\] .*Redis \Q$name\E: [^\n]*$why/ }),
       '... and the log says why'
        or diag read_file($nginx->{error_log}) =~ s/.*notice.*\n//gr;
}


# --- whom it believes

taken('a name in the address', '/name', $redis);
taken('name=', '/named', $redis, 3);
taken('an address', '/address', $address);
taken('a name by a wildcard', '/wild', $wild);
taken('TLS 1.2', '/twelve', $twelve);
SKIP: {
    skip 'no Redis 8 (t/bin/fetch-redis.sh)', 3 unless $fenced;
    taken('proven by a fence', '/fenced', $fenced);
}

my $failed = 'TLS: certificate verify failed:';
refused('the address is not in the certificate', '/misnamed',
        qr/$failed IP address mismatch/);
refused('the name is not', '/unnamed', qr/$failed hostname mismatch/);
refused('another address is', '/elsewhere', qr/$failed IP address mismatch/);
refused('a wildcard is one label', '/wilder', qr/$failed hostname mismatch/);
refused('a certificate without an address', '/nameless',
        qr/$failed IP address mismatch/);
refused('a certificate that has expired', '/expired',
        qr/$failed certificate has expired/);
refused('another authority', '/stranger',
        qr/$failed unable to get local issuer certificate/);
refused('... or none that the system knows', '/system',
        qr/$failed self-signed certificate in certificate chain/);
refused('TLS 1.1', '/old', qr/TLS: .*protocol version/);

my $told = qr/cmdstat_(?:auth|info|config|multi)/;
like $address->cmd('INFO', 'commandstats'), $told, 'who is believed is told';
unlike $expired->cmd('INFO', 'commandstats'), $told, '... and nobody else';


# --- whom it shows itself

taken('a certificate of its own', '/client', $strict);
refused('... and the server wants one', '/nobody',
        qr/TLS: .*certificate required/);
refused('... and of an authority that it knows', '/intruder',
        qr/TLS: .*unknown ca/);


# --- no TLS at the other end, or no end at all

$clear->behave(say_on_accept => "-ERR in clear\r\n");
refused('no TLS at the other end', '/clear', qr/TLS: wrong version number/);
$clear->behave(close_on_accept => 1);
refused('closed in the handshake', '/clear', qr/closed|reset/i);

my $start = time;
my $answer = send_to('/mute');
my $took = time - $start;
is $answer->{status}, 503, 'nobody answers the handshake: 503';
cmp_ok $took, '<', 5, '... within its own time, or at once';
ok +(wait_for { read_file($nginx->{error_log})
                =~ /Redis 127\.0\.0\.1:$mute->{port}: no answer/ }),
   '... and the log says why';
is send_to('/address')->{status}, 200, '... and others go on';


# --- sizes

for my $size (44_000, 1_000_000) {
    my $body = filled($size);
    is send_to('/address', $body)->{status}, 200, "$size bytes";
    is stored($address, $body), 1, '... are stored as they are';
}

$address->pause;
my @bodies = map { filled(1_000_000) } 1 .. 8;
my @clients = map { begin($_) } @bodies;
ok +(wait_for { get($nginx, '/metrics')->{body}
                =~ /^coupon_callback_pending 8$/m }),
   '8 MB at once, more than the socket takes';
$address->resume;
is join(' ', map { finish($_) } @clients), join(' ', (200) x 8), '... are taken';
is +(grep { stored($address, $_) == 1 } @bodies), 8, '... and stored';


sub begin
{
    my ($body) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $nginx->{port}) or die "connect: $!";

    print {$socket} request_text('/one', $body, secret => 's3cret');
    return $socket;
}


sub finish
{
    my ($socket) = @_;
    local $/;

    return <$socket> =~ m{^HTTP/1\.1 (\d+)} ? $1 : 'nothing';
}


# --- it comes back

for my $round (1, 2) {
    $redis->kill9 if $round == 1;
    $redis->restart;
    ok +(wait_for { send_to('/name')->{status} == 200 }),
       $round == 1 ? 'Redis killed: it comes back' : '... or restarted';
}
is +($nginx->children)[0], $worker, '... by the same worker';


# --- nothing of it is left behind, to nginx's own use of OpenSSL, or told

is `curl -s --cacert $dir/ca.pem https://127.0.0.1:$https/ok`, 'ok',
   'nginx speaks TLS as well: no error of ours is found by it';

unlike read_file($nginx->{error_log}), qr/open-sesame|BEGIN|PRIVATE/,
       'no secret is in the log';

done_testing;
