#!/bin/bash
#
# Fuzzes the parsers of the core, one after the other, with libFuzzer and the
# address and undefined-behaviour sanitizers (clang is needed):
#
#     t/fuzz/run.sh [SECONDS [TARGET...]]         default: 60, every target
#
# Everything it makes lies in build/fuzz: programs, corpora (kept, so that the
# next run goes on where this one stopped) and, if something was found, the
# input that shows it.  The exit status says whether something was.

set -eu

cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
targets=${*:-json envelope snapshot money signature message jws x5c jwks stores}
out=build/fuzz
failed=0


# the first inputs: one of each kind is enough to begin with
seed() {
    local target=$1 name=$2

    mkdir -p "$out/corpus/$target"
    cat > "$out/corpus/$target/seed-$name"
}

seeds() {
    local body='{"batchId":"b-1","couponCount":2,"coupons":[{"coupon_code":"0001",
"status":2,"real_win":125.50,"potential_win":3e2,"events_data":[{"uuid":"98123",
"status":2},{"uuid":7}]},{"coupon_code":"\u0030002","status":15.0,
"realWin":"1.50","real_win":1.5}]}'
    local hex=00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f
    local base64='ABEiM0RVZneImaq7zN3u/xAhMkNUZXaHmKm6y9zt/g8='

    printf '%s' "$body" | seed json body
    printf '%s' "$body" | seed envelope body
    printf '%s' '[-1.5e+3,"\ud83d\ude00\n",true,false,null,{"":[]}]' \
        | seed json values
    printf '%s' '{"batchId":"b","couponCount":1,"coupons":[{"status":2,
"coupon_code":"1"}]}' | seed envelope small
    printf '%s' '{"batchId":"b","couponCount":1,"coupons":[{"status":2,
"coupon_code":"\u0031","events_data":[{"uuid":"\u0061","status":2}]}]}' \
        | seed envelope bet
    printf '%s' '{"code":1,"body":{"query_type":"ids","coupons":[{"coupon_code":
"0001","status":2,"real_win":1.5,"events_data":[{"id":98123,"status":2}]}]},
"error_code":null,"error_message":null}' | seed snapshot list
    printf '%s' '{"code":1,"body":{"coupon_code":"1","status":15}}' \
        | seed snapshot one
    printf '%s' '{"code":0,"error_code":471,"error_message":"Coupon not found"}' \
        | seed snapshot failed
    printf '%s\n%s' 125.50 1e2 | seed money two
    printf '%s' -0.00000001 | seed money small
    printf '%s' 123456789012345678 | seed money large
    printf '\0%s' "$hex,$hex" | seed signature hex
    printf '\1%s' "$base64" | seed signature base64
    printf '\3%s' "v1,$base64 v1a,AAAA" | seed signature versions
    printf '\4%s' "sha256=$hex sha1=00" | seed signature prefix
    printf '\0%s' 1700000000 | seed signature time
    printf '%s\n' source sportapi id b-1 count 1 digest \
        0123456789abcdef0123456789abcdef received 1700000000000 body '{}' \
        | seed message entry
    store_seeds
}


store_seeds() {
    local data='{"packageName":"p","eventTimeMillis":"1",
"voidedPurchaseNotification":{"purchaseToken":"t","orderId":"o",
"productType":2,"refundType":1}}'

    printf '%s' eyJhbGciOiJFUzI1NiIsIng1YyI6WyJhIiwiYiIsImMiXX0.e30.QUFB \
        | seed jws es256
    printf '%s' eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.QUFBQQ \
        | seed jws rs256
    printf '{"expires":1,"keys":[{"kty":"RSA","kid":"a","n":"%s","e":"AQAB",
"use":"sig","alg":"RS256"}]}' "$(head -c 342 /dev/zero | tr '\0' v)" \
        | seed jwks one
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout /dev/null -subj /CN=a -outform DER 2>/dev/null \
        | { printf '\377'; cat; } | seed x5c der
    printf '\0%s' '{"signedPayload":"e30.e30.e30"}' | seed stores body
    printf '\1%s' '{"notificationUUID":"a","notificationType":"TEST",
"signedDate":1796068800000,"data":{"bundleId":"com.a","environment":
"Production","appAppleId":7}}' | seed stores payload
    printf '\2%s' '{"bundleId":"com.a","environment":"Sandbox","signedDate":
1796068800000,"transactionId":"1","originalTransactionId":"2"}' \
        | seed stores transaction
    printf '\3{"subscription":"s","message":{"messageId":"1","data":"%s"}}' \
        "$(printf '%s' "$data" | base64 -w0)" | seed stores push
    printf '\7%s\n%s\n%s' 1 s "$data" | seed stores unwrapped
}

build() {
    clang -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -Wall -Wextra -Werror -Wstrict-prototypes -Wshadow \
        -Isrc/core -Isrc/providers -It/unit -It/fuzz -o "$out/$1_fuzz" \
        "t/fuzz/$1_fuzz.c" src/core/*.c src/providers/*.c \
        -lcrypto -lxxhash -lcjson -lz
}


mkdir -p "$out"
seeds

for target in $targets; do
    build "$target"

    dict=
    case $target in
    json | envelope | snapshot | jwks | stores) dict=-dict=t/fuzz/json.dict ;;
    esac

    if "$out/${target}_fuzz" $dict -max_total_time="$seconds" -max_len=4096 \
        -timeout=10 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$out/$target-" "$out/corpus/$target" \
        2> "$out/$target.log"
    then
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' \
            "$out/$target.log") inputs in $seconds seconds, nothing found"
    else
        failed=1
        cat "$out/$target.log"
        echo "$target: FAILED, see $out/$target-*"
    fi
done

exit $failed
