package CouponTLS;

# For tests of TLS to Redis: the build that has it, certificates, servers.
#
#   use CouponTLS;                          # before CouponTest
#   use CouponTest;
#
#   certificate('redis', san => 'DNS:localhost,IP:127.0.0.1');
#   my $redis = start_tls_redis('redis', 'tls-auth-clients' => 'yes');
#
# Where the build under test has no TLS (hiredis 0.14), that of build-tls.sh is
# tested instead; without it the test is skipped.

use strict;
use warnings;

use Cwd 'abs_path';
use Exporter 'import';
use File::Basename 'dirname';
use Test::More ();

our @EXPORT = qw(pki certificate openssl start_tls_redis);

my %authority;


sub choose
{
    my $build = dirname(dirname(dirname(abs_path(__FILE__)))) . '/build';
    my $module = 'ngx_http_coupon_callback_module.so';

    return if has_tls($ENV{COUPON_MODULE} // "$build/$module");
    Test::More::plan(skip_all => 'no TLS to Redis (t/bin/build-tls.sh)')
        if defined $ENV{COUPON_MODULE} || !has_tls("$build/tls/$module");

    $ENV{COUPON_MODULE} = "$build/tls/$module";
    $ENV{COUPON_BUILD}  = "$build/tls";
}


# The other kind can say that it has none.
sub has_tls
{
    my ($file) = @_;

    open my $in, '<:raw', $file or return 0;
    local $/;
    return <$in> !~ /hiredis of this build has no TLS/;
}


# The folder of certificates and keys.
sub pki
{
    my $dir = CouponTest::workdir() . '/pki';

    mkdir $dir;
    return $dir;
}


sub openssl
{
    my ($command) = @_;

    system("cd '@{[ pki() ]}' && openssl $command >/dev/null 2>openssl.log") == 0
        or die "openssl $command: " . CouponTest::read_file(pki() . '/openssl.log');
}


# Makes NAME.pem and NAME.key by an authority, which is made when it is first
# named.  Options: ca => its name (ca), san => 'DNS:...,IP:...',
# end => '20991231235959Z'.  Returns the path of NAME.pem.
sub certificate
{
    my ($name, %options) = @_;
    my $ca = $options{ca} // 'ca';
    my $key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
    my $end = $options{end} // '20991231235959Z';

    if (!$authority{$ca}++) {
        openssl("req -x509 $key -keyout $ca.key -out $ca.pem -days 30"
                . " -subj '/CN=authority $ca'");
        CouponTest::write_file(pki() . "/$ca.index", '');
        CouponTest::write_file(pki() . "/$ca.conf", <<"END");
[ca]
default_ca = this
[this]
database = $ca.index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = names
[names]
commonName = supplied
END
    }

    CouponTest::write_file(pki() . "/$name.ext", $options{san}
        ? "subjectAltName = $options{san}\n" : "keyUsage = digitalSignature\n");
    openssl("req $key -keyout $name.key -out $name.csr -subj '/CN=$name'");
    openssl("ca -batch -notext -config $ca.conf -cert $ca.pem -keyfile $ca.key"
            . " -in $name.csr -extfile $name.ext -startdate 20200101000000Z"
            . " -enddate $end -out $name.pem");
    return pki() . "/$name.pem";
}


# A Redis with this certificate: {tls} is its port with TLS, {port} the one in
# clear that the test uses itself.  It asks for no certificate of clients.
sub start_tls_redis
{
    my ($name, %conf) = @_;
    my $port = CouponTest::free_port();
    my $redis = CouponTest::start_redis('tls-port' => $port,
        'tls-cert-file' => pki() . "/$name.pem",
        'tls-key-file' => pki() . "/$name.key",
        'tls-ca-cert-file' => pki() . '/ca.pem', 'tls-auth-clients' => 'no',
        %conf);

    $redis->{tls} = $port;
    return $redis;
}


choose();
require CouponTest;

1;
