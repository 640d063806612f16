#!/bin/bash
# All checks that need no server.  Runs every one of them, says which failed,
# and exits 1 if any did.
#
#   lint.sh [CHECK ...]      all, or: gcc clang module tidy source docs scripts

set -u
cd "$(dirname "$0")/../.." || exit 1

name=ngx_http_coupon_callback_module
nginx_src=${NGINX_SRC:-/usr/share/nginx/src}
jobs=$(nproc)
failed=()
# TLS to Redis has two variants; the one with TLS where build-tls.sh has been
hiredis=$PWD/build/hiredis-tls/include
tls=(src/tls/none.c)
[ ! -d "$hiredis" ] || tls+=(src/tls/tls.c)


# daemon, core and unit tests, as strict as the Makefile has it
check_gcc() {
    make -s -j"$jobs" CC=gcc OUT=build/lint/gcc objects >/dev/null
}


# its warnings do not depend on what it optimises
check_clang() {
    make -s -j"$jobs" CC=clang CFLAGS=-O0 HARDEN= OUT=build/lint/clang objects \
        >/dev/null \
        && clang -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wshadow \
            -fsyntax-only -I"$hiredis" -Isrc/core "${tls[@]}"
}


# nginx's own flags: -W -Wall -Werror
check_module() {
    make -s module >/dev/null
}


# tidy FILE... -- ARGUMENTS: clang-tidy on each, with FILE in its arguments
tidy() {
    local files=()

    while [ "$1" != -- ]; do
        files+=("$1")
        shift
    done
    shift

    # it counts on stderr the warnings that it does not show
    printf '%s\n' "${files[@]}" \
        | xargs -P "$jobs" -I FILE clang-tidy --quiet "$@" 2>/dev/null
}


check_tidy() {
    local flags=(-std=c11 -D_GNU_SOURCE -Isrc/core -Isrc/providers -Isrc/tls
                 -I"$(pg_config --includedir)") status=0
    local analyser='-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.*'

    tidy src/core/*.c src/settle/*.c \
        -- FILE -- "${flags[@]}" -Isrc/settle || status=1
    tidy "${tls[@]}" -- FILE -- "${flags[@]}" -I"$hiredis" || status=1

    # the analyser only: nginx's macros and style are not clang-tidy's
    tidy $name.c src/ngx/*.c src/providers/*.c \
        -- --checks="$analyser" FILE -- "${flags[@]}" -Isrc/ngx \
        -Ibuild/nginx-objs -I"$nginx_src"/src/{core,event,event/modules} \
        -I"$nginx_src"/src/{os/unix,http,http/modules,http/v2} || status=1

    return $status
}


check_source() {
    t/bin/check-source.pl
}


check_docs() {
    t/bin/check-docs.pl
}


check_scripts() {
    local file status=0

    shellcheck -x t/bin/*.sh t/fuzz/*.sh t/bench/*.sh .ci/run || status=1
    for file in t/bin/*.pl t/bench/*.pl t/lib/*.pm; do
        perl -It/lib -Ibuild/test-nginx/usr/share/perl5 -wc "$file" \
            2>&1 | grep -v 'syntax OK$' && status=1
    done
    return $status
}


[ $# != 0 ] || set -- gcc clang module tidy source docs scripts

for check in "$@"; do
    if "check_$check"; then
        echo "lint: $check: ok"
    else
        echo "lint: $check: FAILED"
        failed+=("$check")
    fi
done

if [ ${#failed[@]} != 0 ]; then
    echo "lint: failed: ${failed[*]}"
    exit 1
fi
