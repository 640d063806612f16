# shellcheck shell=bash
#
# For `source`: a private Redis, nginx and coupon-settle, with the files of conf/,
# on free ports of 127.0.0.1 in a temporary folder.  Who sources this calls
#
#   servers_start     sets dir, redis_port, nginx_port, secret_file, settle_ini
#   servers_stop      ends what was started, by pid, and removes the folder
#
# and is in the root of the repository.

dir=
pids=()


# a port that nobody listens on, below the range the kernel gives to clients
free_port() {
    local port

    while :; do
        port=$((10000 + RANDOM % 20000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
}


# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
    local deadline=$((SECONDS + $1))

    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.05
    done
}


redis_cli() {
    redis-cli -p "$redis_port" "$@"
}


# start NAME COMMAND...: in the background, with its output in $dir/NAME.out
start() {
    local name=$1

    shift
    "$@" >"$dir/$name.out" 2>&1 </dev/null &
    pids+=($!)
}


# what the samples of conf/ leave to the user
configure() {
    local root=$PWD user='user www-data;'

    [ "$(id -u)" = 0 ] || user=

    sed -e "s|^port .*|port $redis_port|" \
        -e "s|^dir .*|dir $dir/redis|" \
        conf/redis.conf >"$dir/redis.conf"

    sed -e "s|^load_module .*|load_module $root/build/$module;|" \
        -e "s|^user .*|$user|" \
        -e "s|/run/nginx.pid|$dir/nginx.pid|" \
        -e "s|/var/log/nginx|$dir|" \
        -e "s|127.0.0.1:6379|127.0.0.1:$redis_port|" \
        -e "s|127.0.0.1:8080|127.0.0.1:$nginx_port|" \
        -e "s|/etc/coupon-callback|$dir|" \
        -e "s|^http {|&\n$(temp_paths)|" \
        conf/nginx.conf >"$dir/nginx.conf"

    sed -e "s|127.0.0.1:6379|127.0.0.1:$redis_port|" \
        -e "s|/var/lib/coupon-settle|$dir|" \
        conf/settle.ini >"$dir/settle.ini"
}


# the folders that the distribution's nginx has in /var/lib
temp_paths() {
    local name

    for name in client_body proxy fastcgi uwsgi scgi; do
        printf '    %s_temp_path %s/%s;\\n' "$name" "$dir" "$name"
    done
}


servers_start() {
    local module=ngx_http_coupon_callback_module.so

    dir=$(mktemp -d "${TMPDIR:-/tmp}/coupon-callback.XXXXXX")
    # nginx's workers have another user when this runs as root
    chmod 711 "$dir"
    mkdir "$dir/redis"
    trap servers_stop EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    redis_port=$(free_port)
    nginx_port=$(free_port)
    secret_file=$dir/secret
    settle_ini=$dir/settle.ini

    (umask 077; openssl rand -hex 32 | tr -d '\n' >"$secret_file")
    configure

    start redis redis-server "$dir/redis.conf"
    wait_for 60 redis_cli ping || failed_to_start redis

    start settle build/coupon-settle run -c "$settle_ini"
    start nginx nginx -p "$dir/" -e "$dir/error.log" -c "$dir/nginx.conf" \
        -g 'daemon off;'
    wait_for 60 curl -sS "http://127.0.0.1:$nginx_port/metrics" \
        || failed_to_start nginx
    # the database is there when coupon-settle has looked at the inbox
    wait_for 60 redis_cli --no-raw xinfo groups '{coupons}:inbox' \
        || failed_to_start settle
}


failed_to_start() {
    echo "$1 does not start:" >&2
    cat "$dir/$1.out" "$dir/error.log" 2>/dev/null >&2
    exit 1
}


servers_stop() {
    local status=$?

    trap - EXIT INT TERM HUP
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait
    pids=()
    [ -z "$dir" ] || rm -rf "$dir"
    exit $status
}
