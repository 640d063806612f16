package CouponAPI;

# The provider's coupon API, as a real HTTP server for the tests.  It keeps the
# rules of the contract: bearer token, at most 120 minutes, 100 codes and 24
# hours, error 1002 and 471, answers in another order, without what it does not
# know, and with its coupons in any place where they may stand.
#
#   my $api = start_api();
#   $api->coupon('007', status => 2, real_win => '12.50',
#                calculated => $api->now);     # Unix ms; undef: not final
#   $api->fault('503', 'cut');                 # of the next two requests
#   my @asked = $api->requests;                # "GET /api/...", or with a body
#
# The clock is its own: $api->clock($ms) sets it, undef lets it follow the real
# one.  What it knows lies in files of its folder, so that it may be killed and
# started again; each connection is a process.

use strict;
use warnings;

use Exporter 'import';
use Fcntl ':flock';
use IO::Socket::INET;
use JSON::PP ();
use List::Util 'shuffle';
use Time::HiRes ();

use CouponProcess;
use CouponTest ();

our @ISA    = qw(CouponProcess);
our @EXPORT = qw(start_api api_config);

my $servers = 0;
my %known;              # by one connection of the server


# --- what a test calls ------------------------------------------------------

# start_api(token => 'secret', port => PORT)
sub start_api
{
    my (%options) = @_;
    my $dir = CouponTest::workdir() . '/api' . ++$servers;
    my $port = $options{port} // CouponTest::free_port();

    mkdir $dir or die "$dir: $!";

    my $self = CouponAPI->new(
        name => 'api', dir => $dir, log => "$dir/log", port => $port,
        url => "http://127.0.0.1:$port", coupons => {},
        token => $options{token} // 'test-token',
        command => [$^X, '-It/lib', '-MCouponAPI', '-e',
                    'CouponAPI::serve(@ARGV)', $dir, $port],
    );
    $self->save;
    $self->come_up;
    return $self;
}


sub come_up
{
    my ($self) = @_;

    $self->start;
    CouponTest::wait_for { IO::Socket::INET->new(
        PeerAddr => '127.0.0.1', PeerPort => $self->{port}) }
        or die 'the API does not start: ' . $self->log_text;
    return $self;
}


# The [api] section of settle_config(): api_config($api, interval => '1s')
sub api_config
{
    my ($api, %options) = @_;
    my $file = "$api->{dir}/token";

    CouponTest::write_file($file, "$api->{token}\n") unless -e $file;
    return (api => { base_url => $api->{url}, token_file => $file, %options });
}


# Sets what is given of a coupon; undef for all of it takes it away.
sub coupon
{
    my ($self, $code, %values) = @_;

    if (%values) {
        my $old = $self->{coupons}{$code} // { created => $self->now };
        $self->{coupons}{$code} = { %$old, %values };
    } else {
        delete $self->{coupons}{$code};
    }

    return $self->save;
}


sub clock
{
    my ($self, $now) = @_;

    $self->{now} = $now;
    return $self->save;
}


sub now
{
    my ($self) = @_;

    return $self->{now} // int(1000 * Time::HiRes::time());
}


# What goes wrong with the next requests, one word each: see misbehave().
sub fault
{
    my ($self, @faults) = @_;

    locked("$self->{dir}/faults", sub { @_, @faults });
    return;
}


# Nothing more goes wrong.
sub calm
{
    my ($self) = @_;

    locked("$self->{dir}/faults", sub { () });
    return;
}


# The requests since the last call.
sub requests
{
    my ($self) = @_;
    my @requests;

    locked("$self->{dir}/requests", sub { @requests = @_; () });
    return @requests;
}


sub save
{
    my ($self) = @_;
    my $text = JSON::PP->new->canonical->encode(
        { map { $_ => $self->{$_} } qw(coupons token now) });

    CouponTest::write_file("$self->{dir}/state.new", $text);
    utime 0, ++$self->{saved}, "$self->{dir}/state.new" or die $!;
    rename "$self->{dir}/state.new", "$self->{dir}/state" or die $!;
    return $self;
}


# Calls code with the lines of a file, which become those that it returns.
sub locked
{
    my ($path, $code) = @_;

    open my $file, '+>>', $path or die "$path: $!";
    flock $file, LOCK_EX or die $!;
    seek $file, 0, 0;
    chomp(my @lines = <$file>);
    @lines = $code->(@lines);
    truncate $file, 0;
    print {$file} map { "$_\n" } @lines;
    close $file or die $!;
    return;
}


# --- the server -------------------------------------------------------------

