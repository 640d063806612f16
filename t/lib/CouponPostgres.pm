package CouponPostgres;

# A private PostgreSQL of a test, in its folder, on 127.0.0.1 and a socket there.
#
#   my $postgres = start_postgres(SETTING => value, ...);
#   my $config = settle_config(redis => $redis, store => $postgres->url);
#   $postgres->sql("SELECT ...")     rows as the superuser, in the same schema;
#                                    each an array of columns, null is ''
#   $postgres->crash; $postgres->restart;
#
# The daemon's role owns one schema, and may create nothing elsewhere: url()
# names it in the search_path, a new one for every call if given a name.
# A CouponProcess; as root the server runs as the user postgres.

use strict;
use warnings;

use parent 'CouponProcess';

use CouponTest;
use Exporter 'import';
use Time::HiRes qw(sleep time);

our @EXPORT = qw(start_postgres);

my $bin = (reverse sort { version($a) <=> version($b) }
           glob '/usr/lib/postgresql/*/bin')[0] // '/usr/bin';
my $number = 0;

# itself: what PATH has may be Debian's wrapper, which takes longer than a query
our $psql = "$bin/psql";


sub version
{
    return $_[0] =~ m{/(\d+)/bin$} ? $1 : 0;
}


sub start_postgres
{
    my (%settings) = @_;
    my $dir = workdir() . '/postgres' . ++$number;
    my @user = ();

    mkdir $dir or die "$dir: $!";

    if ($> == 0) {
        my ($uid, $gid) = (getpwnam 'postgres')[2, 3];
        defined $uid or die 'no user postgres: is PostgreSQL installed?';
        @user = ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');
        chown $uid, $gid, $dir;
        chmod 0711, workdir();
    }

    system("cd '$dir' && @user '$bin/initdb' -D '$dir/data' -U postgres -N"
           . " -A trust -E UTF8 --locale=C.UTF-8 >'$dir/initdb.log' 2>&1") == 0
        or die 'initdb: ' . read_file("$dir/initdb.log");

    %settings = (listen_addresses => '127.0.0.1', port => free_port(),
                 unix_socket_directories => $dir, max_connections => 40,
                 shared_buffers => '32MB', log_min_messages => 'warning',
                 %settings);

    my $self = __PACKAGE__->new(
        name => 'postgres', dir => $dir, log => "$dir/log", quit => 'INT',
        port => $settings{port},
        command => [@user, "$bin/postgres", '-D', "$dir/data",
                    map { ('-c', "$_=$settings{$_}") } sort keys %settings],
    );
    $self->restart;
    $self->sql('CREATE ROLE coupon LOGIN');
    $self->sql('CREATE DATABASE coupons');
    $self->{database} = 'coupons';
    $self->sql('REVOKE ALL ON DATABASE coupons FROM public');
    $self->sql('GRANT CONNECT ON DATABASE coupons TO coupon');
    $self->sql('REVOKE ALL ON SCHEMA public FROM public');
    return $self;
}


# The URL of a schema that belongs to the daemon's role; made where it is not
# there.  $port: another one, of a proxy.
sub url
{
    my ($self, $schema, $port) = @_;

    $schema //= 'coupons';
    $self->sql("CREATE SCHEMA IF NOT EXISTS $schema AUTHORIZATION coupon");
    $self->{schema} = $schema;

    $port //= $self->{port};
    return "postgresql://coupon\@127.0.0.1:$port/coupons"
           . "?options=-csearch_path%3D$schema";
}


# The rows of a query; dies with what PostgreSQL said.
sub sql
{
    my ($self, $query, $schema) = @_;

    $schema //= $self->{schema} // 'public';
    local $ENV{PGOPTIONS} = "-csearch_path=$schema"
        . ' -cclient_min_messages=warning';
    open my $rows, '-|', $psql, '-X', '-q', '-A', '-t', '-F', "\x1f",
        '-R', "\x1e", '-v', 'ON_ERROR_STOP=1', '-h', $self->{dir},
        '-p', $self->{port}, '-U', 'postgres',
        '-d', $self->{database} // 'postgres', '-c', $query or die "psql: $!";
    local $/;
    my $text = <$rows> // '';
    close $rows or die "psql failed: $query\n";
    chomp $text if $text =~ /\n\z/;
    $text =~ s/\n\z//;
    return map { [ split /\x1f/, $_, -1 ] } split /\x1e/, $text;
}


# One value.
sub value
{
    my ($self, @query) = @_;

    return ($self->sql(@query))[0][0];
}


# Starts it (again), and waits until it takes connections.
sub restart
{
    my ($self) = @_;

    $self->stop if $self->alive;
    $self->start;

    my $deadline = time + 60;
    until (system("$bin/pg_isready -q -h '$self->{dir}' -p $self->{port}")
           == 0)
    {
        die 'postgres does not start: ' . $self->log_text
            if time > $deadline || !$self->alive;
        sleep 0.05;
    }

    return $self;
}


# Stops it as a crash would: what is not in the log on disk is gone.
sub crash
{
    my ($self) = @_;

    return unless $self->alive;
    $self->signal('QUIT');
    return $self->wait;
}


1;
