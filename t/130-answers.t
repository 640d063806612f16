# What a sender gets to read, case by case, and what the access log says of it.
#
#   --- send    one request a line: METHOD SIGNED BODY_NAME [header: value]
#   --- logs    what the access log says of them: result id count
#
# The bodies are in %body.  Every answer that is not a success is one JSON
# object with a code and a sentence; this holds for all blocks.

use CouponNginx;
use CouponTest;
use JSON::PP 'decode_json';
use Test::More;
use Test::Nginx::Socket 'no_plan';

$ENV{TEST_NGINX_DEAD_PORT} = free_port();

my $redis = start_redis(port => $ENV{TEST_NGINX_REDIS_PORT});
my %body = (
    one   => callback('b1', { code => '1', status => 2 }),
    three => callback('b3', map { { code => $_, status => 2 } } 1 .. 3),
    other => callback('b1', { code => '1', status => 3 }),
    bad   => callback('b4') =~ s/:0,/:5,/r,
    none  => '',
    large => callback('b5', map { { code => $_, status => 2 } } 1 .. 50),
);
my $log = Test::Nginx::Util::server_root() . '/logs/coupons.log';
my $json = qr/^\{"success":false,"error":"\w+","message":"[^"\\]{5,100}"\}\z/;

add_block_preprocessor(sub {
    my ($block) = @_;
    my (@requests, @headers);

    for (split /\n/, $block->send) {
        my ($method, $signed, $name, @header) = split / /, $_, 4;
        my $signature = $signed eq 'signed' ? sign($body{$name}, 's3cret')
                                            : 'f' x 64;
        push @requests, "$method /cb\n$body{$name}";
        push @headers, join "\n", "X-Signature: $signature", @header;
    }

    unlink $log;
    $redis->cmd('FLUSHALL');
    $block->set_value('request', \@requests);
    $block->set_value('more_headers', \@headers);
    $block->set_value('error_code', [ split ' ', $block->error_code ]);

    my $port = $block->dead ? '$TEST_NGINX_DEAD_PORT' : '$TEST_NGINX_REDIS_PORT';
    my $location = $block->location // '';

    $block->set_value('http_config', <<'END');
        log_format coupons '$coupon_callback_result $coupon_callback_id '
                           '$coupon_callback_count '
                           '[$coupon_callback_redis_time]';
END
    $block->set_value('config', <<"END");
        error_page 400 401 404 405 413 415 = \@page;
        error_page 500 502 503 504 =200 \@page;
        location \@page { return 200 "a page for people"; }
        location = /cb {
            coupon_callback sportapi;
            coupon_callback_redis 127.0.0.1:$port;
            coupon_callback_secret s3cret;
            client_max_body_size 1k;
            access_log logs/coupons.log coupons;
            $location
        }
END
});

add_response_body_check(sub {
    my ($block, $text, $request) = @_;
    my $code = $block->error_code->[$request];
    my $head = $block->request->[$request] =~ /^HEAD/;

    if ($code != 200 && !$head) {
        like($text, $json, 'a JSON answer');
        ok(eval { decode_json($text) }, '... that parses');
        unlike($text, qr/s3cret|f{64}/, '... without a secret or signature');
    }

    return unless $request == $#{ $block->request };
    is_deeply([ logged(scalar @{ $block->request }) ],
              [ split /\n/, $block->logs ], 'access log');
});


# The lines of the access log; a line comes behind the answer.
sub logged
{
    my ($n) = @_;

    wait_for { read_file($log) =~ tr/\n// >= $n };
    return map { s/ \[(?:-|\d+\.\d{3})\]$//r } split /\n/, read_file($log);
}


no_long_string();
run_tests();

__DATA__

=== TEST 1: accepted, duplicate, conflict: all of them are 200
--- send
POST signed one
POST signed one
POST signed other
POST signed three
POST signed one
--- error_code: 200 200 200 200 200
--- response_body eval
[map { qq({"success":true,"processed":$_}) } 1, 1, 1, 3, 1]
--- raw_response_headers_like eval
[("(?i)content-type: application/json\r\n.*content-length: 30\r\n") x 5]
--- logs
accepted b1 1
duplicate b1 1
conflict b1 1
accepted b3 3
duplicate b1 1



=== TEST 2: unsigned and malformed
--- send
POST unsigned one
POST signed bad
POST unsigned bad
POST signed none
--- error_code: 401 400 401 400
--- response_body_like eval
['"error":"unsigned"', '"error":"malformed"', '"error":"unsigned"',
 '"error":"malformed"']
--- raw_response_headers_like eval
[("(?i)content-type: application/json\r\n") x 4]
--- logs
unsigned - -
malformed b4 -
unsigned - -
malformed - -



=== TEST 3: not POST
--- send
GET signed one
PUT signed one
DELETE signed one
OPTIONS signed one
PATCH unsigned one
--- error_code: 405 405 405 405 405
--- response_body_like eval
['"error":"method_not_allowed"', ('"error"') x 4]
--- raw_response_headers_like eval
[("(?i)allow: POST\r\n") x 5]
--- logs
- - -
- - -
- - -
- - -
- - -



=== TEST 4: HEAD is answered without a body
--- send
HEAD unsigned none
--- error_code: 405
--- raw_response_headers_like: (?i)allow: POST
--- logs
- - -



=== TEST 5: too large, by its length
--- send
POST signed large
POST signed one
--- error_code: 413 200
--- response_body_like eval
['"error":"too_large"', '"success":true']
--- logs
- - -
accepted b1 1



=== TEST 6: a Content-Encoding that is not taken, and the one that is none
--- send
POST signed one Content-Encoding: gzip
POST signed one Content-Encoding: br
POST signed one Content-Encoding: identity, gzip
POST signed one Content-Encoding: identity
POST signed one Content-Type: text/plain
--- error_code: 415 415 415 200 200
--- response_body_like eval
[('"error":"unsupported_encoding"') x 3, ('"success":true') x 2]
--- logs
- - -
- - -
- - -
accepted b1 1
duplicate b1 1



=== TEST 7: Redis is away
--- dead: 1
--- send
POST signed one
POST signed bad
POST unsigned one
--- error_code: 503 503 401
--- response_body_like eval
['"error":"unavailable"', '"error":"unavailable"', '"error":"unsigned"']
--- raw_response_headers_like eval
["(?i)retry-after: \\d+\r\n", "(?i)retry-after: \\d+\r\n", '']
--- logs
unavailable b1 1
unavailable b4 -
unsigned - -



=== TEST 8: malformed, where nothing is kept, needs no Redis
--- dead: 1
--- location
coupon_callback_quarantine off;
--- send
POST signed bad
--- error_code: 400
--- response_body_like: "error":"malformed"
--- logs
malformed b4 -



=== TEST 9: headers of the server come with every answer
--- location
add_header X-Extra yes always;
--- send
POST signed one
POST unsigned one
GET signed one
POST signed large
--- error_code: 200 401 405 413
--- raw_response_headers_like eval
[("(?i)x-extra: yes\r\n") x 4]
--- logs
accepted b1 1
unsigned - -
- - -
- - -



=== TEST 10: refused by nginx itself, and JSON as well
--- location
deny all;
--- send
POST signed one
--- error_code: 403
--- response_body_like: "error":"refused"
--- logs
- - -
