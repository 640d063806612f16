#!/usr/bin/perl

# The way to the API as it is in earnest: HTTPS with a certificate that is
# verified, HTTP/2, one connection for all requests.  nginx, with certificates
# made here, stands before the API of the tests.

use strict;
use warnings;

use lib 't/lib';
use CouponAPI;
use CouponTest;
use Test::More;

my $dir = workdir();
my $api = start_api();
my ($port, $other) = map { free_port() } 1 .. 2;


sub openssl
{
    system("cd '$dir' && openssl $_[0] 2>/dev/null") == 0
        or die "openssl $_[0]";
    return;
}


# An authority, a certificate of it for this machine, and one for another name.
openssl("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2"
        . " -subj '/CN=Test CA'");
for my $name ('127.0.0.1', 'api.example.com') {
    my $kind = $name =~ /^\d/ ? 'IP' : 'DNS';
    write_file("$dir/$name.ext", "subjectAltName = $kind:$name\n");
    openssl("req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr"
            . " -subj /CN=$name");
    openssl("x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial"
            . " -days 2 -extfile $name.ext -out $name.pem");
}

my $server = join '', map { <<"END" } [$port, '127.0.0.1'],
    server {
        listen 127.0.0.1:$_->[0] ssl http2;
        ssl_certificate $dir/$_->[1].pem;
        ssl_certificate_key $dir/$_->[1].key;
        location / {
            proxy_pass $api->{url};
            proxy_http_version 1.1;
        }
    }
END
    [$other, 'api.example.com'];

my $nginx = start_nginx(http => <<"END");
log_format api '\$connection \$server_protocol \$status \$request_uri';
access_log $dir/api.log api;
$server
END


sub config
{
    my ($url, %options) = @_;

    return settle_config(url => 'redis://127.0.0.1:1/0',
        api_config($api, base_url => $url, ca_file => "$dir/ca.pem",
                   %options));
}


sub once
{
    my ($status, undef, $err) = settle_command($_[0], 'poll', '--once');

    return ($status, $err);
}


# --- one connection

$api->coupon("c$_", status => 15) for 1 .. 3;
$api->coupon('c4', status => 2, real_win => 1, calculated => $api->now);

my $config = config("https://127.0.0.1:$port/");
my ($status, $err) = once($config);
is($status, 0, 'over TLS') or diag $err;
my @codes = map { $_->[0] } ledger($config, 'SELECT coupon_code FROM coupons');
is_deeply(\@codes, ['c4'], '... it is the same API');

settle_command($config, 'recover');
my @lines = grep { m{ 200 /api/} } split /\n/, read_file("$dir/api.log");
cmp_ok(scalar @lines, '>', 100, 'a recovery makes many requests');
my %connection = map { /^(\d+)/ => 1 } @lines[1 .. $#lines];
is(keys %connection, 1, 'all requests of a command take one connection');
like(read_file("$dir/api.log"), qr{^\d+ HTTP/2\.0 200 /api}m, '... of HTTP/2');


# --- whom it believes

($status, $err) = once(config("https://127.0.0.1:$other"));
is($status, 1, 'a certificate for another name');
like($err, qr/does not match target|no alternative certificate/i, '... is said');

($status, $err) = once(config("https://127.0.0.1:$port", ca_file => undef));
is($status, 1, 'an authority that the system does not know');
like($err, qr/unable to get local issuer|certificate/i, '... is said');

($status, $err) = once(config("https://127.0.0.1:$api->{port}"));
is($status, 1, 'no TLS at the other end');
like($err, qr/ssl|tls/i, '... is said');

($status, $err) = once(config("https://127.0.0.1:$port",
                              ca_file => "$dir/none.pem"));
is($status, 1, 'no file of authorities');
like($err, qr/none\.pem|CA|certificate/, '... is said');

my $asked = grep { / 200 / } split /\n/, read_file("$dir/api.log");
once(config("https://127.0.0.1:$other"));
is((grep { / 200 / } split /\n/, read_file("$dir/api.log")), $asked,
   'who is not believed gets no request, and no token');

done_testing;
