package CouponTest;

# The harness of the tests that need servers.
#
#   use CouponTest;
#
#   my $redis  = start_redis();
#   my $nginx  = start_nginx(server => 'location = /cb { ... }');
#   my $settle = start_settle(redis => $redis);
#   my $answer = post($nginx, '/cb', $body, secret => 's3cret');
#   ok +(wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0 }), 'settled';
#   done_testing;
#
# Every server runs in the foreground of its own process group, on 127.0.0.1
# and a free port, in a temporary folder.  At the end they are stopped, and the
# test fails if an nginx log holds [alert] or [emerg] (allow_log), or if a
# sanitizer wrote a report.  A failed test leaves its folder and says where.
#
# Environment (set by t/bin/test-sanitize.sh):
#   COUPON_BUILD    folder of coupon-settle                   (build)
#   COUPON_NGINX    nginx binary                               (nginx)
#   COUPON_MODULE   module to load; empty if it is linked in
#   COUPON_REPORTS  where sanitizers leave their reports
#   COUPON_REDIS    the Redis to use, e.g. build/trixie/valkey-server
#   COUPON_STORE    postgresql: the store that settle_config() takes by itself
#
# Further files: CouponHTTP (post, get), CouponRedis (cmd), CouponProcess, and
# CouponNginx for data-driven tests (Test::Nginx).

use strict;
use warnings;

use Cwd 'abs_path';
use Digest::MD5 'md5_hex';
use Digest::SHA 'hmac_sha256_hex';
use Exporter 'import';
use File::Basename qw(basename dirname);
use File::Path 'remove_tree';
use File::Temp ();
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use Test::More ();
use Time::HiRes 'sleep';

use CouponHTTP;
use CouponProcess;
use CouponRedis;

our @EXPORT = (qw(
    workdir free_port wait_for write_file read_file allow_log
    start_redis start_nginx start_settle
    settle_config settle_command on_postgres ledger ledger_write
    sign callback inbox_add
), @CouponHTTP::EXPORT);

my $root    = dirname(dirname(dirname(abs_path(__FILE__))));
my $build   = $ENV{COUPON_BUILD} || "$root/build";
my $nginx   = $ENV{COUPON_NGINX} || (grep { -x } '/usr/sbin/nginx')[0] || 'nginx';
my $module  = $ENV{COUPON_MODULE}
              // "$root/build/ngx_http_coupon_callback_module.so";
my $reports = $ENV{COUPON_REPORTS};

my $dir;                # the temporary folder
my @nginx;              # every nginx that was started
my @allowed;            # patterns of log lines that are meant to be there
my @ports;              # what keeps them from other tests
my $postgres;           # the one of store_url()
my %number;             # of servers by kind, for the names of their folders


# --- the ground -------------------------------------------------------------

# What is under test: the nginx binary, and the module to load ('' if built in).
sub nginx  { return $nginx }
sub module { return $module }


# The temporary folder of this test.
sub workdir
{
    return $dir //= File::Temp::tempdir('coupon-XXXXXX', TMPDIR => 1);
}


# A TCP port on 127.0.0.1 that is free now.  Below the range that the kernel
# hands out to clients, so that only another test could take it; and none does
# as long as this one runs, even while nothing listens there: a socket without a
# file, of the port's name, keeps it.
sub free_port
{
    for (1 .. 200) {
        my $port = 10000 + int rand 22000;
        my $mine = IO::Socket::UNIX->new(Local => "\0coupon-test-$port",
            Listen => 1) or next;
        my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
            LocalPort => $port, Listen => 1) or next;
        close $socket;
        push @ports, $mine;
        return $port;
    }

    die "no free port";
}


