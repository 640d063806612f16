#!/bin/bash
# Sends one signed callback, the way a provider does it.
#
#   send-callback.sh URL SECRET_FILE [BODY_FILE]
#
# Without a file the body is read from standard input.  Prints the body of the
# answer and its status.  A tool for trying things out: openssl gets the secret
# as an argument, which other users of the machine could see.

set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi

url=$1 secret=$(cat "$2")

body=$(mktemp)
trap 'rm -f "$body"' EXIT
cat "${3:--}" >"$body"

# over the very bytes that are sent
signature=$(openssl dgst -sha256 -hmac "$secret" -r "$body" | cut -d ' ' -f 1)

curl -sS --max-time 15 -w '\n%{http_code}\n' "$url" \
    -H 'Content-Type: application/json' -H "X-Signature: $signature" \
    --data-binary "@$body"
