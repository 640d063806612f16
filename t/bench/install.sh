#!/bin/bash
# Fetches into build/bench/ what this project is compared with; nothing of the
# system is changed.  What cannot be had is said, and left out by http.sh.
#
#   lua    Debian's nginx module for Lua, its Redis client and cjson, unpacked
#   node   fastify and ioredis from npm, for the node of this machine

set -eu
cd "$(dirname "$0")/../.."

out=$PWD/build/bench
log=$out/install.log
packages=(libnginx-mod-http-lua libnginx-mod-http-ndk libluajit2-5.1-2
          lua-resty-core lua-resty-lrucache lua-cjson lua-nginx-redis)


fetch_lua() {
    local package

    mkdir -p "$out/lua"
    cd "$out/lua" || return
    apt-get download "${packages[@]}"
    for package in *.deb; do
        dpkg -x "$package" .
    done
    rm -f ./*.deb
}


fetch_node() {
    mkdir -p "$out/node"
    cd "$out/node" || return
    npm install --no-audit --no-fund fastify@4 ioredis@5
}


# fetch NAME FILE: unless it is there
fetch() {
    [ ! -e "$out/$1/$2" ] || return 0
    echo "fetching what \"$1\" needs into build/bench/$1"
    "fetch_$1" >"$log" 2>&1 || true
    [ -e "$out/$1/$2" ] || echo "no $1: see build/bench/install.log"
}


mkdir -p "$out"
fetch lua usr/share/lua/5.1/nginx/redis.lua
fetch node node_modules/ioredis/package.json
