#!/usr/bin/perl

# What is secret is in no log, not even in that of debugging, and on no page; and
# it is gone from nginx's memory once the configuration that held it is.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $number = 0;
my ($redis, $nginx, $files);

# so long and so odd that nobody else has it by chance
my %secret = map { $_ => "$_-" . join '', map { ('a' .. 'z')[rand 26] } 1 .. 60 }
             qw(first second inline password);


sub batch
{
    my $id = 'batch-' . ++$number;

    return callback($id, { code => "c$number", status => 2, real_win => 1 });
}


sub options
{
    my ($name) = @_;

    # SecretBytes in base64 is another text: neither may be seen
    write_file("$files/secret", "$secret{$name}\n");
    write_file("$files/base64", encode($secret{$name}) . "\n");
    write_file("$files/password", "$secret{password}\n");

    return (level => 'debug', server => <<"END");
        coupon_callback_redis 127.0.0.1:$redis->{port} connections=1
                              password=file:$files/password;
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_secret file:$files/secret;
        }
        location = /base64 {
            coupon_callback sportapi;
            coupon_callback_secret file:$files/base64 encoding=base64;
        }
        location = /inline {
            coupon_callback sportapi;
            coupon_callback_secret $secret{inline};
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END
}


sub encode
{
    my ($text) = @_;

    require MIME::Base64;
    return MIME::Base64::encode_base64($text, '');
}


sub taken
{
    my ($path, $name) = @_;

    return post($nginx, $path, batch(), secret => $secret{$name})
           ->{status} == 200;
}


# How often the memory of this process has the text.
sub held
{
    my ($pid, $text) = @_;
    my $n = 0;

    open my $memory, '<:raw', "/proc/$pid/mem" or return undef;
    for (split /\n/, read_file("/proc/$pid/maps")) {
        my ($from, $to) = /^([0-9a-f]+)-([0-9a-f]+) rw/ or next;
        no warnings 'portable';
        seek $memory, hex $from, 0 or next;
        read $memory, my $bytes, hex($to) - hex $from or next;
        $n += () = $bytes =~ /\Q$text/g;
    }
    return $n;
}


$files = workdir() . '/files';
mkdir $files or die $!;
$redis = start_redis(requirepass => $secret{password});
$nginx = start_nginx(options('first'));

ok +(wait_for { taken('/cb', 'first') }), 'a secret in a file';
ok taken('/base64', 'first'), '... in base64';
ok taken('/inline', 'inline'), '... and in nginx.conf';
is post($nginx, '/cb', batch(), secret => 'wrong')->{status}, 401,
   'another secret is refused';
is post($nginx, '/cb', 'no callback', secret => $secret{first})->{status}, 400,
   '... and so is what is no callback';
my $page = get($nginx, '/metrics')->{body};

my $master = $nginx->pid;

SKIP: {
    skip 'a sanitizer keeps what is freed, and maps terabytes', 1
        if $ENV{COUPON_REPORTS};
    skip 'the memory of a process cannot be read here', 1
        unless defined held($master, $secret{first});

    cmp_ok held($master, $secret{first}), '>', 0, 'the memory of nginx has it';

    my @old = $nginx->children;
    $nginx->reload(options('second'));
    ok +(wait_for { taken('/cb', 'second') }), 'the secret is replaced';
    ok +(wait_for { !grep { my $new = $_; grep { $_ == $new } @old }
                    $nginx->children }), '... the old worker goes';

    for my $pid ($master, $nginx->children) {
        is held($pid, $secret{first}), 0, 'the old one is gone from memory';
        is held($pid, encode($secret{first})), 0, '... in base64, too';
    }
}

# a configuration that is refused behind a secret
write_file("$nginx->{dir}/nginx.conf", read_file("$nginx->{dir}/nginx.conf")
           =~ s/coupon_callback_metrics/coupon_callback_nonsense/r);
$nginx->reload;
ok +(wait_for { read_file($nginx->{error_log}) =~ /coupon_callback_nonsense/ }),
   'a configuration is refused';
allow_log(qr/coupon_callback_nonsense/);

$redis->cmd('CONFIG', 'SET', 'requirepass', 'changed');
$redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
ok +(wait_for { !taken('/cb', 'second') }), 'Redis wants another password';
ok +(wait_for { read_file($nginx->{error_log}) =~ /WRONGPASS/ }),
   '... the log says so';

is $nginx->stop, 0, 'nginx ends';

my $log = read_file($nginx->{error_log}) . read_file($nginx->{access_log})
          . read_file($nginx->{log}) . $page;

like $log, qr/\[debug\]/, 'the log is that of debugging';

# an access log of bodies that were signed has the signatures, which are none
for my $name (sort keys %secret) {
    unlike $log, qr/\Q$secret{$name}/, "nothing shows $name";
    unlike $log, qr/\Q@{[ encode($secret{$name}) ]}/, '... in base64';
}

done_testing;
