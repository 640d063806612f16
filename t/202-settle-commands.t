#!/usr/bin/perl

# The command line, the sentences about a wrong configuration, and `check`.

use strict;
use warnings;

use lib 't/lib';
use CouponTest;
use Test::More;

my $redis = start_redis();
my $config = settle_config(redis => $redis);
my @commands = qw(run show doubts resolve poll recover reconcile rejected
                  requests refunded jwks migrate check);


# --- help and usage

my ($status, $out, $err) = settle_command(undef, '--help');
is($status, 0, '--help');
like($out, qr/^  \Q$_\E /m, "... has $_") for @commands;

($status, $out) = settle_command(undef, '--version');
is($status, 0, '--version');
like($out, qr/^coupon-settle \d+\.\d+\.\d+$/, '... is a version');

($status, $out) = settle_command(undef);
is($status, 2, 'no command at all');
like($out, qr/^coupon-settle COMMAND/, '... gets the help');

for my $command (@commands) {
    ($status, $out) = settle_command(undef, $command, '--help');
    is($status, 0, "$command --help");
    like($out, qr/^coupon-settle \Q$command\E.* -c FILE\n\n\w.*\.\n/s,
         '... says how it is called and what it does');
}

for my $command (qw(settle nonsense)) {
    ($status, $out, $err) = settle_command($config, $command);
    is($status, 2, "$command");
    like($err, qr/this version has no command "$command"/, '... is not here');
}

for my $wrong (['run', 'x'], ['show'], ['show', 'a', 'b'], ['resolve'],
               ['rejected'], ['rejected', 'list', '1'], ['rejected', 'show'],
               ['rejected', 'burn', '1'])
{
    ($status, $out, $err) = settle_command($config, @$wrong);
    is($status, 2, "@$wrong");
    like($err, qr/^coupon-settle: usage: coupon-settle $wrong->[0]/,
         '... is told the usage');
}

($status, $out, $err) = settle_command(undef, 'run');
is($status, 2, 'run without configuration');
like($err, qr/-c FILE is missing/, '... says so');

($status, $out, $err) = settle_command($config, 'show', 'x', '--status', 1);
is($status, 2, '--status where it does not belong');
like($err, qr/show takes no --status/, '... is refused');

($status, $out, $err) = settle_command($config, 'show', '--wrong');
is($status, 2, 'an unknown option');

for my $case ([[], qr/--status is missing/],
              [['--status', '1.5'], qr/--status 1\.5 is not a whole number/],
              [['--status', 'x'], qr/not a whole number/],
              [['--status', 2], qr/--real-win is missing: status 2 is final/],
              [['--status', 2, '--real-win', '-1'], qr/not a decimal/],
              [['--status', 2, '--real-win', '1,5'], qr/not a decimal/],
              [['--status', 2, '--real-win', '0.123456789'],
               qr/not a decimal/])
{
    my ($options, $sentence) = @$case;

    ($status, $out, $err) = settle_command($config, 'resolve', 'c', @$options);
    is($status, 2, "resolve c @$options");
    like($err, $sentence, '... is refused with a sentence');
}

for my $case ([['reconcile'], 2, qr/--since TIME is missing/],
              [['reconcile', '--since', 'x'], 2, qr/--since x is no time/],
              [['reconcile', '--since', '2999-01-01'], 2, qr/in the future/],
              [['reconcile', '--since', '2026-02-30'], 2, qr/is no time/],
              [['recover', '--created-since', '1'], 2,
               qr/--created-since 1 is no time such as 2026-01-31/],
              [['show', 'c', '--since', '1d'], 2, qr/show takes no --since/],
              [['poll', '--created-since', '1d'], 2,
               qr/poll takes no --created-since/],
              [['check', '--once'], 2, qr/check takes no --once/],
              (map { [[$_, '--once' x ($_ eq 'poll') || ()], 1,
                      qr/has no \[api\]/] } qw(poll recover)),
              [['reconcile', '--since', '1d'], 1, qr/has no \[api\]/])
{
    my ($words, $exit, $sentence) = @$case;

    ($status, $out, $err) = settle_command($config, @$words);
    is($status, $exit, "@$words");
    like($err, $sentence, '... is refused with a sentence');
}

