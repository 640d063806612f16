#!/bin/bash
# Builds nginx with the module linked in (--add-module), the other branch of the
# file config, and lets that nginx read the sample configuration.
#
#   build-static.sh

set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/bin/apt-private.sh
. t/bin/apt-private.sh

root=$PWD
src=$PWD/build/nginx-source
target=$PWD/build/nginx-static

nginx_source "$src"
rm -rf "$target"
mkdir -p "$target/logs" "$target/coupon-callback"

echo 'building nginx with the module linked in'
(
    cd "$src"
    ./configure --builddir="$target" --prefix="$target" \
        --add-module="$root" --with-http_ssl_module --with-cc-opt=-O0
    make -f "$target/Makefile" -j"$(nproc)"
) >"$target/log" 2>&1 || { tail -n 30 "$target/log" >&2; exit 1; }

printf 'secret' >"$target/coupon-callback/secret"
sed -e '/^load_module /d' -e '/^user /d' \
    -e "s|/etc/coupon-callback|$target/coupon-callback|" \
    -e "s|/var/log/nginx|$target/logs|" -e "s|/run/|$target/logs/|" \
    conf/nginx.conf >"$target/nginx.conf"
"$target/nginx" -t -c "$target/nginx.conf" -e "$target/logs/error.log"
