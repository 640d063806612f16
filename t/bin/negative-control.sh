#!/bin/bash
# A detector that has never detected anything is no evidence: takes one guard
# after the other out of a copy of the module, and sees whether the test that
# is to hold it turns red.
#
#   negative-control.sh [NUMBER ...]      all of them, or these
#
# Each guard: its file, a text that occurs there once, what takes its place, and
# the test.  The tests pass with the module as it is, which is looked at first.

set -eu
cd "$(dirname "$0")/../.."

copy=$PWD/build/negative
module=$copy/build/ngx_http_coupon_callback_module.so
objs=$copy/build/nginx-objs
missed=0

# file | test | what is gone | text | in its place
guards=(
    "src/ngx/request.c|t/141-abort.t|a client that goes leaves its ticket\
|ngx_http_coupon_queue_leave(ctx->ticket);|"
    "src/ngx/queue.c|t/150-redis.t|what a duplicate has added is taken back\
|redis.call('XDEL', KEYS[2], last)|"
    "src/ngx/queue.c|t/373-killed-worker.t|a mark without its entry is taken back\
|redis.call('DEL', KEYS[1])|"
    "src/ngx/fence.c|t/362-replicas.t|a fence asks for what it got\
|replicas >= (ngx_int_t) fenced->replicas|1"
    "src/ngx/fence.c|t/365-fence-elsewhere.t|a fence is with the same server\
|ngx_strcmp(fence->run_id, conn->run_id) == 0|1"
    "src/ngx/fence.c|t/365-fence-elsewhere.t|a fence is as old as the write\
|fenced->epoch != fence->epoch|0"
    "src/ngx/fence.c|t/366-fence-addresses.t|a fence follows to the master\
|ngx_http_coupon_redis_avoid(fence);|"
    "src/ngx/durability.c|t/150-redis.t|a policy that evicts is no durability\
|(ngx_strncmp(value, \"allkeys-\", 8) == 0)|0"
    "src/ngx/durability.c|t/360-durability.t|a log in the making is no log\
|ngx_strcmp(conn->run_id, logging) == 0|1"
    "src/ngx/redis_stray.c|t/160-fake-redis.t|a reply too many is refused\
|ac->replies.head != NULL|ac != NULL"
    "src/ngx/secrets.c|t/371-secrets.t|a secret is overwritten\
|ngx_explicit_memzero(secret->data, secret->len);|(void) secret;"
    "src/core/signature.c|t/110-signature.t|a signature is compared\
|(CRYPTO_memcmp(bytes, mac, len) == 0)|1"
)


# replace FILE TEXT REPLACEMENT: exactly one place
replace() {
    FROM=$2 TO=$3 perl -0777 -pi.orig -e \
        '$n = s/\Q$ENV{FROM}\E/$ENV{TO}/g;
         END { die "$ARGV: the text occurs $n times\n" if $n != 1 }' "$1"
}


build_all() {
    rm -rf "$copy/src"
    mkdir -p "$copy"
    cp -r config ngx_http_coupon_callback_module.c src t "$copy/"
    "$copy/t/bin/build-module.sh" "$module" >"$copy/log" 2>&1 \
        || { cat "$copy/log" >&2; exit 1; }
}


# where nginx's Makefile has what it makes of src/DIR/NAME.c
object() {
    local name=${1#src/}

    echo "${name%.c}.o"
}


# build_one FILE: the module again, with this one changed
build_one() {
    rm -f "$objs/addon/$(object "$1")"
    make -C "${NGINX_SRC:-/usr/share/nginx/src}" -f "$objs/Makefile" modules \
        >"$copy/log" 2>&1 || { cat "$copy/log" >&2; exit 1; }
    cp "$objs/${module##*/}" "$module.new"
    mv -f "$module.new" "$module"
}


run_tests() {
    COUPON_MODULE=$module t/bin/prove.sh "$@" >"$copy/log" 2>&1
}


[ $# != 0 ] || set -- "${!guards[@]}"
tests=()

for number in "$@"; do
    IFS='|' read -r -d '' _ test _ <<<"${guards[number]}" || true
    [[ " ${tests[*]-} " = *" $test "* ]] || tests+=("$test")
done

echo 'with all guards'
build_all
run_tests "${tests[@]}" || { cat "$copy/log" >&2; exit 1; }

for number in "$@"; do
    IFS='|' read -r -d '' file test what text other \
        <<<"${guards[number]}" || true
    replace "$copy/$file" "$text" "${other%$'\n'}"
    build_one "$file"

    if run_tests "$test"; then
        echo "NOT NOTICED by $test: $what"
        missed=$((missed + 1))
    else
        echo "noticed by $test: $what"
    fi

    # the guard is back, for the next one
    mv "$copy/$file.orig" "$copy/$file"
    rm -f "$objs/addon/$(object "$file")"
done

exit $((missed != 0))
