#!/bin/sh
# replay_larder.sh LARDER - what the policy larder promises of the bundled
# traces: the smallest device that does is hardly larger than what is asked
# for at the peak.
# shellcheck source=tests/cli/harness
. tests/cli/harness

for input in data/traces/*.trace.zst; do
    expect 0 replay --json --policy larder --min-capacity "$input"
    is "policy of $input" "$(field policy)" '"larder"'
    peak=$(field peak_requested_bytes)
    least=$(field min_capacity_bytes)
    [ $((least * 1000)) -le $((peak * 1006)) ] ||
        say_failed "$least bytes for a peak of $peak: more than 0.6 % above"
done

# Pages move instead of failing: 60 MiB here, then 62 MiB there, on 64.
printf 'a 0 62914560 0\nf 0\na 1 65011712 1\n' >"$tmp/move.trace"
expect 0 replay --json --policy larder --device sim:64MiB "$tmp/move.trace"
is oom_count "$(field oom_count)" 0
is pages_created "$(field pages_created)" 31

finish
