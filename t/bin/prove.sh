#!/bin/bash
# Runs the tests: all of t/, or those named.  Everything must have been built.
#
#   prove.sh [OPTIONS OF prove] [t/NNN-topic.t ...]
#
# Two files run side by side; each has servers, ports and a folder of its own.

set -eu
cd "$(dirname "$0")/../.."

files=()
for argument in "$@"; do
    case "$argument" in *.t) files+=("$argument") ;; esac
done
[ ${#files[@]} != 0 ] || set -- "$@" t/*.t

# .proverc has the include paths; nginx repeats on stderr what a test of a bad
# configuration has just read in its log
prove -j "${TEST_JOBS:-2}" "$@" \
    2> >(grep --line-buffered -v '^nginx: \[\(emerg\|error\|warn\)\]' >&2)
