#!/bin/bash
# Shows a callback on its way through nginx and Redis into the ledger.
#
#   demo.sh            step by step, checking what it says; then all is stopped
#   demo.sh --stay     only starts the servers, until Ctrl-C
#
# Everything lies in a temporary folder and listens on free ports of 127.0.0.1.
# The exit status is 0 only if every answer and every entry of the ledger was as
# announced.

set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/bin/servers.sh
. t/bin/servers.sh

if [ -t 1 ]; then
    bold=$'\e[1m' plain=$'\e[0m' red=$'\e[31m' green=$'\e[32m'
else
    bold='' plain='' red='' green=''
fi

step=0


title() {
    step=$((step + 1))
    printf '\n%s%d. %s%s\n' "$bold" "$step" "$1" "$plain"
}


say() {
    printf '   %s\n' "$@"
}


fail() {
    printf '   %sNOT AS EXPECTED: %s%s\n' "$red" "$1" "$plain" >&2
    [ ! -s "$dir/error.log" ] || tail -n 20 "$dir/error.log" >&2
    tail -n 20 "$dir/settle.out" >&2
    exit 1
}


good() {
    printf '   %sok%s  %s\n' "$green" "$plain" "$1"
}


shown() {
    sed 's/^/   | /'
}


# send EXPECTED_STATUS BODY [SECRET_FILE]: shows the commands and the answer
send() {
    local expected=$1 body=$2 secret=${3:-$secret_file} answer status

    printf '%s' "$body" >"$dir/body.json"
    say 'the body:'
    shown <"$dir/body.json"
    printf '\n'
    say "\$ signature=\$(openssl dgst -sha256 -hmac \"\$SECRET\" -r body.json)" \
        "\$ curl --data-binary @body.json -H \"X-Signature: \${signature%% *}\" \\" \
        "       $url"

    answer=$(t/bin/send-callback.sh "$url" "$secret" "$dir/body.json") \
        || fail 'no answer'
    status=${answer##*$'\n'}
    answer=${answer%$'\n'*}
    say "the answer: $status $answer"
    [ "$status" = "$expected" ] || fail "expected $expected"
}


settle() {
    build/coupon-settle "$@" -c "$settle_ini"
}


# the inbox is empty: everything in it was settled or set aside
settled() {
    [ "$(redis_cli xlen '{coupons}:inbox')" = 0 ]
}


# ledger QUERY: from the database itself
ledger() {
    sqlite3 -readonly -cmd '.timeout 60000' -separator ' ' \
        "$dir/coupons.db" "$1"
}


# operations CODE EXPECTED: the ledger has exactly these, and show shows it
operations() {
    local code=$1 expected=$2 got

    wait_for 60 settled || fail 'the inbox was not emptied'
    say "\$ coupon-settle show $code"
    settle show "$code" | shown
    got=$(ledger "SELECT operation_key, amount FROM coupon_operations
                  WHERE coupon_code = '$code' ORDER BY settlement_generation, kind DESC")
    [ "$got" = "$expected" ] \
        || fail "operations of $code: \"$got\" instead of \"$expected\""
}


# counted RESULT N: the metrics say so
counted() {
    grep -q "^coupon_callback_requests_total.*result=\"$1\".* $2\$" \
        "$dir/metrics" || fail "expected $2 $1 in the metrics"
}


stay() {
    cat <<END

   nginx          http://127.0.0.1:$nginx_port/callbacks/coupons
   metrics        http://127.0.0.1:$nginx_port/metrics
   Redis          redis-cli -p $redis_port
   configuration  $dir (nginx.conf, redis.conf, settle.ini)

Send a signed callback:

   echo '{"batchId":"b-1","couponCount":1,"coupons":[{"coupon_code":"0042","status":2,"real_win":12.50,"events_data":[{"uuid":"1","status":2}]}]}' \\
       | t/bin/send-callback.sh http://127.0.0.1:$nginx_port/callbacks/coupons $secret_file

See what became of it:

   build/coupon-settle show 0042 -c $settle_ini

Ctrl-C ends all of it.
END
    # a server that ends by itself ends the run
    wait -n
    echo 'a server has ended:' >&2
    tail -n 5 "$dir"/*.out "$dir/error.log" >&2
    exit 1
}


demo() {
    local batch final

    title 'A batch of two coupons'
    say 'The provider has settled two coupons: the first won 125.50, the' \
        'second lost. It signs the body with the shared secret (HMAC-SHA256).'
    batch='{"batchId":"batch-1","couponCount":2,"coupons":[
{"coupon_code":"000000000272","status":2,"real_win":125.50,
 "events_data":[{"uuid":"98123","status":2}]},
{"coupon_code":"000000000273","status":3,"real_win":0,
 "events_data":[{"uuid":"98124","status":3}]}]}'
    send 200 "$batch"
    say 'The 200 means: the batch is on disk in Redis. coupon-settle takes it' \
        'from there into the ledger.'
    operations 000000000272 '000000000272:0:final_credit 125.50'
    operations 000000000273 '000000000273:0:final_credit 0'
    good 'both coupons are final, each is credited once'

    title 'The same batch once more'
    say 'Perhaps the provider never saw the 200, so it sends the batch again.'
    send 200 "$batch"
    operations 000000000272 '000000000272:0:final_credit 125.50'
    good 'answered 200 again, and nothing was paid twice'

    title 'A forged callback'
    say 'Somebody without the secret tries to win.'
    printf 'not the secret' >"$dir/other-secret"
    send 401 '{"batchId":"batch-2","couponCount":1,"coupons":[
{"coupon_code":"000000000666","status":2,"real_win":1000000,
 "events_data":[{"uuid":"1","status":2}]}]}' "$dir/other-secret"
    if [ "$(redis_cli exists '{coupons}:seen:sportapi:batch-2')" != 0 ] \
        || ! settled \
        || [ -n "$(ledger "SELECT 1 FROM coupons
                           WHERE coupon_code = '000000000666'")" ]
    then
        fail 'it left something behind'
    fi
    good 'refused before the body was even parsed; Redis never heard of it'

    title 'An authentic but malformed callback'
    say 'The signature is right, but couponCount is not the number of coupons.'
    send 400 '{"batchId":"batch-3","couponCount":7,"coupons":[
{"coupon_code":"000000000274","status":2,"real_win":5,
 "events_data":[{"uuid":"98125","status":2}]}]}'
    say 'It is kept for a person to look at:' '$ coupon-settle rejected list'
    settle rejected list >"$dir/list"
    shown <"$dir/list"
    grep -q batch-3 "$dir/list" || fail 'it is not in the list'
    good 'refused, settled by nobody, and not lost'

    title 'A recalculation'
    say 'The provider takes the result of the first coupon back (status 15).'
    send 200 '{"batchId":"batch-4","couponCount":1,"coupons":[
{"coupon_code":"000000000272","status":15,
 "events_data":[{"uuid":"98123","status":15}]}]}'
    operations 000000000272 \
        $'000000000272:0:final_credit 125.50\n000000000272:1:recalculation_debit -125.50'
    good 'a new settlement generation began, and the credit was taken back'

    title 'The recalculated result'
    final=$'000000000272:0:final_credit 125.50\n000000000272:1:recalculation_debit -125.50\n000000000272:1:final_credit 80.00'
    send 200 '{"batchId":"batch-5","couponCount":1,"coupons":[
{"coupon_code":"000000000272","status":2,"real_win":80.00,
 "events_data":[{"uuid":"98123","status":2}]}]}'
    operations 000000000272 "$final"
    good '125.50 - 125.50 + 80.00: the player has been paid 80.00'

    title 'What nginx has counted'
    say "\$ curl http://127.0.0.1:$nginx_port/metrics"
    curl -sS "http://127.0.0.1:$nginx_port/metrics" >"$dir/metrics"
    grep '^coupon_callback_requests_total.*[^0]$' "$dir/metrics" | shown
    counted accepted 3
    counted duplicate 1
    counted unsigned 1
    counted malformed 1
    say '$ tail access.log'
    shown <"$dir/access.log"
    [ "$(wc -l <"$dir/access.log")" = 6 ] || fail 'expected six lines'
    ! grep -E '\[(alert|emerg|crit)\]' "$dir/error.log" \
        || fail 'the error log of nginx has an alert'
    good 'six callbacks, each with its result, and no alert in the error log'
}


printf '%s\n' \
    "provider --HTTP--> nginx + module --> Redis stream --> coupon-settle --> SQLite" \
    ''
echo 'starting a private Redis, nginx and coupon-settle with the files of conf/'
servers_start
url=http://127.0.0.1:$nginx_port/callbacks/coupons

if [ "${1:-}" = --stay ]; then
    stay
fi

demo

printf '\n%sAll as announced.%s The servers are stopped now, and their folder is' \
    "$bold" "$plain"
printf ' removed.\n'
