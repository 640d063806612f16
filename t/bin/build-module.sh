#!/bin/bash
# Builds the module as a dynamic module for the nginx of the distribution.
#
#   build-module.sh OUTPUT.so
#
# Debian's nginx-dev brings nginx's source tree and the very flags nginx was
# configured with, so the module is binary compatible (--with-compat).  Nothing
# outside OUTPUT's folder is written; nginx's own configure output is only shown
# if it fails.
#
# NGINX_SRC   where nginx-dev put the sources    (/usr/share/nginx/src)
# MODULE_DIR  the folder with the config file        (the root of this repository)
# CC_OPT      more flags for the compiler
# LD_OPT      more flags for the linker

set -eu

output=$(realpath -m "$1")
root=$(cd "${MODULE_DIR:-$(dirname "$0")/../..}" && pwd)
src=${NGINX_SRC:-/usr/share/nginx/src}
objs=$(dirname "$output")/nginx-objs
log=$objs.log
name=$(basename "$output")

if [ ! -r "$src/conf_flags" ]; then
    echo "$src/conf_flags is missing: install nginx-dev (make deps)" >&2
    exit 1
fi

run() {
    "$@" >>"$log" 2>&1 || { tail -n 30 "$log" >&2; exit 1; }
}

echo "building $name (nginx $(sed -n 's/.*NGINX_VERSION *"\(.*\)"/\1/p' \
    "$src/src/core/nginx.h"))"

mkdir -p "$objs"
: >"$log"

# shellcheck source=/dev/null
. "$src/conf_flags"
cd "$src"

cc_opt="-O2 -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2"
cc_opt+=" -Wformat -Werror=format-security ${CC_OPT:-}"

if [ ! -e "$objs/Makefile" ] || [ "$root/config" -nt "$objs/Makefile" ]; then
    run ./configure "${NGX_CONF_FLAGS[@]}" --builddir="$objs" \
        --add-dynamic-module="$root" --with-cc-opt="$cc_opt" \
        --with-ld-opt="-Wl,-z,relro -Wl,-z,now -fPIC ${LD_OPT:-}"
fi

# nginx's Makefile does not know which of our headers a file includes
find "$objs/addon" -name '*.o' -delete
run make -f "$objs/Makefile" -j"$(nproc)" modules
# a new file, not new bytes in one that a running nginx has mapped
cp "$objs/$name" "$output.new"
mv -f "$output.new" "$output"
