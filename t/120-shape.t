# The shape of a callback, rule by rule, through nginx: what is let in as it is,
# and what is answered 400 and kept aside, byte for byte.
#
# Every body here is signed.  Those of the tables have the batch id "b", unless
# the rule is about the id; the id column says which id is known when the body
# is refused.

use strict;
use warnings;

use CouponTest;
use JSON::PP 'decode_json';
use Test::More;
use Time::HiRes 'time';

my $redis = start_redis();
my $nginx = start_nginx(server => <<"END");
    coupon_callback_redis 127.0.0.1:$redis->{port};
    coupon_callback_secret s3cret;
    location = /cb { coupon_callback sportapi; }
    location = /small {
        coupon_callback sportapi;
        coupon_callback_max_coupons 2;
        coupon_callback_batch_id "^[a-f0-9]{4}\$";
        coupon_callback_coupon_code "^[0-9]+\$";
    }
END

my $event = '{"uuid":"1","status":2}';
my $coupon = qq({"coupon_code":"007","status":2,"events_data":[$event]});


# A body with these members of its only coupon beside code and status.
sub with
{
    my ($members) = @_;

    return batch(qq({"coupon_code":"007","status":2,$members}));
}


sub batch
{
    my (@coupons) = @_;

    return sprintf '{"batchId":"b","couponCount":%d,"coupons":[%s]}',
        scalar @coupons, join ',', @coupons;
}


# A body of two coupons, each with these members beside code and status.
sub pair
{
    return batch(map { qq({"coupon_code":"007","status":2,$_}) } @_);
}


# A body whose batchId and couponCount are these JSON texts.
sub head
{
    my ($id, $count) = @_;

    return qq({"batchId":$id,"couponCount":$count,"coupons":[$coupon]});
}


sub deep
{
    my ($levels) = @_;

    # the body, its coupons and the coupon are three levels
    return with('"x":' . '[' x ($levels - 3) . ']' x ($levels - 3));
}


