#!/bin/bash
# How fast are callbacks received, beside the least and the most it could cost?
#
#   http.sh [CONTENDER ...]      all of them, or some of those below
#
# Each run has a fresh Redis and a fresh server with one worker, on 127.0.0.1, in
# a temporary folder; the contenders take turns, so that whatever else this
# machine does meets all of them.  Prints a table in Markdown (table.pl), and
# leaves what was measured, and a picture of it, in build/bench/http.*.
#
#   body    nginx reads the body and answers            }
#   hmac    … and computes OpenSSL's HMAC-SHA256        } t/bench/module
#   redis   … and the bare Redis transaction            }
#   guard   … which knows duplicates: the limit         }
#   module  this project's
#   lua     the same in OpenResty's manner, from Debian's packages
#   node    the same with Node, fastify and ioredis, from npm
#
# ROUNDS      how often each is measured                             (5)
# SIZES       coupons per callback                                   (1 10 100)
# SYNCS       appendfsync of Redis                                   (everysec always)
# DUPLICATES  percent of the callbacks that were sent before         (0 50)
# SCALE       percent of the usual number of requests                (100)

set -eu
cd "$(dirname "$0")/../.."

module=ngx_http_coupon_callback_module
# shellcheck source=t/bin/servers.sh
. t/bin/servers.sh

rounds=${ROUNDS:-5}
sizes=${SIZES:-1 10 100}
syncs=${SYNCS:-everysec always}
shares=${DUPLICATES:-0 50}
scale=${SCALE:-100}
clients=64
secret='a secret of the benchmark'
out=build/bench
declare -A requests=([1]=40000 [10]=15000 [100]=4000)


fail() {
    echo "bench: $1" >&2
    tail -n 5 "$dir"/run/*.out "$dir"/run/error.log 2>/dev/null >&2 || true
    exit 1
}


# what all nginx configurations begin with
nginx_head() {
    cat <<END
worker_processes 1;
daemon off;
pid $dir/run/nginx.pid;
error_log $dir/run/error.log warn;
events { worker_connections 512; }
END
}


nginx_http() {
    cat <<END
    access_log off;
    keepalive_requests 1000000;
    client_body_buffer_size 256k;
    client_max_body_size 1m;
$(temp_paths | sed "s|\\\\n|\n|g; s|$dir/|$dir/run/|g")
END
}


config_bench() {
    cat <<END
load_module $PWD/$out/ngx_http_bench_module.so;
$(nginx_head)
http {
$(nginx_http)
    bench_secret "$secret";
    bench_redis unix:$dir/run/redis.sock;
    server {
        listen 127.0.0.1:$port;
        location / { bench $1; }
    }
}
END
}


config_module() {
    local ack=enqueued

    [ "$1" = everysec ] || ack=fsync
    cat <<END
load_module $PWD/build/$module.so;
$(nginx_head)
http {
$(nginx_http)
    coupon_callback_redis unix:$dir/run/redis.sock;
    coupon_callback_secret "$secret";
    coupon_callback_ack $ack;
    server {
        listen 127.0.0.1:$port;
        location / { coupon_callback sportapi; }
    }
}
END
}


config_lua() {
    local lua=$PWD/$out/lua/usr libs=("$PWD/$out"/lua/usr/lib/*-linux-*)

    cat <<END
load_module $lua/lib/nginx/modules/ndk_http_module.so;
load_module $lua/lib/nginx/modules/ngx_http_lua_module.so;
$(nginx_head)
env BENCH_SECRET;
env BENCH_REDIS;
http {
$(nginx_http)
    lua_package_path "$PWD/t/bench/?.lua;$lua/share/lua/5.1/?.lua;;";
    lua_package_cpath "${libs[0]}/lua/5.1/?.so;;";
    init_by_lua_block { require "recipe" }
    server {
        listen 127.0.0.1:$port;
        location / { content_by_lua_block { require("recipe").receive() } }
    }
}
END
}


# start_contender NAME SYNC: it listens on $port and $pid does the work
start_contender() {
    local conf=$dir/run/nginx.conf libs=("$out"/lua/usr/lib/*-linux-*)

    port=$(free_port)
    export BENCH_SECRET=$secret BENCH_REDIS=$dir/run/redis.sock

    case "$1" in
    body|hmac|redis|guard) config_bench "$1" >"$conf" ;;
    module) config_module "$2" >"$conf" ;;
    lua) config_lua >"$conf" ;;
    node)
        NODE_PATH=$out/node/node_modules NODE_ENV=production \
            start node node t/bench/recipe.js "$port"
        pid=$!
        ;;
    esac

    if [ "$1" != node ]; then
        LD_LIBRARY_PATH=${libs[0]} \
            start nginx "$nginx" -p "$dir/run/" -e "$dir/run/error.log" \
            -c "$conf"
        wait_for 10 pgrep -P "$!" || fail "$1 does not start"
        pid=$(pgrep -P "$!")
    fi

    wait_for 10 listening || fail "$1 does not listen"
}


listening() {
    (exec 3<>"/dev/tcp/127.0.0.1/$port")
}


start_redis() {
    start redis redis-server --port 0 --unixsocket "$dir/run/redis.sock" \
        --unixsocketperm 777 --dir "$dir/run" --save '' --appendonly yes --appendfsync "$1" \
        --auto-aof-rewrite-percentage 0
    redis_pid=$!
    wait_for 10 redis-cli -s "$dir/run/redis.sock" ping \
        || fail 'Redis does not start'
}


# measure CONTENDER SIZE SYNC SHARE: one line for table.pl
measure() {
    local result

    rm -rf "$dir/run"
    mkdir "$dir/run"
    chmod 777 "$dir/run"

    start_redis "$3"
    start_contender "$1" "$3"

    result=$("$out/load" "$dir/$2" "$port" "$clients" "$4" "$pid" \
        "$redis_pid") || fail "$1 was not measured"
    echo "contender=$1 coupons=$2 appendfsync=$3 duplicates=$4 $result" \
        | tee -a "$dir/results" >&2

    stop_run
}


stop_run() {
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
    pids=()
}


prepare() {
    local size

    for size in $sizes; do
        "$out/prepare" "$dir/$size" "$size" \
            $((requests[$size] * scale / 100)) "$secret"
    done
}


all_rounds() {
    local round size sync share contender

    for ((round = 1; round <= rounds; round++)); do
        for size in $sizes; do
            for sync in $syncs; do
                for share in $shares; do
                    for contender in "$@"; do
                        measured "$contender" "$sync" "$share" || continue
                        measure "$contender" "$size" "$sync" "$share"
                    done
                done
            done
        done
    done
}


# those without Redis are the same whatever Redis does
measured() {
    case "$1" in
    body|hmac) [ "$2" = "${syncs%% *}" ] && [ "$3" = "${shares%% *}" ] ;;
    esac
}


if [ $# = 0 ]; then
    set -- body hmac redis guard module
    [ ! -d $out/lua/usr ] || set -- "$@" lua
    [ ! -d $out/node/node_modules ] || set -- "$@" node
fi

nginx=$(command -v nginx || echo /usr/sbin/nginx)
dir=$(mktemp -d "${TMPDIR:-/tmp}/coupon-bench.XXXXXX")
chmod 711 "$dir"
trap servers_stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

prepare
all_rounds "$@"
mkdir -p "$out"
cp "$dir/results" "$out/http.results"
t/bench/picture.pl "$out/http.results" >"$out/http.svg"
t/bench/table.pl "$out/http.results"
