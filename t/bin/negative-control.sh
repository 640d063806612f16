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
|c('XDEL',k,l)|"
    "src/ngx/queue.c|t/310-simultaneous.t|what another has added stays\
|if#l<41 then|if l then"
    "src/ngx/queue.c|t/373-killed-worker.t|a mark without its entry is taken back\
|c('DEL',s)|"
    "src/ngx/queue.c|t/310-simultaneous.t|a mark that is not read may be ours\
|if m and m.err and not|if m and not m and not"
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
    "src/ngx/durability.c|t/360-durability.t|a log that was off is made anew\
|        logging[0] = '\\0';|        ;"
    "src/ngx/durability.c|t/360-durability.t|a rewrite that waits is one\
|!rewriting && !scheduled|!rewriting"
    "src/ngx/redis_stray.c|t/160-fake-redis.t|a reply too many is refused\
|ac->replies.head != NULL|ac != NULL"
    "src/ngx/secrets.c|t/371-secrets.t|a secret is overwritten\
|ngx_explicit_memzero(secret->data, secret->len);|(void) secret;"
    "src/ngx/pattern.c|t/121-patterns.t|a default pattern is the one it stands for\
|{ 0, 0x03ff2000,|{ 0, 0x03ff6000,"
    "src/ngx/stores.c|t/191-google.t|a line of the head that comes twice is none\
|n[k]++ ? 0 : h[i].value.len|h[i].value.len"
    "src/core/json_internal.h|t/120-shape.t|a brother's names begin where its own do\
|name->first && name->object|name->object"
    "src/core/json_internal.h|t/120-shape.t|a brother is known by all of its lead\
|cc_json_same_bytes(p, name->lead.data, len)|1"
    "src/core/json_names.c|t/120-shape.t|a brother's names count when it goes its own way\
|cc_json_mark(&names->stack[i].token)|0"
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


# the module again, with what is newer than its object
build_again() {
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
    build_again

    if run_tests "$test"; then
        echo "NOT NOTICED by $test: $what"
        missed=$((missed + 1))
    else
        echo "noticed by $test: $what"
    fi

    # the guard is back, for the next one
    mv "$copy/$file.orig" "$copy/$file"
    touch "$copy/$file"
done

exit $((missed != 0))
