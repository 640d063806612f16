#!/usr/bin/perl

# The daemon's way to Redis over TLS: whom it believes, what it shows of itself,
# what `check` says where that goes wrong, and that all else works as in clear.

use strict;
use warnings;

use lib 't/lib';
use CouponTLS;
use CouponTest;
use FakeRedis;
use Test::More;

my $inbox = '{coupons}:inbox';
my $dir = pki();
certificate('redis', san => 'DNS:localhost,DNS:redis.example.com');
certificate('address', san => 'IP:127.0.0.1');
certificate('expired', san => 'IP:127.0.0.1', end => '20200102000000Z');
certificate('client');
certificate('foreign', ca => 'stranger');
openssl('pkey -in client.key -aes256 -passout pass:hush -out locked.key');
write_file("$dir/empty", '');
write_file(workdir() . '/password', "open-sesame\n");

my $redis = start_tls_redis('redis', requirepass => 'open-sesame');
my $address = start_tls_redis('address');
my $expired = start_tls_redis('expired');
my $strict = start_tls_redis('address', 'tls-auth-clients' => 'yes');
my $fake = FakeRedis->new;
my %login = (password_file => workdir() . '/password');
my $number = 0;


# A configuration for this server, with what [redis] has beside it.
sub config
{
    my ($server, %options) = @_;
    my $host = delete $options{host} // '127.0.0.1';
    my $port = $server->{tls} // $server->{port};

    return settle_config(redis => { url => "rediss://$host:$port/0",
                                    ca => "$dir/ca.pem", %options });
}


# What `check` says of Redis.
sub check
{
    my ($config) = @_;
    my (undef, $out, $err) = settle_command($config, 'check');

    return join '', grep { /Redis/ } map { "$_\n" } split /\n/, $out . $err;
}


sub believed
{
    my ($what, @config) = @_;

    like check(config(@config)), qr/^ok     Redis \S+, version/, $what;
}


sub refused
{
    my ($what, $why, @config) = @_;

    like check(config(@config)), qr/^wrong  Redis \S+: $why/, $what;
}


# A mistake in the configuration, which no command gets past.
sub wrong
{
    my ($what, $why, $config) = @_;
    my ($status, undef, $err) = settle_command($config, 'check');

    is $status, 1, $what;
    like $err, qr/: \[redis\] $why$/, '... is said';
    unlike $err, qr/hush/, '... and no secret';
}


# --- whom it believes

believed('a name in the url', $redis, host => 'localhost', %login);
believed('name', $redis, name => 'redis.example.com', %login);
believed('an address', $address);
believed('a certificate of its own', $strict, cert => "$dir/client.pem",
         key => "$dir/client.key");

my $failed = 'TLS: certificate verify failed:';
refused('the address is not in the certificate',
        "$failed IP address mismatch", $redis, %login);
refused('the name is not', "$failed hostname mismatch", $redis,
        name => 'example.com', %login);
refused('a certificate that has expired',
        "$failed certificate has expired", $expired);
refused('another authority', "$failed .*certificate", $address,
        ca => "$dir/stranger.pem");
refused('... or none that the system knows', "$failed .*certificate", $address,
        ca => undef);
# its alert may be overtaken by the end of the connection
refused('the server wants a certificate',
        '(?:TLS: .*certificate required|.*(?i:closed|reset))', $strict);
refused('... of an authority that it knows', '(?:TLS: .*unknown ca|.*(?i:closed|reset))', $strict,
        cert => "$dir/foreign.pem", key => "$dir/foreign.key");

$fake->behave(say_on_accept => "-ERR in clear\r\n");
refused('no TLS at the other end', 'TLS: wrong version number', $fake);
$fake->behave(close_on_accept => 1);
refused('closed in the handshake', '.*(?i:closed|reset)', $fake);
$fake->behave;
refused('nobody answers the handshake', 'no answer in time', $fake);


# --- what cannot be

wrong('no file of authorities', "$dir/none: No such file or directory",
      config($address, ca => "$dir/none"));
wrong('none in it', "$dir/empty: no certificate .*", config($address, ca => "$dir/empty"));
wrong('no certificate', "$dir/none: No such file or directory",
      config($address, cert => "$dir/none", key => "$dir/client.key"));
wrong('none in it', "$dir/empty: no certificate .*",
      config($address, cert => "$dir/empty", key => "$dir/client.key"));
wrong('no key', "$dir/empty: no private key .*",
      config($address, cert => "$dir/client.pem", key => "$dir/empty"));
wrong('the key of another', "$dir/foreign.key: key values mismatch",
      config($address, cert => "$dir/client.pem", key => "$dir/foreign.key"));
wrong('a key with a password', "$dir/locked.key: no private key .* without a password",
      config($address, cert => "$dir/client.pem", key => "$dir/locked.key"));
wrong('a certificate without a key', 'cert and key go together',
      config($address, cert => "$dir/client.pem"));
wrong('... or a key without one', 'cert and key go together',
      config($address, key => "$dir/client.key"));
wrong('a domain for a name', "the server's name: no host has it",
      config($address, name => '.example.com'));
for my $url ("redis://127.0.0.1:1/0", "unix:///tmp/x") {
    wrong("TLS without TLS, $url", '.* are for TLS: a url of rediss://',
          settle_config(redis => { url => $url, name => 'x' }));
}


# --- from the inbox into the ledger

my $listen = '127.0.0.1:' . free_port();
my $settle = start_settle(
    redis => { url => "rediss://localhost:$redis->{tls}/0",
               ca => "$dir/ca.pem", %login },
    operations => { stream => 'yes' }, metrics => { listen => $listen });


sub settled
{
    my ($what, $filler) = @_;
    my $id = 'batch-' . ++$number;
    my $body = callback($id, { code => "c$number", status => 2, real_win => 1 });

    $body =~ s/"coupons":/"filler":"@{[ 'x' x $filler ]}",$&/ if $filler;
    inbox_add($redis, $body);
    ok +(wait_for { $settle->log_text =~ /msg="batch settled" batch=$id / }),
       $what or diag $settle->log_text;
    is +(ledger($settle->{config}, "SELECT count(*) FROM coupon_operations
                                    WHERE batch_id = '$id'"))[0][0], 1,
       '... stands in the ledger';
    ok +(wait_for { $redis->cmd('XLEN', $inbox) == 0 }), '... and acknowledged';
}


settled('a batch');
settled('44 kB', 44_000);
settled('1 MB', 1_000_000);
ok +(wait_for { $redis->cmd('XLEN', '{coupons}:operations') == 3 }),
   'the operations are relayed';
like `curl -s http://$listen/metrics`, qr/^coupon_settle_inbox_pending 0$/m,
     'the metrics, of a thread of their own';

for my $round (1 .. 3) {
    $settle->pause;
    $redis->kill9;
    $settle->resume;
    $redis->restart;
    settled("Redis killed and back, round $round");
}

unlike $settle->log_text, qr/sesame|PRIVATE/, 'no secret is in the log';
is $settle->stop, 0, 'a clean stop';

done_testing;
