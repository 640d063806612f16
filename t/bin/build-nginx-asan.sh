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

target=$PWD/build/nginx-asan
src=$target/src
cc_opt='-U_FORTIFY_SOURCE -O1 -fsanitize=address -fno-omit-frame-pointer'
cc_opt+=' -DNGX_DEBUG_PALLOC=1'
ubsan='-fsanitize=undefined -fno-sanitize-recover=undefined'


# The version that is installed; or, if a mirror has dropped its source, the one
# of the release, which is the same nginx with fewer patches.
fetch_source() {
    local mirror release main security

    mirror=$(apt_mirror)
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
    main="deb-src KEY $mirror $release main"
    security="deb-src KEY ${mirror%/debian*}/debian-security"
    security+=" $release-security main"

    echo "fetching the source of nginx"
    rm -rf build/apt
    apt_private "$main"$'\n'"$security" source \
        "nginx=$(dpkg-query -W -f '${source:Version}' nginx)" \
        || apt_private "$main" source nginx \
        || { cat build/apt/log >&2; exit 1; }

    rm -rf "$src"
    mkdir -p "$target"
    mv build/apt/nginx-*/ "$src"
    rm -rf build/apt
}


build_nginx() {
    local flags

    echo "building nginx with AddressSanitizer"
    flags="--with-compat --with-debug --with-pcre-jit --with-http_ssl_module
           --with-http_v2_module --with-http_stub_status_module --with-threads
           --prefix=$target"
    # Debian keeps its own script as configure, or upstream's in auto/
    [ -e "$src/configure" ] || cp "$src/auto/configure" "$src/configure"
    echo "NGX_CONF_FLAGS=($flags)" | tr '\n' ' ' >"$src/conf_flags"

    (
        cd "$src"
        # shellcheck disable=SC2086
        ./configure $flags --with-cc-opt="$cc_opt -fPIC" \
            --with-ld-opt='-fsanitize=address'
        # the leaks of the build's own tools are no news
        ASAN_OPTIONS=detect_leaks=0 make -j"$(nproc)"
    ) >"$target/log" 2>&1 || { tail -n 30 "$target/log" >&2; exit 1; }
    cp "$src/objs/nginx" "$target/nginx"
}


[ -e "$src/auto/install" ] || fetch_source
[ -x "$target/nginx" ] || build_nginx

mkdir -p build/asan
NGINX_SRC=$src CC_OPT="$cc_opt $ubsan" LD_OPT="-fsanitize=address $ubsan" \
    t/bin/build-module.sh build/asan/ngx_http_coupon_callback_module.so
