#!/usr/bin/perl

# What an administrator does to a running system, under load: reload, replace the
# binary, stop and start; nginx and coupon-settle.  No callback is lost, none is
# refused, and nothing grows.

use strict;
use warnings;

use lib 't/lib';
use CouponLoad;
use CouponTest;
use Test::More;
use Time::HiRes 'time';

use constant {
    WORKERS => 2,
    RATE    => 300,             # batches a second
};

my $secret = 'lifecycle';
my $inbox = '{coupons}:inbox';
my $number = 0;

my $redis = start_redis();
my $settle = start_settle(redis => $redis);
my $config = $settle->{config};
my $location = <<"END";
        access_log off;
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$redis->{port} connections=2;
            coupon_callback_secret $secret;
        }
        location = /metrics {
            coupon_callback_metrics;
        }
END
my %options = (workers => WORKERS, level => 'notice', server => $location);
my $nginx = start_nginx(%options);


sub batch
{
    my $id = 'batch-' . ++$number;

    return $id, callback($id, { code => "c$number", status => 2,
                                real_win => 1 });
}


# Sends callbacks for that many seconds, with something happening meanwhile; and
# until enough of it has happened, on a slow machine.
sub load
{
    my ($seconds, $tick, $enough) = @_;
    my $load = CouponLoad->new(nginx => [$nginx], secret => $secret,
        rate => RATE, next => \&batch, tick => $tick);
    my $end = time + $seconds;

    ok($load->run(sub { time > $end && ($enough->() || time > $end + 60) }),
       'all is acknowledged in the end');
    return $load;
}


# Every answer was a 200, at the first try.
sub unharmed
{
    my ($load, $what) = @_;

    is_deeply($load->{statuses}, { 200 => $load->{sent} },
              "$what: all $load->{sent} deliveries are taken at once");
}


