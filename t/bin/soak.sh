#!/bin/bash
# What takes minutes: storms, the memory of a worker, a long fuzz, and the proof
# that the tests can fail.  One after the other; each has its own log, and the
# summary at the end has the words of each that matter.
#
#   soak.sh [SECONDS]        of each storm (600), and of the fuzz (half of it)
#
# COUPON_SEED repeats the storms.

set -u
cd "$(dirname "$0")/../.." || exit

seconds=${1:-600}
logs=build/soak
seed=${COUPON_SEED:-$(date +%s)}
words='acknowledged [0-9]|killed [0-9]+ times|memory of|200: |nothing found|FAILED|(noticed|NOTICED) by'
failed=0
summary=()


# step NAME COMMAND...: runs it, and keeps what it said last about itself
step() {
    local name=$1 begin=$SECONDS verdict=ok

    shift
    echo "$name ..."
    "$@" >"$logs/$name.log" 2>&1 || { verdict=FAILED; failed=1; }
    summary+=("$(printf '%-10s %-6s %5d s  ' "$name" $verdict \
                 $((SECONDS - begin)))")
    while read -r line; do
        summary+=("           $line")
    done < <(grep -E "$words" "$logs/$name.log" | sed 's/^# //')
}


mkdir -p "$logs"
rm -f "$logs"/*.log

step storm     env COUPON_SECONDS="$seconds" COUPON_SEED="$seed" \
               prove -v t/340-storm.t
step chaos     env SECONDS="$seconds" SEED="$seed" prove -v t/185-chaos.t
step consumers env COUPON_SECONDS="$seconds" COUPON_SEED="$seed" \
               prove -v t/225-consumers.t
step outbox    env COUPON_SECONDS="$seconds" COUPON_SEED="$seed" \
               prove -v t/229-outbox-storm.t
step memory    prove -v t/soak/memory.t
step fuzz      t/fuzz/run.sh $((seconds / 20))
step negative  t/bin/negative-control.sh

echo
echo "seed $seed, logs in $logs"
printf '%s\n' "${summary[@]}"
exit $failed
