#!/bin/bash
# Unpacks a Redis 8 and a Valkey 8 into build/trixie, beside whatever the system
# has: the tests want servers whose WAITAOF is honest, and one whose is not.
#
#   fetch-redis.sh
#
# They are Debian 13's, with all libraries they need down to the C library, and
# are run by a dynamic linker of their own; build/trixie/redis-server and
# build/trixie/valkey-server do that.  The system is not touched.

set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/bin/apt-private.sh
. t/bin/apt-private.sh

target=$PWD/build/trixie
# somebody else may be fetching something else
# shellcheck disable=SC2034
apt_dir=$PWD/build/apt-trixie
packages=(redis-server redis-tools valkey-server valkey-tools
          libc6 libsystemd0 libcap2 libssl3t64 libjemalloc2 liblzf1 libatomic1
          libstdc++6 libgcc-s1 libgomp1 liblua5.1-0 zlib1g libzstd1)


# starter NAME: the program through its own linker, as the same process
starter() {
    cat >"$target/$1" <<'END'
#!/bin/sh
root=${0%/*}
libraries=$(echo "$root"/usr/lib/*-linux-gnu*)
exec "$libraries"/ld-linux-*.so.* --library-path "$libraries" \
    "$root/usr/bin/${0##*/}" "$@"
END
    chmod 755 "$target/$1"
}


works() {
    "$target/redis-server" --version 2>/dev/null | grep -q 'v=8\.' \
        && "$target/valkey-server" --version 2>/dev/null | grep -q 'v=8\.'
}


! works || exit 0

echo 'fetching Redis 8 and Valkey 8 (Debian 13) into build/trixie'
rm -rf "$target" "$apt_dir"
mkdir -p "$target"
apt_private "deb KEY $(apt_mirror) trixie main" download "${packages[@]}" \
    || { cat "$apt_dir/log" >&2; exit 1; }

for package in "$apt_dir"/*.deb; do
    dpkg -x "$package" "$target"
done

rm -rf "$apt_dir"
starter redis-server
starter valkey-server
works || { echo 'they do not run here' >&2; exit 1; }
