# A Redis that answers errors, garbage, slowly, in the wrong shape or not at
# all.  Whatever it does: never a 2xx without a proof, an answer within the time
# that is set, and recovery without a reload as soon as it behaves again.

use strict;
use warnings;

use CouponTest;
use FakeRedis;
use Test::More;
use Time::HiRes 'time';

my $fake = FakeRedis->new;
my $dead = free_port();
my $nginx = start_nginx(server => <<"END");
    coupon_callback_secret s3cret;
    coupon_callback_redis 127.0.0.1:$fake->{port} connections=2;
    location = /cb { coupon_callback sportapi; }
    location = /short {
        coupon_callback sportapi;
        coupon_callback_timeout 1s;
    }
    location = /few {
        coupon_callback sportapi;
        coupon_callback_timeout 1s;
        coupon_callback_max_pending 5;
    }
    location = /dead {
        coupon_callback sportapi;
        coupon_callback_redis 127.0.0.1:$dead;
    }
    location = /metrics { coupon_callback_metrics; }
    location = /ok { return 200 ok; }
END

my ($worker) = $nginx->children;
my $number = 0;


sub request
{
    my ($path) = @_;

    return [$path // '/cb',
            callback('b' . ++$number, { code => '7', status => 2 }),
            secret => 's3cret'];
}


sub send_one
{
    return post($nginx, @{ request(@_) });
}


sub metric
{
    my ($name) = @_;

    return get($nginx, '/metrics')->{body} =~ /^\Q$name\E (\S+)$/m ? $1 : 'none';
}


sub errors
{
    return metric(qq(coupon_callback_redis_errors_total{kind="$_[0]"}));
}


sub lost
{
    return errors('protocol') + errors('closed') + errors('other');
}