# wait_for { condition } [seconds]: polls until the condition holds and returns
# its value, or a false value after the deadline.  That is a minute: longer than
# a machine that is slow, or busy with something else, takes for anything.
sub wait_for (&;$)
{
    my ($condition, $seconds) = @_;
    my $deadline = Time::HiRes::time() + ($seconds // 60);
    my $value;

    until ($value = $condition->()) {
        return $value if Time::HiRes::time() > $deadline;
        sleep 0.02;
    }

    return $value;
}


sub write_file
{
    my ($path, $text) = @_;

    open my $file, '>', $path or die "$path: $!";
    print {$file} $text;
    close $file or die "$path: $!";
    return $path;
}


sub read_file
{
    my ($path) = @_;

    open my $file, '<', $path or return '';
    local $/;
    return scalar <$file> // '';
}


# Lines of nginx logs that match are no failure of this test.
sub allow_log
{
    push @allowed, @_;
}


# --- servers ----------------------------------------------------------------

sub server_dir
{
    my ($kind) = @_;
    my $path = workdir() . '/' . $kind . ++$number{$kind};

    mkdir $path or die "$path: $!";
    return $path;
}


# The environment that makes a sanitizer write its reports where we look.
sub sanitizer_env
{
    return unless $reports;

    my $path = "log_path=$reports/" . basename($0);
    return (
        ASAN_OPTIONS  => join(',', $ENV{ASAN_OPTIONS} // (), $path),
        UBSAN_OPTIONS => join(',', $ENV{UBSAN_OPTIONS} // (), $path),
    );
}


# A private Redis; %conf adds to or replaces its settings.
#   start_redis(appendfsync => 'everysec', requirepass => 'x')
#   start_redis(program => CouponRedis::beside('valkey-server'))
#   start_redis(bind => '127.0.0.2', host => '127.0.0.2')
# A CouponRedis: port, cmd(...), and all of CouponProcess; restart() comes back
# on the same port and files.
sub start_redis
{
    my (%conf) = @_;
    my $path = server_dir('redis');
    my $program = delete $conf{program} // $ENV{COUPON_REDIS}
                  // 'redis-server';
    my $host = delete $conf{host} // '127.0.0.1';

    %conf = (
        bind => '127.0.0.1', port => free_port(), dir => $path,
        appendonly => 'yes', appendfsync => 'always', save => '""',
        %conf,
    );
    write_file("$path/redis.conf",
               join '', map { "$_ $conf{$_}\n" } sort keys %conf);

    my $redis = CouponRedis->new(
        name => 'redis', dir => $path, log => "$path/log",
        command => [$program, "$path/redis.conf"],
        host => $host, port => $conf{port}, password => $conf{requirepass},
    );
    $redis->restart;
    return $redis;
}


# nginx with the module.  Options, all of them text or numbers:
#   server, http, main   what to add to that block
#   workers              number of workers (1)
#   level                level of the error log (info)
#   prefix               [program, arguments] that runs nginx
#   listen               what to add to listen: with reuseport each worker has
#                        its own socket, and the kernel spreads connections
# A callback has the longest time that there may be, for a slow disk under Redis.
# A CouponProcess with {port}, {dir}, {error_log}, {access_log}; reload(%opts)
# writes the configuration anew and sends HUP.
sub start_nginx
{
    my (%options) = @_;
    my $path = server_dir('nginx');

    my $self = CouponProcess->new(
        name => 'nginx', dir => $path, log => "$path/stderr",
        command => [@{ $options{prefix} // [] }, $nginx, '-p', "$path/", '-e', "$path/error.log",
                    '-c', "$path/nginx.conf"],
        env => { sanitizer_env() }, quit => 'QUIT',
        port => free_port(), error_log => "$path/error.log",
        access_log => "$path/access.log", configure => \&nginx_conf,
        # before it has workers, if it is to have any, a signal may kill it
        ready => sub {
            ($options{main} // '') =~ /master_process off/ || $_[0]->children
        },
    );
    write_file("$path/nginx.conf", nginx_conf($self, %options));
    $self->start;
    push @nginx, $self;

    wait_for { port_open($self->{port}) || !$self->alive }
        and $self->alive
        or die "nginx does not start: " . read_file("$path/error.log")
               . read_file("$path/stderr");
    return $self;
}


sub nginx_conf
{
    my ($self, %options) = @_;
    my $loaded = $options{module} // $module;
    my $load = $loaded ? "load_module $loaded;" : '';
    my $patience = $loaded || !defined $options{module}
                   ? 'coupon_callback_timeout 9s;' : '';
    my $user = $> == 0 ? 'user root;' : '';
    my ($path, $port) = @$self{qw(dir port)};
    my $temp = join '', map { "    ${_}_temp_path $path/$_;\n" }
                        qw(client_body proxy fastcgi uwsgi scgi);

    return <<"END";
$load
$user
daemon off;
pid $path/nginx.pid;
worker_processes @{[ $options{workers} // 1 ]};
error_log $path/error.log @{[ $options{level} // 'info' ]};
@{[ $options{main} // '' ]}
events {
    worker_connections 2048;
}
http {
    access_log $path/access.log;
    $patience
$temp
@{[ $options{http} // '' ]}
    server {
        listen 127.0.0.1:$port backlog=1024 @{[ $options{listen} // '' ]};
        client_max_body_size 32m;
@{[ $options{server} // '' ]}
    }
}
END
}


sub port_open
{
    my ($port) = @_;

    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);
}


# Writes settle.ini and returns its path.  Options:
#   redis     what start_redis() returned; or the section's options
#   url       of Redis instead
#   store     URL of the store (sqlite: in the test's folder, or with the
#             environment's COUPON_STORE=postgresql a schema of a private
#             server); or the section's options
#   NAME      { option => value } of a section, adding to or replacing
sub settle_config
{
    my (%options) = @_;
    my $path = server_dir('settle');
    my $url = delete $options{url};
    my $redis = delete $options{redis};
    my $store = delete $options{store};
    my %ini = (
        redis => ref $redis eq 'HASH' ? $redis
            : { url => $url // "redis://127.0.0.1:$redis->{port}/0" },
        store => ref $store ? $store : { url => $store // store_url($path) },
        sportapi => { final_statuses => '2 3 4', recalculation_status => 15 },
    );

    for my $section (keys %options) {
        $ini{$section} = { %{ $ini{$section} // {} }, %{ $options{$section} } };
    }

    my $text = '';
    for my $section (sort keys %ini) {
        my $values = $ini{$section};
        $text .= "[$section]\n";
        $text .= "$_ = $values->{$_}\n"
            for grep { defined $values->{$_} } sort keys %$values;
    }

    return write_file("$path/settle.ini", $text);
}


# A new store: a file, or a schema of the one PostgreSQL of this test.
sub store_url
{
    my ($path) = @_;

    return "sqlite:$path/coupons.db" unless on_postgres();

    require CouponPostgres;
    $postgres //= CouponPostgres::start_postgres();
    return $postgres->url(basename($path));
}


# coupon-settle run, with the options of settle_config() or config => PATH.
# A CouponProcess with {config} and {log}.
sub start_settle
{
    my (%options) = @_;
    my $config = delete $options{config} // settle_config(%options);
    my $path = dirname($config);

    my $self = CouponProcess->new(
        name => 'coupon-settle', dir => $path, log => "$path/log",
        command => ["$build/coupon-settle", 'run', '-c', $config],
        env => { sanitizer_env() }, config => $config,
        # from then on SIGTERM is a clean stop
        ready => qr/ msg=started /,
    );
    return $self->start;
}


# One command of coupon-settle, waited for: ($exit_status, $stdout, $stderr).
#   settle_command($config, 'show', '000000000272')
# Without configuration (undef) no -c is given.
sub settle_command
{
    my ($config, @arguments) = @_;
    my ($out, $err) = map { workdir() . "/command.$_" } qw(out err);
    my $process = CouponProcess->new(
        name => "coupon-settle @arguments", dir => workdir(),
        log => $err, out => $out, env => { sanitizer_env() },
        command => ["$build/coupon-settle", @arguments,
                    defined $config ? ('-c', $config) : ()],
    );

    unlink $out, $err;
    $process->start;
    my $status = $process->wait(300);
    return ($status, read_file($out), read_file($err));
}


# Whether settle_config() gives PostgreSQL: the two differ in what jsonb does to
# `raw`, and in the names of a few functions.
sub on_postgres
{
    return ($ENV{COUPON_STORE} // '') eq 'postgresql';
}


# Runs statements on the ledger of a configuration.
sub ledger_write
{
    my ($config, $sql) = @_;
    my ($url) = read_file($config) =~ /^url = ((?:postgresql|sqlite):.+)$/m;

    system($url =~ /^sqlite:(.+)/ ? ('sqlite3', '-cmd', '.timeout 60000', $1, $sql)
               : ($CouponPostgres::psql, '-X', '-q', '-v', 'ON_ERROR_STOP=1',
                  '-d', $url, '-c', $sql)) == 0 or die "failed: $sql";
}


# Rows of a query on the ledger of a configuration; each an array of columns.
# None as long as the daemon has not made the tables; a query that fails for any
# other reason dies: a wrong one at once, else when the store does not come back.
sub ledger
{
    my ($config, $query) = @_;
    my ($rows, $error);

    wait_for {
        ($rows, $error) = ledger_query($config, $query);
        defined $rows
            || $error =~ /no such (?:table|column)|does not exist|syntax error/;
    };

    die "the ledger says: $error\nto: $query\n"
        unless defined $rows || ledger_missing($config, $error);

    return map { [ split /\x1f/, $_, -1 ] } split /\x1e/, $rows // '';
}


# The text of the rows, parted by \x1e; or undef and what is wrong.
sub ledger_query
{
    my ($config, $query) = @_;
    my ($url) = read_file($config) =~ /^url = ((?:postgresql|sqlite):.+)$/m
        or die "no store in $config";
    my ($database) = $url =~ /^sqlite:(.+)/;
    my $errors = workdir() . '/ledger.err';

    return (undef, 'no such table') if $database && !-s $database;

    my $pid = open(my $out, '-|') // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', $errors;
        exec $database
            ? ('sqlite3', '-readonly', '-bail', '-separator', "\x1f",
               '-newline', "\x1e", '-cmd', '.timeout 60000', $database, $query)
            : ($CouponPostgres::psql, '-X', '-q', '-A', '-t', '-F', "\x1f",
               '-R', "\x1e", '-v', 'ON_ERROR_STOP=1', '-d', $url, '-c', $query)
            or POSIX::_exit(127);
    }

    local $/;
    my $text = <$out> // '';
    return (undef, read_file($errors) || "exit status $?") unless close $out;

    $text =~ s/\n\z//;
    return $text;
}


# Whether a query failed because there are no tables at all yet.
sub ledger_missing
{
    my ($config, $error) = @_;

    return unless $error =~ /no such table|relation .* does not exist/;

    my ($rows, $why) = ledger_query($config,
                                    'SELECT 1 FROM coupon_callback_batches');
    return !defined $rows
           && $why =~ /no such table|relation .* does not exist/;
}


# --- callbacks --------------------------------------------------------------

sub sign
{
    my ($body, $secret) = @_;

    return hmac_sha256_hex($body, $secret);
}


# The body of a callback:
#   callback('batch-1', { code => '007', status => 2, real_win => '12.50',
#                         events => { 98123 => 2 } }, ...)
# real_win is put in as it is, so that '"12.50"' makes a string and '1e2' stays.
sub callback
{
    my ($id, @coupons) = @_;
    my @texts;

    for my $c (@coupons) {
        my $events = $c->{events} // { "$c->{code}-1" => $c->{status} };
        push @texts, sprintf '{"coupon_code":"%s","status":%s%s,'
            . '"events_data":[%s]}', $c->{code}, $c->{status},
            defined $c->{real_win} ? ",\"real_win\":$c->{real_win}" : '',
            join ',', map { qq({"uuid":"$_","status":$events->{$_}}) }
                      sort keys %$events;
    }

    return sprintf '{"batchId":"%s","couponCount":%d,"coupons":[%s]}',
        $id, scalar @texts, join ',', @texts;
}


# Puts a body into the inbox as the module would, and returns the entry's id.
# %fields replaces or, with undef, leaves out a field.  The digest is no XXH3:
# to the daemon it is 32 hex digits that tell bodies apart.
sub inbox_add
{
    my ($redis, $body, %fields) = @_;
    my ($id) = $body =~ /"batchId":"([^"]*)"/;
    my $count = () = $body =~ /"coupon_code"/g;

    %fields = (
        source => 'sportapi', id => $id // '', count => $count,
        digest => md5_hex($body), received => int(1000 * Time::HiRes::time()),
        body => $body, %fields,
    );
    delete @fields{ grep { !defined $fields{$_} } keys %fields };
    return $redis->cmd('XADD', '{coupons}:inbox', '*', %fields);
}


# --- the end ----------------------------------------------------------------

# What the logs and the sanitizers complain about.
sub complaints
{
    my @found;

    for my $server (@nginx) {
        for my $line (split /\n/, read_file($server->{error_log})) {
            next unless $line =~ /\[(?:alert|emerg)\]|Sanitizer/;
            push @found, $line unless grep { $line =~ $_ } @allowed;
        }
    }

    if ($reports) {
        push @found, map { "$_:\n" . substr read_file($_), 0, 4000 }
                     glob("$reports/" . basename($0) . '*');
    }

    # the first ones say what there is to say
    splice @found, 10;
    return @found;
}


END {
    my $status = $?;

    CouponProcess->stop_all;

    if (my @found = complaints()) {
        Test::More::diag("a server complains:");
        Test::More::diag($_) for @found;
        $status ||= 1;
    }

    if (defined $dir) {
        if ($status == 0 && Test::More->builder->is_passing) {
            remove_tree($dir);
        } else {
            Test::More::diag("the servers' files are kept in $dir");
        }
    }

    $? = $status;
}


1;
