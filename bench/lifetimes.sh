#!/bin/sh
# lifetimes.sh COMMAND FILE... - what the policy `larder` gains from lifetime
# hints: without hints, and with exact ones (larder replay --hints N: an
# allocation is long-lived if N others follow before its free).  FILE: a trace.
#
#   need      the smallest device that works, relative to the peak of requested
#             bytes
#   moved     pages unmapped on a device of 1.05 times that peak
#   ms        driver time there; ! if a request failed
# shellcheck source=bench/harness
. "$(dirname "$0")/harness"

# replay FILE OPTION...: print a JSON object.
replay() {
    file=$1
    shift
    "$larder" replay --json --repeat 0 --policy larder "$@" "$file"
}

# cell FILE PEAK OPTION...: print need, moved bytes and ms under these options.
cell() {
    of=$1
    peak=$2
    shift 2
    least=$(replay "$of" --min-capacity "$@" | field min_capacity_bytes)
    pages=$(((peak * 21 / 20 + 2097151) / 2097152)) # whole ones
    replay "$of" --device "sim:$((pages * 2))MiB,backing=none" "$@" |
        sed 's/.*"oom_count":\([0-9]*\).*"pages_unmapped":\([0-9]*\).*"driver_time_ns":\([0-9]*\).*/\1 \2 \3/' |
        awk -v need="$least" -v peak="$peak" '{
            printf " | %6.4f %6d %6.0f%s", need / peak, $2, $3 / 1e6,
                ($1 > 0) ? "!" : " "
        }'
}

printf '%-24s' ''
for title in 'nothing' 'N = 300' 'N = 2000' 'N = 10000'; do
    printf ' | %-21s' "$title"
done
printf '\n%-24s' ''
for title in 1 2 3 4; do
    printf ' | %6s %6s %6s ' need moved ms
done
echo
for file in "$@"; do
    peak=$(replay "$file" --device sim:800GiB | field peak_requested_bytes)
    printf '%-24s' "$(basename "$file" | sed 's/\..*//')"
    cell "$file" "$peak" --conf lifetimes:off
    for after in 300 2000 10000; do
        cell "$file" "$peak" --hints $after
    done
    echo
done
