#!/bin/bash
# Builds an nginx that finds memory errors: the distribution's source under
# AddressSanitizer, and NGX_DEBUG_PALLOC, so that every ngx_palloc() is an
# allocation of its own and a byte too far is noticed.
#
#   build-nginx-asan.sh
#
# Makes build/nginx-asan/nginx once, and keeps it, and then
# build/asan/ngx_http_coupon_callback_module.so to go with it, which has
# UndefinedBehaviorSanitizer too (nginx itself would not pass that one).

set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/bin/apt-private.sh
. t/bin/apt-private.sh

src=$PWD/build/nginx-source
target=$PWD/build/nginx-asan
cc_opt='-U_FORTIFY_SOURCE -O1 -fsanitize=address -fno-omit-frame-pointer'
cc_opt+=' -DNGX_DEBUG_PALLOC=1'
ubsan='-fsanitize=undefined -fno-sanitize-recover=undefined'


# as Debian has it, so far as it matters here
flags=(--with-compat --with-debug --with-pcre-jit --with-threads
       --with-http_ssl_module --with-http_v2_module
       --with-http_stub_status_module)


build_nginx() {
    echo 'building nginx with AddressSanitizer'
    (
        cd "$src"
        ./configure "${flags[@]}" --builddir="$target" \
            --with-cc-opt="$cc_opt -fPIC" --with-ld-opt='-fsanitize=address'
        make -f "$target/Makefile" -j"$(nproc)"
    ) >"$target/log" 2>&1 || { tail -n 30 "$target/log" >&2; exit 1; }
}


nginx_source "$src"
mkdir -p "$target" build/asan
[ -x "$target/nginx" ] || build_nginx

# what build-module.sh finds in nginx-dev as well
echo "NGX_CONF_FLAGS=(${flags[*]})" >"$src/conf_flags"
NGINX_SRC=$src CC_OPT="$cc_opt $ubsan" LD_OPT="-fsanitize=address $ubsan" \
    t/bin/build-module.sh build/asan/ngx_http_coupon_callback_module.so