sub serve
{
    my ($dir, $port) = @_;
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => $port, Listen => 64, ReuseAddr => 1)
        or die "port $port: $!";

    $SIG{CHLD} = 'IGNORE';
    $SIG{TERM} = sub { exit 0 };
    $SIG{PIPE} = 'IGNORE';

    while (1) {
        my $client = $listen->accept or next;
        my $pid = fork() // die "fork: $!";
        if ($pid == 0) {
            close $listen;
            1 while request($client, $dir);
            exit 0;
        }
        close $client;
    }
}


# One request of a connection; false: it is over.
sub request
{
    my ($client, $dir) = @_;
    my $line = <$client> // return 0;
    my ($method, $target) = $line =~ m{^(\S+) (\S+) HTTP/1\.1\r\n$}
        or return 0;
    my %header;

    while (defined($line = <$client>) && $line ne "\r\n") {
        $header{lc $1} = $2 if $line =~ /^([^:]+):\s*(.*?)\r\n$/;
    }

    my $body = '';
    read $client, $body, $header{'content-length'} // 0;

    my $fault;
    locked("$dir/requests",
           sub { @_, "$method $target" . ($body && " $body") });
    locked("$dir/faults", sub { $fault = shift; @_ });

    my $state = state($dir);

    return misbehave($client, $fault, $state, $method, $target, $body)
        if defined $fault && $fault ne 'none';

    my ($code, $text) = answer($state, $method, $target, $body, \%header);
    return send_answer($client, $code, $text);
}


