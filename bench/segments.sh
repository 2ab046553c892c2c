#!/bin/sh
# segments.sh COMMAND FILE... - the device size without virtual memory that the
# policy `larder` needs, and its number of driver calls, compared with the policy
# `pytorch`.  FILE: a trace of one device.
#
#   need      the smallest device that works, relative to the peak of requested
#             bytes
#   calls     to allocate and release memory on that device
#
# shellcheck source=bench/harness
. "$(dirname "$0")/harness"

# on SIZE POLICY OPTION... FILE: print a JSON object.
on() {
    size=$1
    policy=$2
    shift 2
    "$larder" replay --json --repeat 0 --policy "$policy" \
        --device "sim:$size,backing=none,vmm=off" "$@"
}

# row FILE: print its name, the peak, and the need and driver calls of both
# policies.
row() {
    peak=$(on 80GiB direct "$1" | field peak_requested_bytes)
    printf '%s %s' "$(basename "$1" | sed 's/\..*//')" "$peak"
    for policy in larder pytorch; do
        least=$(on 80GiB $policy --min-capacity "$1" |
            field min_capacity_bytes)
        calls=$(on $((least / 1048576))MiB $policy "$1" |
            sed 's/.*"driver_allocs":\([0-9]*\),"driver_frees":\([0-9]*\).*/\1 \2/')
        printf ' %s %s' "$least" "$calls"
    done
    echo
}

for file in "$@"; do
    row "$file"
done | awk '
    BEGIN {
        printf "%-24s   %-16s   %-16s\n", "", "need", "calls"
        printf "%-24s %8s %8s %8s %8s %6s\n", "", "larder", "pytorch",
            "larder", "pytorch", "ratio"
    }
    {
        need = $3 / $2
        ratio = ($4 + $5) / ($7 + $8)
        printf "%-24s %8.4f %8.4f %8d %8d %6.2f\n", $1, need, $6 / $2, $4 + $5,
            $7 + $8, ratio
        fflush()
        if (need > most) {
            most = need
            neediest = $1
        }
        if (ratio > busiest) {
            busiest = ratio
            busy = $1
        }
    }
    END {
        printf "\nworst need: %.4f (%s)\n", most, neediest
        printf "worst ratio of calls: %.2f (%s)\n", busiest, busy
    }'
