# shellcheck shell=bash
#
# For `source`: apt-get with lists and cache of its own in build/apt, so that a
# package can be looked at without adding a source to the system.
#
#   apt_private LINES COMMAND...   apt-get COMMAND... with these source lines, in
#                                  build/apt as the current folder; what it says
#                                  is in build/apt/log
#   apt_mirror                     the mirror of the machine's own sources
#   nginx_source DIR               nginx's source in DIR, if it is not there yet

apt_dir=$PWD/build/apt


apt_mirror() {
    local url

    url=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list \
              /etc/apt/sources.list.d/*.list 2>/dev/null \
          | grep -v '^ *#' | grep -o 'https\?://[^ ]*/debian/*\( \|$\)' \
          | head -n 1)

    if [ -z "$url" ]; then
        echo "no Debian mirror in the machine's apt sources" >&2
        return 1
    fi

    echo "$url"
}


# KEY in a source line is replaced by the option that names Debian's keys
apt_private() {
    local key=/usr/share/keyrings/debian-archive-keyring.gpg lines=$1
    local options

    shift
    [ -r "$key" ] && key="[signed-by=$key]" || key=

    mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
    printf '%s\n' "${lines//KEY/$key}" >"$apt_dir/sources.list"

    options=(-qq
             -o Dir::Etc::SourceList="$apt_dir/sources.list"
             -o Dir::Etc::SourceParts=-
             -o Dir::State::Lists="$apt_dir/lists"
             -o Dir::Cache="$apt_dir/cache"
             -o APT::Sandbox::User=)

    (
        cd "$apt_dir" || exit
        apt-get "${options[@]}" update && apt-get "${options[@]}" "$@"
    ) >"$apt_dir/log" 2>&1
}


# The version that is installed; or, if a mirror has dropped its source, the one
# of the release, which is the same nginx with fewer patches.
nginx_source() {
    local mirror release main security

    [ ! -e "$1/auto/install" ] || return 0

    mirror=$(apt_mirror)
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
    main="deb-src KEY $mirror $release main"
    security="deb-src KEY ${mirror%/debian*}/debian-security"
    security+=" $release-security main"

    echo 'fetching the source of nginx'
    rm -rf "$apt_dir" "$1"
    apt_private "$main"$'\n'"$security" source \
        "nginx=$(dpkg-query -W -f '${source:Version}' nginx)" \
        || apt_private "$main" source nginx \
        || { cat "$apt_dir/log" >&2; return 1; }

    mv "$apt_dir"/nginx-*/ "$1"
    # Debian's packaging calls upstream's script from elsewhere
    [ -e "$1/configure" ] || cp "$1/auto/configure" "$1/configure"
    rm -rf "$apt_dir"
}
