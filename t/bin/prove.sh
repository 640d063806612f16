#!/bin/bash
# Runs the tests: all of t/, or those named.  Everything must have been built.
#
#   prove.sh [OPTIONS OF prove] [t/NNN-topic.t ...]
#
# Twice as many files as there are processors run side by side, but 8 at most:
# most of the time they wait.  Each has servers, ports and a folder of its own.
# TEST_JOBS says another number.

set -eu
cd "$(dirname "$0")/../.."

files=()
for argument in "$@"; do
    case "$argument" in *.t) files+=("$argument") ;; esac
done

# the last ones are the longest, and begin first: none runs alone at the end
if [ ${#files[@]} = 0 ]; then
    mapfile -t files < <(printf '%s\n' t/*.t | sort -r)
    set -- "$@" "${files[@]}"
fi

jobs=$((2 * $(nproc)))
[ $jobs -le 8 ] || jobs=8

# .proverc has the include paths; nginx repeats on stderr what a test of a bad
# configuration has just read in its log
prove -j "${TEST_JOBS:-$jobs}" "$@" \
    2> >(grep --line-buffered -v '^nginx: \[\(emerg\|error\|warn\)\]' >&2)