my @good = (
    ['a coupon with everything',
     with('"real_win":125.50,"potential_win":1e3,"events_data":[' . $event
          . ',{"uuid":98123,"status":3,"odds":1.5}]')],
    ['no events, no money', batch('{"coupon_code":"007","status":2}')],
    ['an empty array of events', with('"events_data":[]')],
    ['members in another order',
     qq({"coupons":[{"events_data":[$event],"status":2,"coupon_code":"007"}],)
     . '"couponCount":1,"batchId":"b"}'],
    ['white space', " \r\n\t" . head('"b"', ' 1 ') . "\n\n"],
    ['100 coupons', batch(map { $coupon =~ s/007/$_/r } 1 .. 100)],
    ['unknown members, nested', with('"a":{"b":[1,{"c":null}],"d":true},'
                                     . '"BatchId":"x","Status":"y"')],
    ['a whole number as 15.0', head('"b"', '1.0')],
    ['a whole number as 1e0', head('"b"', '1e0')],
    ['a negative status', batch('{"coupon_code":"007","status":-1}')],
    ['escapes in names and ids', '{"\u0062atchId":"\u0062","couponCount":1,'
                                 . '"coupons":[' . $coupon . ']}'],
    ['UTF-8 and a pair of surrogates', with('"x":"é€𝄞\ud834\udd1e"')],
    ['64 levels', deep(64)],
    ['two coupons with the same names', pair('"x":1,"y":2', '"x":3,"y":4')],
    ['... with more, fewer and others',
     batch('{"coupon_code":"007","status":2,"x":1,"y":2}',
           '{"coupon_code":"007","status":2,"x":1,"y":2,"z":3}',
           '{"coupon_code":"007","status":2,"y":{"y":1}}',
           '{"status":2,"coupon_code":"007","y":{"y":1,"x":2}}')],
    ['real_win null', with('"real_win":null')],
    ['real_win 0', with('"real_win":0')],
    ['real_win with an exponent', with('"real_win":1.2550e2')],
    ['realWin', with('"realWin":"12.34"')],
    ['both spellings, the same amount', with('"real_win":1.5,"realWin":"1.50"')],
    ['15 digits as a number', with('"real_win":1234567.12345678')],
    ['18 digits as a string', with('"real_win":"1234567890.12345678"')],
    ['a uuid that is a whole number', with('"events_data":[{"uuid":98123}]')],
);

# the id that is known when it is refused, a word of the reason, the body
my @bad = (
    ['', 'JSON', ''],
    ['', 'JSON', ' '],
    ['', 'JSON', 'hello'],
    ['b', 'JSON', substr(head('"b"', 1), 0, -1)],
    ['', '', "[" . head('"b"', 1) . ']'],
    ['', '', '"text"'],
    ['', '', 'null'],
    ['', 'batchId', '{}'],
    ['', 'JSON', "\xef\xbb\xbf" . head('"b"', 1)],
    ['b', 'JSON', head('"b"', 1) . '{}'],
    ['b', 'JSON', head('"b"', 1) . "\0"],
    ['b', 'JSON', head('"b"', 1) =~ s/\}$/,}/r],
    ['b', 'JSON', head('"b"', '01')],
    ['b', 'JSON', head('"b"', '+1')],
    ['b', 'JSON', head('"b"', 'NaN')],
    ['b', 'JSON', with("'x':1")],
    ['b', 'JSON', with('/* x */"x":1')],
    ['b', 'JSON', with("\"x\":\"\x01\"")],
    ['b', 'JSON', with("\"x\":\"\xff\"")],
    ['b', 'JSON', with("\"x\":\"\xc0\xaf\"")],
    ['b', 'JSON', with("\"x\":\"\xed\xa0\x80\"")],
    ['b', 'JSON', with('"x":"\u0000"')],
    ['b', 'JSON', with('"\u0000":1')],
    ['b', 'JSON', with('"x":"\ud834"')],
    ['b', 'JSON', with('"x":"\udd1e\ud834"')],
    ['b', 'JSON', with('"x":1,"x":1')],
    ['b', 'JSON', with('"x":1,"\u0078":1')],
    ['b', 'JSON', with('"status":2')],
    ['b', 'JSON', with('"y":{"x":1,"x":1}')],
    ['b', 'JSON', deep(65)],

    # a coupon with the names of the one before it, nearly
    ['b', 'JSON', pair('"x":1,"y":2', '"x":1,"x":2')],
    ['b', 'JSON', pair('"x":1,"y":2', '"x":1,"y":2,"x":3')],
    ['b', 'JSON', pair('"x":1,"y":2', '"x":1,"\u0078":2')],
    ['b', 'JSON', pair('"x":1,"y":2', '"x":{,"y":2}')],
    ['b', 'JSON', pair('"x":{"a":1,"b":2,"c":3}',
                       join(',', map { qq("m$_":1) } 1 .. 15) . ',"x":{,"c":3}')],
    ['b', 'JSON', pair('"x":1,"y":2', '"x":1 "y":2')],
    ['b', 'JSON', pair('"x":1,"y":2', '"x":1,"y":')],

    ['', 'batchId', qq({"couponCount":1,"coupons":[$coupon]})],
    ['', 'batchId', qq({"BATCHID":"b","couponCount":1,"coupons":[$coupon]})],
    ['', 'batchId', head('""', 1)],
    ['', 'batchId', head('7', 1)],
    ['', 'batchId', head('null', 1)],
    ['', 'batchId', head('["b"]', 1)],
    ['', 'batchId', head('"a b"', 1)],
    ['', 'batchId', head('"b\n"', 1)],
    ['', 'batchId', head('"é"', 1)],
    ['', 'batchId', head('"' . 'b' x 65 . '"', 1)],

    ['b', 'couponCount', head('"b"', 2)],
    ['b', 'couponCount', head('"b"', 0)],
    ['b', 'couponCount', head('"b"', -1)],
    ['b', 'couponCount', head('"b"', '1.5')],
    ['b', 'couponCount', head('"b"', '"1"')],
    ['b', 'couponCount', head('"b"', 'null')],
    ['b', 'couponCount', head('"b"', '1e99')],
    ['b', 'couponCount', qq({"batchId":"b","coupons":[$coupon]})],
    ['b', 'coupons', '{"batchId":"b","couponCount":1}'],
    ['b', 'coupons', '{"batchId":"b","couponCount":1,"coupons":{}}'],
    ['b', 'coupons', '{"batchId":"b","couponCount":1,"coupons":null}'],
    ['b', '', batch()],
    ['b', 'coupons', batch(map { $coupon =~ s/007/$_/r } 1 .. 101)],

    ['b', 'coupon', batch('"007"')],
    ['b', 'coupon', batch('null')],
    ['b', 'coupon_code', batch('{"status":2}')],
    ['b', 'coupon_code', batch('{"coupon_code":7,"status":2}')],
    ['b', 'coupon_code', batch('{"coupon_code":"","status":2}')],
    ['b', 'coupon_code', batch('{"coupon_code":"0 7","status":2}')],
    ['b', 'coupon_code', batch('{"coupon_code":"' . '0' x 65 . '","status":2}')],
    ['b', 'coupon_code', batch('{"Coupon_Code":"007","status":2}')],
    ['b', 'coupon_code', batch($coupon, '{"coupon_code":"0\t","status":2}')],
    ['b', 'status', batch('{"coupon_code":"007"}')],
    ['b', 'status', batch('{"coupon_code":"007","status":"2"}')],
    ['b', 'status', batch('{"coupon_code":"007","status":2.5}')],
    ['b', 'status', batch('{"coupon_code":"007","status":null}')],
    ['b', 'status', batch('{"coupon_code":"007","status":true}')],

    ['b', 'real_win', with('"real_win":-1')],
    ['b', 'real_win', with('"real_win":"-0.01"')],
    ['b', 'real_win', with('"real_win":true')],
    ['b', 'real_win', with('"real_win":{}')],
    ['b', 'real_win', with('"real_win":""')],
    ['b', 'real_win', with('"real_win":"1,5"')],
    ['b', 'real_win', with('"real_win":" 1"')],
    ['b', 'real_win', with('"real_win":"1.5x"')],
    ['b', 'real_win', with('"real_win":12345678.12345678')],
    ['b', 'real_win', with('"real_win":"12345678901.12345678"')],
    ['b', 'real_win', with('"real_win":0.123456789')],
    ['b', 'real_win', with('"real_win":"0.123456789"')],
    ['b', 'real_win', with('"real_win":1e999999999999')],
    ['b', 'real', with('"realWin":-1')],
    ['b', 'real', with('"real_win":1.5,"realWin":1.51')],
    ['b', 'real', with('"real_win":1.5,"realWin":null')],

    ['b', 'events_data', with('"events_data":{}')],
    ['b', 'events_data', with('"events_data":"x"')],
    ['b', 'event', with('"events_data":[1]')],
    ['b', 'uuid', with('"events_data":[{}]')],
    ['b', 'uuid', with('"events_data":[{"uuid":""}]')],
    ['b', 'uuid', with('"events_data":[{"uuid":null}]')],
    ['b', 'uuid', with('"events_data":[{"uuid":1.5}]')],
    ['b', 'uuid', with('"events_data":[{"uuid":["1"]}]')],
    ['b', 'uuid', with(qq("events_data":[$event,{"UUID":"1"}]))],
);

