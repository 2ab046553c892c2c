#!/bin/sh
# replay_larder.sh LARDER - the promise of the policy larder for the bundled
# traces.  Where live memory may move, the smallest sufficient device is hardly
# larger than the requested bytes at the peak, and no larger than what expandable
# segments need; where it may not, hardly larger than that.
# shellcheck source=tests/cli/harness
. tests/cli/harness

# least CONF: sets $peak and $least, the capacity that $input needs.
least() {
    expect 0 replay --json --repeat 0 --policy "$1" --conf "$2" \
        --min-capacity "$input"
    peak=$(field peak_requested_bytes)
    least=$(field min_capacity_bytes)
}

for input in data/traces/*.trace.zst; do
    least pytorch expandable_segments:True
    expandable=$least
    least larder migrate:on
    [ $((least * 1000)) -le $((peak * 1006)) ] ||
        say_failed "$least bytes for a peak of $peak: more than 0.6 % above"
    [ "$least" -le "$expandable" ] ||
        say_failed "$least bytes, expandable segments $expandable"
    least larder ""
    [ "$least" -le $((expandable + peak * 3 / 100)) ] ||
        say_failed "$least bytes without moves, expandable $expandable"
done

# Without virtual memory: at most 2 % more memory than the policy pytorch needs,
# and at most 1.5 times its driver calls on the smallest sufficient device.

# calls POLICY INPUT: print the driver calls on the smallest device.
calls()
{
    expect 0 replay --json --policy "$1" --min-capacity \
        --device sim:80GiB,backing=none,vmm=off "$2"
    peak=$(field peak_requested_bytes)
    least=$(field min_capacity_bytes)
    expect 0 replay --json --policy "$1" \
        --device "sim:$least,backing=none,vmm=off" "$2"
    is "oom_count of $2" "$(field oom_count)" 0
    count=$(($(field driver_allocs) + $(field driver_frees)))
}

for input in data/traces/*.trace.zst; do
    calls pytorch "$input"
    most=$((count * 3 / 2))
    most_bytes=$((least * 1020 / 1000))
    calls larder "$input"
    [ "$least" -le "$most_bytes" ] ||
        say_failed "$least bytes, more than $most_bytes"
    [ "$count" -le "$most" ] ||
        say_failed "$count driver calls, more than $most"
done

# Pages are moved instead of a failure: 60 MiB in one stream, then 62 MiB in
# another, on 64 MiB.
printf 'a 0 62914560 0\nf 0\na 1 65011712 1\n' >"$tmp/move.trace"
expect 0 replay --json --policy larder --device sim:64MiB "$tmp/move.trace"
is oom_count "$(field oom_count)" 0
is pages_created "$(field pages_created)" 4

finish