# A refusal as it must be: 503, come again, in JSON, and while the provider waits;
# that it comes at once its reason says, which is not the time that is over.
sub refused
{
    my ($name, $answer, $result) = @_;

    is $answer->{status}, 503, $name;
    like $answer->{body}, qr/^\{"success":false,"error":"(?:$result)",/,
         "... $result";
    ok defined $answer->{headers}{'retry-after'}, '... with Retry-After';
    cmp_ok $answer->{time}, '<', 10, '... in time';
}


sub recovers
{
    my ($name) = @_;

    $fake->behave;
    ok +(wait_for { send_one()->{status} == 200 }), "$name: and well again";
}


# All connections are lost, and meet these orders when they come again.
sub reconnect
{
    my (%orders) = @_;

    $fake->behave(%orders, close_at => 'EXEC');
    post_all($nginx, map { request('/short') } 1 .. 6);
}


recovers('at the start');
is_deeply [ map { $_->{status} } post_all($nginx, map { request() } 1 .. 20) ],
          [ (200) x 20 ], 'many at once';


# --- error replies, to each command of the transaction

my %kinds = (
    LOADING => 'loading', READONLY => 'readonly', OOM => 'oom',
    MISCONF => 'misconf', NOREPLICAS => 'noreplicas', BUSY => 'busy',
    NOAUTH => 'auth', NOPERM => 'auth', WRONGTYPE => 'wrongtype', ERR => 'other',
);
my $abort = "-EXECABORT Transaction discarded because of previous errors.\r\n";

for my $word (sort keys %kinds) {
    my $before = errors($kinds{$word});
    my $error = "-$word for a test\r\n";

    for my $command (qw(MULTI SET XADD EVAL)) {
        $fake->behave($command => $error, EXEC => $abort);
        refused("$word to $command", send_one(), 'unavailable');
    }

    $fake->behave(EXEC => $error);
    refused("$word to EXEC", send_one(), 'unavailable');

    # a replica is left alone for a moment: not all of the five have asked it
    cmp_ok errors($kinds{$word}), '>=', $before + ($word eq 'READONLY' ? 1 : 5),
        '... all are counted';
    recovers($word);
}


# --- errors and wrong shapes inside the reply to EXEC

my %exec = (
    'an error to SET'    => "*3\r\n-OOM no\r\n\$3\r\n1-1\r\n+STORED\r\n",
    'an error to XADD'   => "*3\r\n+OK\r\n-WRONGTYPE no\r\n+STORED\r\n",
    'an error to EVAL'   => "*3\r\n+OK\r\n\$3\r\n1-1\r\n-ERR no\r\n",
    'nil'                => "*-1\r\n",
    'an empty array'     => "*0\r\n",
    'two elements'       => "*2\r\n+OK\r\n\$3\r\n1-1\r\n",
    'four elements'      => "*4\r\n+OK\r\n\$3\r\n1-1\r\n+STORED\r\n+STORED\r\n",
    'a status'           => "+OK\r\n",
    'QUEUED'             => "+QUEUED\r\n",
    'an integer'         => ":1\r\n",
    'a string'           => "\$2\r\nOK\r\n",
    'all nil'            => "*3\r\n\$-1\r\n\$-1\r\n\$-1\r\n",
    'no entry'           => "*3\r\n+OK\r\n\$-1\r\n+STORED\r\n",
    'no mark'            => "*3\r\n\$-1\r\n\$3\r\n1-1\r\n+STORED\r\n",
    'another status'     => "*3\r\n+OK\r\n\$3\r\n1-1\r\n+OK\r\n",
    'integers'           => "*3\r\n:1\r\n:1\r\n:1\r\n",
    'arrays in arrays'   => "*3\r\n*1\r\n+OK\r\n*1\r\n+OK\r\n*1\r\n+STORED\r\n",
    'an integer to EVAL' => "*3\r\n+OK\r\n\$3\r\n1-1\r\n:1\r\n",
);

for my $name (sort keys %exec) {
    $fake->behave(EXEC => $exec{$name});
    refused("EXEC answers $name", send_one(), 'unavailable');
}

recovers('wrong shapes');


# --- no RESP at all

my %garbage = (
    'text'            => "hello\r\n",
    'HTTP'            => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    'zeros'           => "\0" x 100,
    'a bad length'    => "\$x\r\n",
    'a huge array'    => "*2147483647\r\n",
    'a bad array'     => "*x\r\n",
    'an early end'    => "*3\r\n+OK\r\n\$10\r\n12345\r\n+STORED\r\n+OK\r\n",
);

for my $name (sort keys %garbage) {
    $fake->behave(EXEC => $garbage{$name});
    refused("garbage: $name", send_one('/short'), 'unavailable|timeout');
    recovers("garbage: $name");
}

# behind a good answer, one more: hiredis would abort the process
for my $more ("+more\r\n", ":1\r\n", "\$-1\r\n", "\$2\r\nxx\r\n", "*1\r\n:1\r\n",
              "*0\r\n", "-ERR more\r\n")
{
    my $before = lost();

    $fake->behave(EXEC => "*3\r\n+OK\r\n\$3\r\n1-1\r\n+STORED\r\n$more");
    is send_one()->{status}, 200,
       'a reply that nobody has asked for: ' . $more =~ s/\r\n/ /gr;
    ok +(wait_for { lost() > $before }), '... ends the connection';
    recovers('a reply too many');
}

for my $command (qw(CONFIG INFO)) {
    reconnect($command => "hello\r\n");
    refused("garbage to $command", send_one('/short'), 'unavailable|timeout');
    recovers("garbage to $command");
}


# --- slowly

$fake->behave(dribble => 1);
is send_one()->{status}, 200, 'single bytes are good enough';
is_deeply [ map { $_->{status} } post_all($nginx, map { request() } 1 .. 20) ],
          [ (200) x 20 ], '... for many';
recovers('single bytes');

$fake->behave(stall_at => 'EXEC');
my $begin = time;
my @answers = post_all($nginx, map { request('/short') } 1 .. 10);
refused("stalls ($_)", $answers[$_], 'timeout') for 0 .. 9;
cmp_ok time - $begin, '>=', 0.9, '... not before its time';
recovers('a stall');

$fake->behave(stall_at => 'MULTI');
refused('stalls before it begins', send_one('/short'), 'timeout');
recovers('a stall before it begins');


# --- too many wait

$fake->behave(stall_at => 'EXEC');
@answers = sort { $a->{time} <=> $b->{time} }
           post_all($nginx, map { request('/few') } 1 .. 12);
refused("too many ($_)", $answers[$_], 'overloaded') for 0 .. 6;
refused("waits ($_)", $answers[$_], 'timeout') for 7 .. 11;
recovers('too many');

# the connections are being made, and the server says nothing
reconnect(stall_at => 'INFO');
@answers = post_all($nginx, map { request('/few') } 1 .. 12);
is scalar(grep { $_->{status} == 503 } @answers), 12, 'nobody greets: all 503';
cmp_ok scalar(grep { $_->{body} =~ /"timeout"/ } @answers), '<=', 5,
       '... and no more than are allowed have waited';
recovers('no greeting');


# --- it closes

for my $command (qw(MULTI SET XADD EVAL EXEC)) {
    $fake->behave($command => '', close_at => $command);
    refused("closes at $command", send_one(), 'unavailable');
    recovers("closes at $command");
}

$fake->behave(EXEC => "*3\r\n+OK\r\n\$3\r\n1-", close_at => 'EXEC');
refused('closes in the middle of a reply', send_one(), 'unavailable');
recovers('closes in the middle');

$fake->behave(EXEC => '', close_at => 'EXEC');
@answers = post_all($nginx, map { request() } 1 .. 20);
is scalar(grep { $_->{status} == 503 } @answers), 20, '20 in flight: all 503';
is scalar(grep { $_->{body} =~ /^\{"success":false,"error":"\w+",/ } @answers), 20,
   '... in JSON';
recovers('20 in flight');

reconnect(close_on_accept => 1);
refused('accepts and closes', send_one('/short'), 'unavailable|timeout') for 1 .. 3;
is get($nginx, '/ok')->{body}, 'ok', '... the rest of the server works';
recovers('accepts and closes');

$fake->stop;
refused('stopped', send_one(), 'unavailable');
cmp_ok metric('coupon_callback_redis_connections_up'), '==', 0, '... none is up';
$fake->start;
recovers('stopped');
ok +(wait_for { metric('coupon_callback_redis_connections_up') == 2 }),
   '... all are up again';

refused('never there', send_one('/dead'), 'unavailable');


# --- and what is left of it all

cmp_ok errors($_), '>', 0, "counted: $_" for qw(connect closed protocol);
is join(' ', $nginx->children), $worker, 'it is the worker of the beginning';
ok +(wait_for { metric('coupon_callback_pending') eq '0' }), 'nothing waits';

my %lines;
$lines{$_}++ for read_file($nginx->{error_log})
    =~ m{^\S+ (\S+) \[error\] .*coupon_callback: Redis 127.0.0.1:$fake->{port}}mg;
my @busiest = sort { $b <=> $a } values %lines;
cmp_ok $busiest[0], '<=', 2, 'hardly more than one line of log a second';
unlike read_file($nginx->{error_log}), qr/s3cret|coupon_code/,
       'no secret and no body is in the log';

done_testing;