my %seen;


# A body that must be let in: kept byte for byte, and nothing beside it.
sub let_in
{
    my ($name, $body, $path) = @_;

    $redis->cmd('FLUSHALL');
    my $answer = post($nginx, $path // '/cb', $body, secret => 's3cret');

    is $answer->{status}, 200, "let in: $name" or diag $answer->{body};
    is_deeply [ map { $_->{body} } $redis->entries('{coupons}:inbox') ],
              [$body], '... and stored as it is';
    is $redis->cmd('EXISTS', '{coupons}:rejected'), 0, '... and only there';
}


# A body that must be refused: answered in JSON, kept aside byte for byte.
sub refused
{
    my ($id, $word, $body, $path) = @_;
    my $name = substr $body, 0, 60;
    my $begin = int 1000 * time;

    $redis->cmd('FLUSHALL');
    my $answer = post($nginx, $path // '/cb', $body, secret => 's3cret');
    my ($kept, @more) = $redis->entries('{coupons}:rejected');
    my $error = eval { decode_json($answer->{body}) } // {};

    $seen{ $error->{message} // '' }++;

    is $answer->{status}, 400, "refused: $name" or return;
    is $answer->{headers}{'content-type'}, 'application/json', '... in JSON';
    is_deeply { %$error, message => '' },
              { success => JSON::PP::false, error => 'malformed', message => '' },
              '... which says malformed';
    like $error->{message}, qr/^[\x20-\x7e]{5,120}$/, '... and why';
    like $error->{message}, qr/\Q$word\E/, '... by name';

    is scalar @more, 0, '... kept once';
    is_deeply { %$kept, entry => '', received => '' },
              { entry => '', source => 'sportapi', id => $id, body => $body,
                reason => $error->{message}, received => '' },
              '... with all that is known';
    ok $kept->{received} >= $begin && $kept->{received} <= 1000 * time,
       '... and when it came' or diag $kept->{received};
    is_deeply $redis->cmd('KEYS', '*'), ['{coupons}:rejected'],
              '... and nothing else';
}


let_in(@$_) for @good;
refused(@$_) for @bad;

cmp_ok scalar keys %seen, '>', 25, 'the reasons are told apart';


# --- other shapes by configuration

let_in('a batch id of another shape', head('"00ff"', 1), '/small');
refused('', 'batchId', head('"00fg"', 1), '/small');
refused('', 'batchId', head('"00ff0"', 1), '/small');
refused('', 'batchId', head('"00ff\n"', 1), '/small');
refused('00ff', 'coupon_code', head('"00ff"', 1) =~ s/007/00a/r, '/small');
let_in('as many coupons as it takes',
       batch($coupon, $coupon =~ s/007/8/r) =~ s/"b"/"00ff"/r, '/small');
refused('00ff', 'coupons',
        batch($coupon, $coupon =~ s/007/8/r, $coupon =~ s/007/9/r)
            =~ s/"b"/"00ff"/r, '/small');


# --- a refused id is not used up

$redis->cmd('FLUSHALL');
is post($nginx, '/cb', head('"b"', 2), secret => 's3cret')->{status}, 400,
   'refused first';
is post($nginx, '/cb', head('"b"', 1), secret => 's3cret')->{body},
   '{"success":true,"processed":1}', '... and let in when it is well-formed';

done_testing;
