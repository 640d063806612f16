#!/bin/bash
# The tests again, with AddressSanitizer and UndefinedBehaviorSanitizer in the
# core, the daemon, the unit tests and the module, and AddressSanitizer in nginx.
#
#   test-sanitize.sh [t/NNN-topic.t ...]      all but those below, or these
#
# Reports go to build/asan/reports, and looking there is a step of its own: a
# report of a process whose exit status nobody asked for counts as well.

set -eu
cd "$(dirname "$0")/../.."

reports=$PWD/build/asan/reports

# They prove nothing here about the memory of C that others do not:
left_out=(
    001 005 006 390             # scripts, instructions, the demo: no C of ours
    205 212 225 229 340 373     # kill -9 all the time; restarts: 203 204 320
    206                         # histories by chance: 235 237 330
    222 223 228 234 236         # on PostgreSQL again; its store as such: 220,
    239 241 243                 # under the daemon: 210 221 224 226 242
    350                         # reloads and stops under load: 180 185 204 341
    360 363 364                 # what is on disk, and when; fences: 361 362 365
)

t/bin/build-nginx-asan.sh
make --no-print-directory -j"$(nproc)" SANITIZE=1 settle unit

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

# each is the same code with other numbers
export TRUTH_HISTORIES=200

if [ $# = 0 ]; then
    mapfile -t files < <(printf '%s\n' t/*.t | sort -r \
        | grep -vE "^t/($(IFS='|'; echo "${left_out[*]}"))-")
    set -- "${files[@]}"
fi

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
