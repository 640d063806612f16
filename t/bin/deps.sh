#!/bin/bash
# Installs what is missing, and says what and why.  Does nothing if all is there.
#
#   deps.sh build|run|test|lint|fuzz ...
#
# Packages come from the machine's own apt sources (sudo unless root).  Debian
# starts nginx and Redis as system services when it installs them; this script
# asks it not to, by environment variables only, so nothing is left running.
#
# Test::Nginx is not in Debian 12.  If perl does not find it (cpanm installs it
# too), the package of Debian unstable is unpacked into build/test-nginx; it is
# plain perl, and the system is not touched.

set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/bin/apt-private.sh
. t/bin/apt-private.sh

list() {
    case "$1" in
    build) cat <<'END'
build-essential     C compiler and make
nginx-dev           nginx sources and flags to build a module that fits
libpcre2-dev        regular expressions (nginx)
zlib1g-dev          gzip (nginx)
libssl-dev          HMAC
libhiredis-dev      Redis client
libcjson-dev        JSON trees
libxxhash-dev       digests of bodies
libinih-dev         INI files (coupon-settle)
libsqlite3-dev      SQLite (coupon-settle)
libcurl4-openssl-dev  HTTP (coupon-settle)
libpq-dev           PostgreSQL (coupon-settle)
libmicrohttpd-dev   the metrics over HTTP (coupon-settle)
END
    ;;
    run) cat <<'END'
nginx               the web server itself
redis-server        the inbox
curl                sends callbacks
ca-certificates     whom to believe (the API)
openssl             signs callbacks
procps              ps
sqlite3             looks into the ledger
END
    ;;
    test) cat <<'END'
perl                runs the tests
postgresql          private servers of the tests; its own stays down
libtest-base-perl       for Test::Nginx
libtest-longstring-perl for Test::Nginx
liblist-moreutils-perl  for Test::Nginx
libtext-diff-perl       for Test::Nginx
liburi-perl             for Test::Nginx
libwww-perl             for Test::Nginx
libhttp-message-perl    for Test::Nginx
libipc-run-perl         for Test::Nginx
libfilter-perl          for Test::Nginx
strace              sees when Redis syncs
valgrind            counts instructions
faketime            the clock is wrong
xxhash              a second opinion on the digest
END
    ;;
    lint) cat <<'END'
clang               second compiler
clang-tidy          static analysis
clang-format        layout
shellcheck          checks the scripts
END
    ;;
    fuzz) cat <<'END'
clang               libFuzzer
libclang-rt-dev     libFuzzer and the sanitizers
END
    ;;
    *) echo "usage: $0 build|run|test|lint|fuzz ..." >&2; exit 2 ;;
    esac
}


installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}


as_root() {
    if [ "$(id -u)" = 0 ]; then
        env "$@"
    elif command -v sudo >/dev/null; then
        sudo env "$@"
    else
        echo "neither root nor sudo: install the packages above by hand" >&2
        exit 1
    fi
}


install_missing() {
    local name why missing=()

    while read -r name why; do
        installed "$name" && continue
        [ ${#missing[@]} != 0 ] || echo "installing with apt:"
        printf '  %-24s %s\n' "$name" "$why"
        missing+=("$name")
    done < <(for group in "$@"; do list "$group"; done)

    [ ${#missing[@]} != 0 ] || return 0

    mkdir -p build
    as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # SYSTEMD_OFFLINE and RUNLEVEL: the services of the packages stay down
    as_root DEBIAN_FRONTEND=noninteractive SYSTEMD_OFFLINE=1 RUNLEVEL=1 \
        apt-get install -y -qq --no-install-recommends \
        -o Dpkg::Use-Pty=0 "${missing[@]}" >build/apt.log 2>&1 \
        || { cat build/apt.log >&2; exit 1; }
}


fetch_test_nginx() {
    local target=build/test-nginx

    if PERL5LIB=$target/usr/share/perl5 \
        perl -MTest::Nginx::Socket -e 1 >/dev/null 2>&1
    then
        return 0
    fi

    echo "fetching Test::Nginx (libtest-nginx-perl of Debian unstable)" \
         "into $target"
    apt_private "deb KEY $(apt_mirror) sid main" download libtest-nginx-perl \
        || {
            cat build/apt/log >&2
            echo "no Test::Nginx: try cpanm Test::Nginx" >&2
            exit 1
        }
    rm -rf "$target"
    mkdir -p "$target"
    dpkg -x build/apt/libtest-nginx-perl_*.deb "$target"
    rm -rf build/apt
}


[ $# != 0 ] || { list usage; }
install_missing "$@"
case " $* " in
*" test "*)
    fetch_test_nginx
    # to a test without them it is a reason to skip; .ci/run insists
    t/bin/fetch-redis.sh || echo 'no other Redis: some tests will be skipped'
    ;;
esac