# What the server knows; read anew only if the test has written it anew.  Its time
# is a number: within a tick of the clock, size and inode may be as before.
sub state
{
    my ($dir) = @_;
    my $version = (stat "$dir/state")[9];

    if (($known{version} // '') ne $version) {
        %known = (version => $version, state =>
            JSON::PP::decode_json(CouponTest::read_file("$dir/state")));
    }

    my %state = %{ $known{state} };
    $state{now} //= int(1000 * Time::HiRes::time());
    return \%state;
}


sub send_answer
{
    my ($client, $code, $text, $headers) = @_;

    print {$client} "HTTP/1.1 $code X\r\nContent-Type: application/json\r\n",
        $headers // '', 'Content-Length: ', length $text, "\r\n\r\n", $text;
    $client->flush;
    return 1;
}


# CODE        only this HTTP code            CODE/S   ... and Retry-After: S
# cut         half of the answer, then the end of the connection
# endless     half of the answer, then nothing for 60 s
# slow        the answer one byte at a time, 20 of them a second
# silent      nothing at all for 60 s        close    the end at once
# html        a page with code 200           huge     more than 64 MB
# code=N      code 0 and error_code N, in an answer with HTTP 200
# echo        an error whose message repeats the token
# extra       a coupon more than was asked for
# nameless    a coupon more, whose code is a number
# elsewhere   a redirect
sub misbehave
{
    my ($client, $fault, $state, $method, $target, $body) = @_;

    $state->{free} = 1;
    my (undef, $text) = answer($state, $method, $target, $body, {});
    my $half = substr $text, 0, length($text) / 2;
    my $head = "HTTP/1.1 200 OK\r\nContent-Length: ";

    if ($fault =~ m{^(\d+)(?:/(.+))?$}) {
        return send_answer($client, $1, '{}',
                           defined $2 ? "Retry-After: $2\r\n" : '');
    } elsif ($fault =~ /^code=(\d+)$/) {
        return send_answer($client, 200, failed($1, 'it is as it is'));
    } elsif ($fault eq 'echo') {
        return send_answer($client, 200,
                           failed(9, "bad token $state->{token}"));
    } elsif ($fault eq 'html') {
        return send_answer($client, 200, '<html>Welcome</html>');
    } elsif ($fault eq 'elsewhere') {
        return send_answer($client, 302, '{}', "Location: http://x.test/\r\n");
    } elsif ($fault eq 'extra') {
        $text =~ s/\[/[{"coupon_code":"extra","status":2,"real_win":9},/;
        $text =~ s/,\]/]/;
        return send_answer($client, 200, $text);
    } elsif ($fault eq 'nameless') {
        $text =~ s/\[/[{"coupon_code":7,"status":2,"real_win":9},/;
        $text =~ s/,\]/]/;
        return send_answer($client, 200, $text);
    } elsif ($fault eq 'cut') {
        print {$client} $head, length $text, "\r\n\r\n", $half;
    } elsif ($fault eq 'endless') {
        print {$client} $head, length $text, "\r\n\r\n", $half;
        $client->flush;
        idle($client);
    } elsif ($fault eq 'silent') {
        idle($client);
    } elsif ($fault eq 'slow') {
        print {$client} $head, length $text, "\r\n\r\n";
        for (split //, $text) {
            print {$client} $_;
            $client->flush;
            Time::HiRes::sleep(0.05);
        }
        return 1;
    } elsif ($fault eq 'huge') {
        print {$client} $head, 70_000_000, "\r\n\r\n";
        print {$client} ' ' x 1_000_000 or last for 1 .. 70;
    }

    close $client;
    return 0;
}


# Until the client is gone, at most a minute.
sub idle
{
    my ($client) = @_;
    my $set = '';

    vec($set, fileno $client, 1) = 1;
    select $set, undef, undef, 60;
    return;
}


sub answer
{
    my ($state, $method, $target, $body, $header) = @_;
    my ($path, $query) = split /\?/, $target, 2;
    my $base = '/api/partner/coupons';
    my %query = map { s/%([0-9a-fA-F]{2})/chr hex $1/ger }
                map { split /=/, $_, 2 } split /&/, $query // '';

    unless ($state->{free}) {
        return (401, failed(401, 'Unauthorized')) unless
            ($header->{authorization} // '') eq "Bearer $state->{token}";
        return (406, failed(406, 'Not acceptable')) unless
            ($header->{accept} // '') eq 'application/json';
    }

    return calculated($state, $query{time})
        if "$method $path" eq "GET $base/calculated";
    return one($state, $query{coupon_code})
        if "$method $path" eq "GET $base/get";
    return results($state, $body)
        if "$method $path" eq "POST $base/results";
    return (404, failed(404, 'Not found'));
}


sub calculated
{
    my ($state, $minutes) = @_;

    return parameters('time') unless ($minutes // '') =~ /^[1-9]\d*$/
                                     && $minutes <= 120;

    my $since = $state->{now} - $minutes * 60_000;
    return list($state, grep {
        defined $_->{calculated} && $_->{calculated} >= $since
    } all($state));
}


sub results
{
    my ($state, $body) = @_;
    my $asked = eval { JSON::PP::decode_json($body) };

    return parameters('body') unless ref $asked eq 'HASH';
    my ($ids, $start, $end) = @$asked{qw(coupon_ids start_date end_date)};

    if (defined $ids) {
        return parameters('coupon_ids') unless ref $ids eq 'ARRAY'
            && @$ids <= 100 && !defined $start && !defined $end;
        my %wanted = map { $_ => 1 } @$ids;
        return list($state, grep { $wanted{ $_->{code} } } all($state));
    }

    return parameters('period') unless defined $start && defined $end
        && $end > $start && $end - $start <= 86_400_000;
    return list($state, grep {
        $_->{created} >= $start && $_->{created} < $end
    } all($state));
}


sub one
{
    my ($state, $code) = @_;
    my ($coupon) = grep { $_->{code} eq ($code // '') } all($state);

    return (200, failed(471, 'Coupon not found')) unless $coupon;
    return (200, envelope(text($coupon))) if rand() < 0.5;
    return list($state, $coupon);
}


sub all
{
    my ($state) = @_;
    my $coupons = $state->{coupons};

    return map { { code => $_, %{ $coupons->{$_} } } } keys %$coupons;
}


sub list
{
    my ($state, @coupons) = @_;
    my $list = '[' . join(',', map { text($_) } shuffle @coupons) . ']';

    $list = qq({"query_type":"ids","coupons":$list}) if rand() < 0.7;
    return (200, envelope($list));
}


# The full model: bets have an id, the callback's uuid.
sub text
{
    my ($coupon) = @_;
    my $events = $coupon->{events}
                 // { "$coupon->{code}-1" => $coupon->{status} };

    return sprintf '{"coupon_code":"%s","created":%d,"status":%s,'
        . '"potential_win":1e9%s,"events_data":[%s]}',
        @$coupon{qw(code created status)},
        defined $coupon->{real_win} ? ",\"real_win\":$coupon->{real_win}" : '',
        join ',', map { qq({"status":$events->{$_},"id":)
                        . (/^[1-9]\d*$/ ? $_ : qq("$_")) . '}' }
                  sort keys %$events;
}


# code may stand behind the body as well as before it
sub envelope
{
    my ($body) = @_;
    my @members = ('"code":1', "\"body\":$body", '"error_code":null',
                   '"error_message":null', '"time_ms":8');

    return '{' . join(',', shuffle @members) . '}';
}


sub failed
{
    my ($code, $message) = @_;

    return qq({"code":0,"error_code":$code,"error_message":"$message"});
}


sub parameters
{
    my ($what) = @_;

    return (200, failed(1002, "Invalid parameters: $what"));
}


1;
