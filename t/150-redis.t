# What stands in Redis: the entry, the mark, the quarantine; by which address,
# user and database; and what happens when Redis says no.

use strict;
use warnings;

use CouponTest;
use FindBin;
use Test::More;
use Time::HiRes 'time';

my $redis = start_redis(unixsocket => workdir() . '/redis.sock');
my $guarded = start_redis(requirepass => 'open-sesame');
my $plain = start_redis(appendonly => 'no');
my $evicts = start_redis('maxmemory-policy' => 'allkeys-lru');
my $v6 = start_v6();

# the rights that the README asks for, and no others
my ($rules) = read_file('README.md')
    =~ /An ACL user for nginx needs:\s+`([^`]+)`/;
$guarded->cmd('ACL', 'SETUSER', 'nginx', 'on', '>let-me-in', '~acl:*',
              split ' ', $rules);
write_file(workdir() . '/password', "open-sesame\n");

my $nginx = start_nginx(server => <<"END");
    coupon_callback_secret s3cret;
    coupon_callback_redis 127.0.0.1:$redis->{port};
    location = /cb { coupon_callback sportapi; }
    location = /short {
        coupon_callback sportapi;
        coupon_callback_prefix short;
        coupon_callback_dedup_window 2h;
    }
    location = /few {
        coupon_callback sportapi;
        coupon_callback_prefix few;
        coupon_callback_quarantine 3;
    }
    location = /none {
        coupon_callback sportapi;
        coupon_callback_prefix none;
        coupon_callback_quarantine off;
    }
    location = /db5 {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$redis->{port} db=5 connections=1;
    }
    location = /socket {
        coupon_callback sportapi;
        coupon_callback_redis unix:@{[ workdir() ]}/redis.sock;
    }
    location = /password {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$guarded->{port}
                              password=open-sesame;
    }
    location = /file {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$guarded->{port}
                              password=file:@{[ workdir() ]}/password;
    }
    location = /user {
        coupon_callback sportapi;
        coupon_callback_prefix acl:x;
        coupon_callback_redis 127.0.0.1:$guarded->{port}
                              user=nginx password=let-me-in;
    }
    location = /user-elsewhere {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$guarded->{port}
                              user=nginx password=let-me-in;
    }
    location = /wrong {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$guarded->{port} password=hush;
    }
    location = /nobody {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$guarded->{port};
    }
    location = /unproven {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$plain->{port};
    }
    location = /enqueued {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$plain->{port};
        coupon_callback_ack enqueued;
    }
    location = /evicts {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$evicts->{port};
    }
    location = /v6 {
        coupon_callback sportapi;
        coupon_callback_redis [::1]:@{[ $v6 ? $v6->{port} : 1 ]};
    }
    location = /metrics { coupon_callback_metrics; }
END

my $number = 0;


sub body
{
    return callback('b' . ++$number, { code => '007', status => 2 });
}


sub send_to
{
    my ($path, $body) = @_;

    return post($nginx, $path, $body, secret => 's3cret');
}


sub stored
{
    my ($name, $path, $server, $prefix) = @_;
    my $body = body();
    my $answer = send_to($path, $body);

    is $answer->{status}, 200, $name or diag $answer->{body};
    my @entries = $server->entries(($prefix // '{coupons}') . ':inbox');
    is scalar(grep { $_->{body} eq $body } @entries), 1, '... is stored once';
}


sub not_stored
{
    my ($name, $path, $word) = @_;
    my $answer = send_to($path, body());

    is $answer->{status}, 503, $name;
    like $answer->{headers}{'retry-after'} // '', qr/^\d+$/, '... come again';

    # one line a second: another error may have had this one
    ok +(wait_for { logged($word) || !send_to($path, body()) }),
       '... and the log says why';
}


sub logged
{
    my ($pattern) = @_;

    return read_file($nginx->{error_log}) =~ $pattern;
}


# Redis on ::1, where this machine has one.
sub start_v6
{
    require IO::Socket::IP;
    IO::Socket::IP->new(LocalHost => '::1', Listen => 1) or return;
    return start_redis(bind => '127.0.0.1 ::1');
}


# --- the entry and the mark

my $body = '{"batchId":"abc","couponCount":1,"coupons":[{"coupon_code":"007",'
           . '"status":2}]}';
my $begin = int 1000 * time;

is send_to('/cb', $body)->{body}, '{"success":true,"processed":1}', 'stored';

my @entries = $redis->entries('{coupons}:inbox');
my $received = $entries[0]{received};
my $entry = $entries[0]{entry};
is_deeply \@entries, [{
    entry => $entry, source => 'sportapi', id => 'abc', count => 1,
    digest => '510b0aa0c151842e3cd321c7b5181586', received => $received,
    body => $body }], 'all fields of its entry';
is_deeply $redis->cmd('XRANGE', '{coupons}:inbox', '-', '+')->[0][1],
          [ source => 'sportapi', id => 'abc', count => 1,
            digest => '510b0aa0c151842e3cd321c7b5181586',
            received => $received, body => $body ], '... in their order';
ok $received >= $begin && $received <= 1000 * time, '... and when it came';

SKIP: {
    skip 'no xxh128sum', 1 if system('which xxh128sum >/dev/null 2>&1');
    write_file(workdir() . '/body', $body);
    my ($sum) = `xxh128sum < @{[ workdir() ]}/body` =~ /^([0-9a-f]{32})/;
    is $sum, '510b0aa0c151842e3cd321c7b5181586', 'the digest is XXH3-128';
}

my $mark = $redis->cmd('GET', '{coupons}:seen:sportapi:abc');
my $ttl = $redis->cmd('PTTL', '{coupons}:seen:sportapi:abc');
like $mark, qr/^510b0aa0c151842e3cd321c7b5181586:/, 'the mark has the digest';
ok $ttl > 8 * 86400_000 - 60_000 && $ttl <= 8 * 86400_000,
   '... and is kept for 8 days';

is send_to('/short', body())->{status}, 200, 'another window';
$ttl = $redis->cmd('PTTL', "short:seen:sportapi:b$number");
ok $ttl > 7200_000 - 60_000 && $ttl <= 7200_000, '... is kept as long';


# --- again, and with another body

for (1 .. 3) {
    is send_to('/cb', $body)->{body}, '{"success":true,"processed":1}',
       'the same again';
}
is_deeply [ $redis->entries('{coupons}:inbox') ], \@entries,
          '... adds nothing';
is $redis->cmd('GET', '{coupons}:seen:sportapi:abc'), $mark, '... the mark stays';

my $changed = $body =~ s/007/008/r;
is send_to('/cb', $changed)->{body}, '{"success":true,"processed":1}',
   'the same id with another body';
is_deeply [ $redis->entries('{coupons}:inbox') ], \@entries, '... adds nothing';
is $redis->cmd('GET', '{coupons}:seen:sportapi:abc'), $mark, '... the mark stays';

my ($kept) = $redis->entries('{coupons}:rejected');
is_deeply { %$kept, entry => '', received => '' },
          { entry => '', source => 'sportapi', id => 'abc', received => '',
            reason => 'conflict', body => $changed }, '... but is kept aside';
ok logged(qr/\[warn\] .*conflict.*"abc"/), '... with a warning';

# an id is anything printable: what Redis and its scripts might read as more
for my $id ('*', '{x}', 'a:b', '%s%n', q(\\"), "'", '$(x)', '-1', 'x' x 64) {
    my $text = callback($id =~ s/([\\"])/\\$1/gr, { code => '1', status => 2 });
    is send_to('/cb', $text)->{status}, 200, "the id $id";
    is send_to('/cb', $text)->{status}, 200, '... again';
    my @found = grep { $_->{id} eq $id } $redis->entries('{coupons}:inbox');
    is scalar @found, 1, '... is stored once';
    is $redis->cmd('EXISTS', "{coupons}:seen:sportapi:$id"), 1, '... and marked';
}


# --- the quarantine

send_to('/few', callback("q$_")) for 1 .. 5;
is join(' ', map { $_->{id} } $redis->entries('few:rejected')), 'q3 q4 q5',
   'only so many are kept aside';

is send_to('/none', callback('q'))->{status}, 400, 'quarantine off';
is send_to('/none', $_)->{status}, 200, '... a conflict as well'
    for $body, $changed;
is $redis->cmd('EXISTS', 'none:rejected'), 0, '... and nothing is kept';


# --- where it is

stored('a database', '/db5', $redis->cmd('SELECT', 5) && $redis);
$redis->cmd('SELECT', 0);
stored('a socket', '/socket', $redis);
stored('a password', '/password', $guarded);
stored('a password from a file', '/file', $guarded);
stored('a user', '/user', $guarded, 'acl:x');
my $twice = body();
is send_to('/user', $twice)->{status}, 200, '... again' for 1, 2;
is $guarded->cmd('XLEN', 'acl:x:inbox'), 2, '... may take back a duplicate';
$guarded->cmd('DEL', 'acl:x:inbox');
$guarded->cmd('SET', 'acl:x:inbox', 'text');
is send_to('/user', body())->{status}, 503, '... the inbox is no stream';
is $guarded->cmd('EXISTS', "acl:x:seen:sportapi:b$number"), 0,
   '... and may take back a mark';
is_deeply([grep { $_->[3] eq 'command' } @{ $guarded->cmd('ACL', 'LOG') }], [],
          '... and may all that is asked of it');
SKIP: {
    skip 'no IPv6', 2 unless $v6;
    stored('IPv6', '/v6', $v6);
}

not_stored('a user without rights for these keys', '/user-elsewhere',
           qr/NOPERM/);
not_stored('a wrong password', '/wrong', qr/WRONGPASS/);
not_stored('no password', '/nobody', qr/NOAUTH/);
ok !logged(qr/hush|sesame|let-me-in/), 'no password is in the log';


# --- what is proven, and what is not

not_stored('no append-only file', '/unproven', qr/appendonly yes/);
stored('no append-only file, and no proof asked for', '/enqueued', $plain);
not_stored('a policy that evicts', '/evicts', qr/maxmemory-policy/);


# --- no mark without its entry

for my $type (['SET', 'text'], ['LPUSH', 'list'], ['HSET', 'a', 'hash']) {
    my ($command, @value) = @$type;
    my $text = body();

    $redis->cmd('DEL', '{coupons}:inbox');
    $redis->cmd($command, '{coupons}:inbox', @value);
    is send_to('/cb', $text)->{status}, 503, "the inbox is a @value";
    is $redis->cmd('EXISTS', "{coupons}:seen:sportapi:b$number"), 0,
       '... no mark is left';
    $redis->cmd('DEL', '{coupons}:inbox');
    is send_to('/cb', $text)->{status}, 200, '... repaired, the retry is taken';
    is $redis->cmd('XLEN', '{coupons}:inbox'), 1,
       '... and stored';
}

$redis->cmd('LPUSH', "{coupons}:seen:sportapi:b@{[ $number + 1 ]}", 'x');
my $length = $redis->cmd('XLEN', '{coupons}:inbox');
is send_to('/cb', body())->{status}, 503, 'the mark is a list';
is $redis->cmd('XLEN', '{coupons}:inbox'), $length, '... nothing is stored';

$redis->cmd('DEL', '{coupons}:rejected');
$redis->cmd('SET', '{coupons}:rejected', 'text');
is send_to('/cb', callback('bad'))->{status}, 503,
   'malformed, but the quarantine takes nothing: it may come again';
$redis->cmd('DEL', '{coupons}:rejected');
is send_to('/cb', callback('bad'))->{status}, 400, '... until it does';

$redis->cmd('CONFIG', 'SET', 'maxmemory', 1);
my $text = body();
is send_to('/cb', $text)->{status}, 503, 'out of memory';
ok +(wait_for { logged(qr/OOM/) || !send_to('/cb', $text) }),
   '... and the log says why';
$redis->cmd('CONFIG', 'SET', 'maxmemory', 0);
is $redis->cmd('EXISTS', "{coupons}:seen:sportapi:b$number"), 0, '... no mark';
is send_to('/cb', $text)->{status}, 200, '... and with memory it is taken';


# --- what went wrong is counted by its kind

my $metrics = get($nginx, '/metrics')->{body};
for my $kind (qw(auth unproven wrongtype oom)) {
    ok $metrics =~ /^coupon_callback_redis_errors_total\{kind="$kind"\} [1-9]/m,
       "errors are counted: $kind";
}

done_testing;
