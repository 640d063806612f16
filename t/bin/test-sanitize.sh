#!/bin/bash
# All tests again, with AddressSanitizer and UndefinedBehaviorSanitizer in the
# core, the daemon, the unit tests and the module, and AddressSanitizer in nginx.
#
#   test-sanitize.sh [t/NNN-topic.t ...]
#
# Reports go to build/asan/reports, and looking there is a step of its own: a
# report of a process whose exit status nobody asked for counts as well.

set -eu
cd "$(dirname "$0")/../.."

reports=$PWD/build/asan/reports

t/bin/build-nginx-asan.sh
make --no-print-directory SANITIZE=1 settle unit

rm -rf "$reports"
mkdir -p "$reports"

export COUPON_BUILD=$PWD/build/asan
export COUPON_NGINX=$PWD/build/nginx-asan/nginx
export COUPON_MODULE=$PWD/build/asan/ngx_http_coupon_callback_module.so
export COUPON_REPORTS=$reports
# a module and nginx both have ngx_modules, that is how dynamic modules work
export ASAN_OPTIONS=detect_odr_violation=0,detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/t/lib/lsan.supp,print_suppressions=0

status=0
t/bin/prove.sh "$@" || status=1

echo 'sanitizer reports:'
if compgen -G "$reports/*" >/dev/null; then
    head -n 40 "$reports"/* | head -n 200
    status=1
else
    echo 'none'
fi

exit $status
