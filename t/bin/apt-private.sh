# shellcheck shell=bash
#
# For `source`: apt-get with lists and cache of its own in build/apt, so that a
# package can be looked at without adding a source to the system.
#
#   apt_private LINES COMMAND...   apt-get COMMAND... with these source lines, in
#                                  build/apt as the current folder; what it says
#                                  is in build/apt/log
#   apt_mirror                     the mirror of the machine's own sources

apt_dir=$PWD/build/apt


apt_mirror() {
    local url

    url=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list \
              /etc/apt/sources.list.d/*.list 2>/dev/null \
          | grep -v '^ *#' | grep -o 'https\?://[^ ]*/debian/*\( \|$\)' \
          | head -n 1)
    echo "${url:-http://deb.debian.org/debian}"
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
