package CouponLoad;

# The provider under load: keeps `width` deliveries in flight, and sends each of
# them again until it is answered 200, as the provider does after a 5xx or no
# answer at all (only sooner).
#
#   my $load = CouponLoad->new(nginx => [$a, $b], path => '/cb', secret => 's',
#                              next => sub { return $id, $body });
#   $load->run(sub { time > $end });     sends until this is true, then waits
#                                        until nothing is left to be sent again
#
#   width     deliveries at a time (16)
#   rate      new deliveries in a second, at most (as many as go)
#   next      the next delivery; an empty list ends the sending
#   tick      called every few milliseconds while it runs
#   patience  seconds for one answer (60)
#   grace     seconds for the last deliveries, once no new ones are sent (300)
#
# What it has seen:
#   acknowledged  { id => how often it was answered 200 }
#   sent          deliveries, each counted once
#   statuses      { status => answers }; 0 is a connection without one
#   retried       deliveries that were sent again
#   refused       [[id, status], ...]: neither 200 nor 5xx, given up
#   slowest       seconds of the slowest answer

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use Time::HiRes 'time';

use CouponHTTP;


sub new
{
    my ($class, %options) = @_;

    return bless {
        path => '/cb', width => 16, patience => 60, grace => 300, tick => sub { },
        turn => 0, flying => {}, waiting => [], acknowledged => {},
        statuses => {}, sent => 0, retried => 0, refused => [], slowest => 0,
        %options,
    }, $class;
}


# True if everything that was sent has been acknowledged in the end.
sub run
{
    my ($self, $until) = @_;
    my ($sending, $deadline) = (1);

    $self->{begin} = time;
    $self->{allowance} = $self->{sent};
    for (;;) {
        if ($sending && $until->()) {
            $sending = 0;
            $deadline = time + $self->{grace};
        }

        $sending = 0 if !$self->fill($sending) && $sending;
        $deadline //= time + $self->{grace} if !$sending;

        my $left = %{ $self->{flying} } || @{ $self->{waiting} };
        return 1 if !$sending && !$left;
        return 0 if !$sending && time > $deadline;

        $self->exchange;
        $self->{tick}->();
    }
}


# Sends what is due, and new deliveries if it may; false when there are no more.
sub fill
{
    my ($self, $sending) = @_;
    my $now = time;

    while (keys %{ $self->{flying} } < $self->{width}) {
        my $job;

        if (@{ $self->{waiting} } && $self->{waiting}[0]{due} <= $now) {
            $job = shift @{ $self->{waiting} };
            $self->{retried}++;
        } elsif ($sending && @{ $self->{waiting} } < $self->{width}
                 && $self->may_send($now)) {
            my ($id, $body) = $self->{next}->() or return 0;
            $self->{sent}++;
            $job = { id => $id, attempts => 0, text => CouponHTTP::request_text(
                     $self->{path}, $body, secret => $self->{secret}) };
        } else {
            last;
        }

        $self->launch($job);
    }

    return 1;
}


sub may_send
{
    my ($self, $now) = @_;

    return !$self->{rate} || $self->{sent} - $self->{allowance}
                             < $self->{rate} * ($now - $self->{begin});
}


sub launch
{
    my ($self, $job) = @_;
    my @nginx = @{ $self->{nginx} };
    my $port = $nginx[$self->{turn}++ % @nginx]{port};

    $job->{attempts}++;
    $job->{begin} = time;
    $job->{in} = '';
    $job->{out} = $job->{text};
    delete $job->{done};

    $job->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $port, Blocking => 0) or return $self->answered($job, 0);
    $self->{flying}{ fileno $job->{socket} } = $job;
}


sub exchange
{
    my ($self) = @_;
    my $flying = $self->{flying};
    my @jobs = values %$flying;

    local $SIG{PIPE} = 'IGNORE';
    my ($read, $write) = IO::Select::select(
        IO::Select->new(map { $_->{socket} } @jobs),
        IO::Select->new(map { $_->{socket} } grep { $_->{out} ne '' } @jobs),
        undef, 0.01);

    CouponHTTP::send_some($flying->{ fileno $_ }) for @{ $write // [] };
    CouponHTTP::receive_some($flying->{ fileno $_ }) for @{ $read // [] };

    my $late = time - $self->{patience};
    for my $job (grep { $_->{done} || $_->{begin} < $late } @jobs) {
        delete $flying->{ fileno $job->{socket} };
        $self->answered($job, CouponHTTP::parse($job->{in})->{status});
    }
}


sub answered
{
    my ($self, $job, $status) = @_;
    my $took = time - $job->{begin};

    delete $job->{socket};
    $self->{statuses}{$status}++;
    $self->{slowest} = $took if $took > $self->{slowest};

    if ($status == 200) {
        $self->{acknowledged}{ $job->{id} }++;
    } elsif ($status == 0 || $status >= 500) {
        my $pause = 0.05 * $job->{attempts};
        $job->{due} = time + ($pause < 1 ? $pause : 1);
        @{ $self->{waiting} } = sort { $a->{due} <=> $b->{due} }
                                @{ $self->{waiting} }, $job;
    } else {
        push @{ $self->{refused} }, [$job->{id}, $status];
    }
}


1;