my $folder = workdir();
($status, $out, $err) = settle_command($folder, 'show', 'c');
is($status, 1, 'a configuration that cannot be read');
like($err, qr/^coupon-settle: \Q$folder\E: cannot be read to its end$/,
     '... is not taken for an empty one');


# --- wrong configurations

my $base = "[redis]\nurl = redis://127.0.0.1:1/0\n[store]\nurl = sqlite:x.db\n"
           . "[sportapi]\nfinal_statuses = 2 3\n";
my $secret = write_file(workdir() . '/empty', "\n");
my $number = 0;


# The configuration is refused before anything else: with this sentence.
sub refused
{
    my ($text, $sentence, $name) = @_;
    my $path = write_file(workdir() . '/wrong' . ++$number . '.ini', $text);

    my ($exit, undef, $said) = settle_command($path, 'run');
    is($exit, 1, "refused: $name");
    like($said, qr/^coupon-settle: \Q$path\E$sentence\n\z/, '... in a sentence');
}

refused($base . "[web]\nx = 1\n", qr/:7: unknown section \[web\]/,
        'an unknown section');
refused($base . "[web]\n", qr/:7: unknown section \[web\]/, '... though empty');
refused($base . "[api]\n", qr/: \[api\] base_url is missing: .*/,
        'an [api] without address');
refused($base . "[api]\nbase_url = https://x\n",
        qr/: \[api\] token_file is missing: .*/, '... or without token');
refused($base . "[api]\nbase_url = $_\n", qr/:8: \[api\] base_url: .*/,
        "the address $_")
    for 'http://example.com', 'http://127.0.0.1.example.com', 'https://',
        'https:///x', 'https://x?y', 'https://me@x', 'ftp://x', 'x.example',
        'http://localhost@example.com';
my $reads = $base . "[api]\nbase_url = https://x/\ntoken_file = y\n";
refused($reads . "window = 9m\n", qr/: \[api\] window must be at least twice.*/,
        'a window that does not overlap');
refused($reads . "interval = 61m\nwindow = 122m\n",
        qr/: \[api\] window must be at most 120m.*/, '... or is too long');
refused($reads . "interval = 5\n", qr/:10: \[api\] interval: is no duration.*/,
        'an interval without unit');
refused($base . "[metrics]\nlisten = $_\n", qr/:8: \[metrics\] listen: .*/,
        "metrics on $_")
    for '', '9145', ':9145', '127.0.0.1', '127.0.0.1:', '127.0.0.1:0',
        '127.0.0.1:65536', '127.0.0.1:9145x', '127.0.0.1:+1', 'localhost:9145',
        '::1:9145', '[::1]', '[::1:9145', '[127.0.0.1]:9145', '[]:9145',
        '1' x 100 . ':9145', 'unix:/x:1';
refused($base . "final = 1\n", qr/:7: unknown option final in \[sportapi\]/,
        'an unknown option');
refused("x = 1\n$base", qr/:1: x stands before the first \[section\]/,
        'an option of no section');
refused($base . "nonsense\n", qr/:7: neither \[section\] nor name = value/,
        'a line that is neither');
refused("nonsense\n$base", qr/:1: neither \[section\] nor name = value/,
        '... wherever it stands');
refused($base . "final_statuses = 4\n",
        qr/:7: \[sportapi\] final_statuses is set in line 6 already/,
        'an option given twice');
refused($base . ('# ' . 'x' x 300) . "\n",
        qr/:7: the line is longer than \d+ bytes/, 'a line that is too long');
