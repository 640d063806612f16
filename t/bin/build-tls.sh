#!/bin/bash
# Builds module and daemon with TLS to Redis, where the system's hiredis has
# none: against the hiredis of Debian 13, whose source is built into
# build/hiredis-tls.  The system is not touched.
#
#   build-tls.sh
#
# Makes nothing where it has TLS, else build/tls/ngx_http_coupon_callback_module.so and build/tls/coupon-settle.

set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/bin/apt-private.sh
. t/bin/apt-private.sh

hiredis=$PWD/build/hiredis-tls
module=build/tls/ngx_http_coupon_callback_module.so
# somebody else may be fetching something else
# shellcheck disable=SC2034
apt_dir=$PWD/build/apt-hiredis


# only the archives: the linker takes them for -lhiredis and -lhiredis_ssl
build_hiredis() {
    echo 'building hiredis with TLS (Debian 13) in build/hiredis-tls'
    rm -rf "$hiredis" "$apt_dir"
    mkdir -p "$hiredis/lib" "$hiredis/include/hiredis"
    apt_private "deb-src KEY $(apt_mirror) trixie main" source hiredis \
        || { cat "$apt_dir/log" >&2; return 1; }

    (
        cd "$apt_dir"/hiredis-*/
        make -j"$(nproc)" USE_SSL=1 CFLAGS="-O2 -fPIC" libhiredis.a libhiredis_ssl.a
        cp ./*.h "$hiredis/include/hiredis/"
        cp libhiredis.a libhiredis_ssl.a "$hiredis/lib/"
    ) >"$hiredis/log" 2>&1 || { tail -n 30 "$hiredis/log" >&2; return 1; }

    rm -rf "$apt_dir"
}


! cc -include hiredis/hiredis_ssl.h -E - </dev/null >/dev/null 2>&1 || exit 0

[ -e "$hiredis/lib/libhiredis_ssl.a" ] || build_hiredis

make --no-print-directory -j"$(nproc)" OUT=build/tls CFLAGS="-O1 -g -I$hiredis/include" \
    LDFLAGS="-L$hiredis/lib" settle

if [ ! -e $module ] || [ -n "$(find config ngx_*.c src -newer $module \
                                    -name '*[.gcno]*' -type f)" ]
then
    CC_OPT="-I$hiredis/include" LD_OPT="-L$hiredis/lib" \
        t/bin/build-module.sh $module
fi