# All that was ever acknowledged is in the ledger, once.
sub all_settled
{
    my ($what) = @_;

    ok(wait_for { $redis->cmd('XLEN', $inbox) == 0 }, "$what: all is settled");
    is_deeply([ledger($config, 'SELECT count(*), count(DISTINCT coupon_code),
               sum(amount) FROM coupon_operations')],
              [[$number, $number, $number]], '... each once');
}


# How many clients Redis has, but for this test and the daemon.
sub connections
{
    my ($n) = $redis->cmd('INFO', 'clients') =~ /^connected_clients:(\d+)/m;

    return $n - 2;
}


# --- a reload every second

my $next = time + 0.5;
my $reloads = 0;
my $load = load(10, sub {
    return if time < $next;
    $next = time + 1;
    $nginx->reload;
    $reloads++;
}, sub { $reloads >= 8 });

unharmed($load, "$reloads reloads under load");
cmp_ok($reloads, '>=', 8, '... there were enough of them');
all_settled('after the reloads');


# --- old workers go when they have nothing to do

my (@old, $took);

# the machine may have something else to do: then once more
for (1 .. 10) {
    my $begin = time;
    @old = $nginx->children;
    $nginx->reload;
    ok +(wait_for { !grep { kill 0, $_ } @old }), 'idle workers go after a reload';
    $took = time - $begin;
    last if $took < 2;
}

cmp_ok($took, '<', 2, '... soon');
ok +(wait_for { connections() == 2 * WORKERS }), '... with their connections';


# --- many reloads

# All of the workers are others now.
sub renewed
{
    my (@before) = @_;
    my @now = $nginx->children;

    return @now == WORKERS
           && !grep { my $new = $_; grep { $_ == $new } @before } @now;
}


sub reload_idle
{
    my ($before) = @_;

    $nginx->reload;
    wait_for { renewed(@$before) } or die "no reload";
    return [$nginx->children];
}


# What a master holds on to.
sub holds
{
    my ($pid) = @_;
    my ($kb) = read_file("/proc/$pid/status") =~ /^VmRSS:\s+(\d+) kB/m;

    return { kb => $kb, fds => scalar(() = glob "/proc/$pid/fd/*") };
}


my $workers = [$nginx->children];
$workers = reload_idle($workers) for 1 .. 10;
my $before = holds($nginx->pid);
$workers = reload_idle($workers) for 1 .. 50;
my $after = holds($nginx->pid);

is($after->{fds}, $before->{fds}, '50 reloads: the master has no more files');
SKIP: {
    # a sanitizer keeps freed memory for a while, and finds leaks by itself
    skip 'a sanitizer holds memory back', 1 if $ENV{COUPON_REPORTS};
    cmp_ok($after->{kb} - $before->{kb}, '<', 512, '... nor more memory');
}
ok +(wait_for { connections() == 2 * WORKERS }), '... nor Redis more clients';
like(get($nginx, '/metrics')->{body},
     qr/^coupon_callback_redis_connections @{[ 2 * WORKERS ]}$/m,
     '... and the metrics say so');


# --- a secret is changed: first both are known, then only the new one

sub secrets
{
    my $known = join '; coupon_callback_secret ', @_;

    return (%options, server => $location =~ s/secret \K\w+/$known/r);
}


my $step = 0;
@old = $nginx->children;
$load = load(2, sub {
    return if $step > 0;
    $nginx->reload(secrets($secret, 'new'));
    $step++;
}, sub { renewed(@old) });
unharmed($load, 'a second secret is added');
$secret = 'new';
$step = 0;
@old = $nginx->children;
$load = load(2, sub {
    return if $step > 0;
    $nginx->reload(secrets('new'));
    $step++;
}, sub { renewed(@old) });
unharmed($load, 'the first one is taken away');
is(post($nginx, '/cb', (batch())[1], secret => 'lifecycle')->{status}, 401,
   '... and is of no use any more');
$number--;
%options = secrets('new');


# --- a worker that is asked to go finishes what it has begun

sub begin_request
{
    my ($id, $body) = batch();
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $nginx->{port}) or die $!;

    print {$socket} request_text('/cb', $body, secret => $secret);
    return $socket;
}


# Redis is silent, a request waits for it, nginx gets the signal, Redis goes on.
for my $case (['reload', 'HUP'], ['stop', 'QUIT']) {
    my ($what, $signal) = @$case;

    ok +(wait_for { connections() == 2 * WORKERS }), "ready for a $what";
    $redis->pause;
    my $socket = begin_request();
    @old = $nginx->children;
    ok +(wait_for { get($nginx, '/metrics')->{body}
                    =~ /^coupon_callback_pending 1$/m }),
       'a request waits for Redis';
    $nginx->signal($signal);
    ok +(wait_for { read_file($nginx->{error_log})
                    =~ /gracefully shutting down(?!.*start worker)/s }),
       "... while nginx is asked to $what";
    $redis->resume;
    local $/;
    like(scalar <$socket>, qr/^HTTP\/1\.1 200 /, '... and is answered 200');
    close $socket;
    ok +(wait_for { !grep { kill 0, $_ } @old }), '... then the worker goes';
}

is($nginx->wait, 0, 'nginx has ended with 0');
$nginx->start;


# --- stop and start under load

for my $signal ('QUIT', 'TERM') {
    my ($stopped, $started, $status) = (time + 0.5);
    $load = load(3, sub {
        if (defined $stopped && time > $stopped) {
            $nginx->signal($signal);
            ($stopped, $started) = (undef, 1);
        } elsif ($started && !$nginx->alive) {
            $status = $nginx->{status};
            $nginx->start;
            undef $started;
        }
    }, sub { defined $status });

    is($status, 0, "$signal under load: nginx ends with 0");
    is(scalar(grep { $_ != 200 && $_ != 0 } keys %{ $load->{statuses} }), 0,
       '... no delivery was refused');
    all_settled('after the restart');
}


# --- coupon-settle is stopped and started under load

my @statuses;
$next = time + 0.5;
$load = load(6, sub {
    if (!$settle->alive) {
        push @statuses, $settle->{status};
        $settle->start;
    } elsif (time > $next) {
        $settle->signal('TERM');
        $next = time + 0.8;
    }
}, sub { @statuses >= 3 && $settle->alive });

unharmed($load, 'coupon-settle stopped ' . @statuses . ' times');
cmp_ok(scalar @statuses, '>=', 3, '... often enough');
is_deeply([grep { $_ != 0 } @statuses], [], '... it ends with 0 each time');
all_settled('after the stops');


# --- another binary takes over: USR2, WINCH, QUIT

# only a daemon does that, and a daemon leaves the process group of the test
is($nginx->stop, 0, 'nginx is stopped');
my $conf = $nginx->{configure}->($nginx, %options,
    main => join "\n", map { "env $_;" } grep { /SAN_OPTIONS/ } keys %ENV);
write_file("$nginx->{dir}/nginx.conf", $conf =~ s/daemon off/daemon on/r);
$nginx->start;
is($nginx->wait, 0, 'nginx goes into the background');

END {
    my $status = $?;
    kill 'KILL', map { ($_, workers_of($_)) } grep { $_ } map { pid_in($_) }
                 qw(nginx.pid nginx.pid.oldbin);
    $? = $status;
}


sub pid_in
{
    my ($file) = @_;
    my ($pid) = read_file("$nginx->{dir}/$file") =~ /^(\d+)/;

    return $pid;
}


sub workers_of
{
    my ($master) = @_;
    my @pids = `ps -o pid=,args= --ppid $master`
               =~ /^\s*(\d+) nginx: worker process\s*$/mg;

    return @pids;
}


ok +(wait_for { pid_in('nginx.pid') && workers_of(pid_in('nginx.pid')) == WORKERS }),
   '... is there';
my $master = pid_in('nginx.pid');
my ($new, $phase) = (undef, 'USR2');

$load = load(6, sub {
    if ($phase eq 'USR2' && $load->{sent} > 100) {
        kill 'USR2', $master;
        $phase = 'both';
    } elsif ($phase eq 'both' && pid_in('nginx.pid.oldbin') && pid_in('nginx.pid')
             && workers_of($new = pid_in('nginx.pid')) == WORKERS) {
        kill 'WINCH', $master;
        $phase = 'WINCH';
    } elsif ($phase eq 'WINCH' && !workers_of($master)) {
        kill 'QUIT', $master;
        $phase = 'QUIT';
    } elsif ($phase eq 'QUIT' && !kill 0, $master) {
        $phase = 'done';
    }
}, sub { $phase eq 'done' });

is($phase, 'done', 'another binary has taken over');
isnt($new, $master, '... with another master');
unharmed($load, 'all the time');
ok +(wait_for { connections() == 2 * WORKERS }), '... Redis has no more clients';
all_settled('after the upgrade');

kill 'QUIT', pid_in('nginx.pid');
ok +(wait_for { !pid_in('nginx.pid') }), 'the new one ends, too';
is($settle->stop, 0, 'and so does the daemon');

done_testing;