refused($base =~ s/^(?!\[)/    /gmr . "  [api]\n",
        qr/: \[api\] base_url is missing: .*/,
        'an [api] below lines that are indented');
refused($base =~ s/final_statuses.*\n//r,
        qr/: \[sportapi\] final_statuses is missing: .*contract.*/,
        'no final statuses');
refused($base =~ s/final_statuses.*/final_statuses =/r,
        qr/:6: \[sportapi\] final_statuses: is empty.*/, '... or none in it');
refused($base =~ s/2 3/2 15/r,
        qr/: \[sportapi\] final_statuses holds the recalculation_status 15.*/,
        'a recalculation that is final');
refused($base =~ s/2 3/2 3\nrecalculation_status = 3/r,
        qr/: \[sportapi\] final_statuses holds the recalculation_status 3,.*/,
        '... by another code');
refused($base =~ s/2 3/2 x/r, qr/:6: \[sportapi\] final_statuses: .*code.*/,
        'a status that is no number');
refused($base =~ s/2 3/2 3.5/r, qr/:6: \[sportapi\] final_statuses: .*code.*/,
        '... or not whole');
refused($base =~ s/url = redis.*\n//r, qr/: \[redis\] url is missing: .*/,
        'no Redis');
refused($base =~ s/redis:(.*)/rediss:$1\nca = \/none/r,
        qr/: \[redis\] .*(?:this build has no TLS|\/none: No such file.*)/,
        'TLS that this build has not, or by nobody');
refused($base =~ s/redis:/http:/r, qr/:2: \[redis\] url: must begin with .*/,
        'another scheme');
refused($base =~ s{/0}{/x}r, qr/:2: \[redis\] url: the database .*/,
        'a database that is no number');
refused($base =~ s/:1\/0/:99999/r, qr/:2: \[redis\] url: the port .*/,
        'no port');
refused($base =~ s/127/me:%zz\@127/r, qr/:2: \[redis\] url: the password .*/,
        'a bad escape in the password');
refused($base =~ s/redis:.*/unix:\/\/a\/b/r,
        qr/:2: \[redis\] url: .*not absolute.*/, 'a relative socket');
refused($base =~ s/\[store/claim_after = 5\n[store/r,
        qr/:3: \[redis\] claim_after: is no duration .*/,
        'a duration without unit');
refused($base =~ s/\[store/claim_after = 0s\n[store/r,
        qr/:3: \[redis\] claim_after: is no duration .*/, '... or of nothing');
refused($base =~ s/\[store/prefix =\n[store/r,
        qr/:3: \[redis\] prefix: is empty/, 'an empty prefix');
refused($base =~ s/\[store/password_file = $secret\n[store/r,
        qr/: \[redis\] password_file: the file is empty.*/,
        'an empty password file');
refused($base =~ s/\[store/password_file = \/nowhere\n[store/r,
        qr/: \[redis\] password_file: No such file.*/, '... or none at all');
refused($base =~ s/127/:x\@127/r =~ s/\[store/password_file = $secret\n[store/r,
        qr/: \[redis\] password_file: the url has a password already/,
        'two passwords');
refused($base =~ s/\[store/[operations]\nmax_length = 0\n[store/r,
        qr/:4: \[operations\] max_length: is no whole number from 1 on/,
        'a stream without room');
refused($base =~ s/\[store/[operations]\nstream = on\n[store/r,
        qr/:4: \[operations\] stream: is neither yes nor no/,
        'a stream that is neither on nor off');
refused($base =~ s/sqlite:x.db/postgresql:\/\/x:y:z\/?no=1/r,
        qr/:4: \[store\] url: is no URL that libpq understands/,
        'a URL of PostgreSQL that is none');
refused($base =~ s/sqlite:x.db/x.db/r, qr/:4: \[store\] url: must be sqlite.*/,
        'a store without scheme');
refused($base =~ s/x.db//r, qr/:4: \[store\] url: the path .*/,
        'a store without path');

($status, $out, $err) = settle_command(workdir() . '/none.ini', 'check');
is($status, 1, 'no such file');
like($err, qr{/none\.ini: No such file}, '... is named');


# --- check

($status, $out) = settle_command($config, 'check');
is($status, 0, 'check before the first run');
like($out, qr/^note   inbox \{coupons\}:inbox: no group settle yet/m,
     '... notes that there is no group');
like($out, qr/^note   store .*: not there yet/m, '... and no store');
is((settle_command(settle_config(redis => $redis,
       operations => { stream => 'yes' }), 'check'))[0], 0,
   '... nor operations to relay');

my $settle = start_settle(config => $config);
wait_for { $settle->log_text =~ /consumer group created/ };
inbox_add($redis, callback('x', { code => 'x', status => 1 }));
wait_for { $redis->cmd('XLEN', '{coupons}:inbox') == 0 };

($status, $out) = settle_command($config, 'check');
is($status, 0, 'check of what runs');
unlike($out, qr/^(?!ok |note   no \[api\])/m, '... finds nothing else than ok');

$redis->cmd('CONFIG', 'SET', 'appendfsync', 'everysec');
($status, $out) = settle_command($config, 'check');
is($status, 0, 'appendfsync everysec');
like($out, qr/^note   Redis: appendfsync is everysec/m, '... is noted');

$redis->cmd('CONFIG', 'SET', 'appendonly', 'no');
$redis->cmd('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
($status, $out) = settle_command($config, 'check');
is($status, 1, 'a Redis that forgets');
like($out, qr/^wrong  Redis: appendonly is no/m, '... by a crash');
like($out, qr/^wrong  Redis: maxmemory-policy is allkeys-lru/m,
     '... or by eviction');

$redis->cmd('DEL', '{coupons}:inbox');
$settle->stop;
$redis->cmd('SET', '{coupons}:inbox', 'no stream');
($status, $out) = settle_command($config, 'check');
is($status, 1, 'an inbox that is no stream');
like($out, qr/^wrong  inbox \{coupons\}:inbox: WRONGTYPE/m, '... is wrong');

my $database = $config =~ s/settle\.ini$/coupons.db/r;
system('sqlite3', $database, 'PRAGMA user_version = 99') == 0 or die;
($status, $out) = settle_command($config, 'check');
like($out, qr/^wrong  store .*tables are of version 99/m, 'a newer store');

write_file($database, 'this is not a database, it is only called one');
unlink "$database-wal", "$database-shm";
($status, $out) = settle_command($config, 'check');
like($out, qr/^wrong  store .*not a database/m, 'a store that is none');

($status, $out) = settle_command(settle_config(redis => $redis,
    store => 'sqlite:/nowhere/at/all.db'), 'check');
is($status, 1, 'a store that cannot be made');
like($out, qr/^wrong  store .*cannot be made in \/nowhere\/at/m, '... is wrong');

$redis->cmd('CONFIG', 'SET', 'requirepass', 'geheim');
($status, $out) = settle_command($config, 'check');
is($status, 1, 'Redis wants a password');
like($out, qr/^wrong  Redis 127\.0\.0\.1:\d+\/0: NOAUTH/m, '... is wrong');

($status, $out) = settle_command(settle_config(
    url => "redis://:geheim\@127.0.0.1:$redis->{port}/0"), 'check');
like($out, qr/^ok     Redis 127\.0\.0\.1:\d+\/0, version/m,
     'with the password it is fine');
unlike($out, qr/geheim/, '... and the password is not shown');

my $password = write_file(workdir() . '/password', "geheim\n");
my $other = write_file(workdir() . '/other.ini',
    read_file($config) =~ s{^url = redis.*}{
        "url = redis://default\@127.0.0.1:$redis->{port}/3\n"
        . "password_file = $password"}mer);
($status, $out) = settle_command($other, 'check');
like($out, qr/^ok     Redis 127\.0\.0\.1:\d+\/3, version/m,
     'also from a file, for a user, and in another database');

($status, $out) = settle_command(settle_config(
    url => 'redis://127.0.0.1:' . free_port()), 'check');
is($status, 1, 'no Redis at all');
like($out, qr/^wrong  Redis 127\.0\.0\.1:\d+\/0: Connection refused/m,
     '... is wrong');

done_testing;
