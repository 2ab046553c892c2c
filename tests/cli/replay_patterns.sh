#!/bin/sh
# replay_patterns.sh LARDER - patterns that are hard for an allocator
# (tools/make_patterns.py): how much larger than the requested bytes a device
# must be under the policy larder.
# shellcheck source=tests/cli/harness
. tests/cli/harness

command -v python3 >/dev/null || exit 77
python3 tools/make_patterns.py "$tmp" || exit 1

# needs NAME PERMILLE [CONF]: the memory needed beyond the requested peak.
needs() {
    expect 0 replay --json --repeat 0 --policy larder --conf "${3:-}" \
        --min-capacity "$tmp/$1.trace"
    peak=$(field peak_requested_bytes)
    least=$(field min_capacity_bytes)
    [ $((least * 1000)) -le $((peak * (1000 + $2))) ] ||
        say_failed "$1: $least bytes for a peak of $peak"
}

needs hand_over 80
needs growth 10
needs fork 200
needs hand_over 25 migrate:on
needs growth 10 migrate:on
needs fork 60 migrate:on

# Knowing what stays is most of it.
# fork OPTION...: sets $least.
fork() {
    expect 0 replay --json --repeat 0 --policy larder --min-capacity "$@" \
        "$tmp/fork.trace"
    least=$(field min_capacity_bytes)
}
fork --conf lifetimes:hints
unknown=$least
fork --conf lifetimes:hints --hints 300
known=$least
[ "$known" -lt "$unknown" ] || say_failed "known: $known of $unknown"

# On a large device, growth strands as much memory again, and no more.
expect 0 replay --json --repeat 0 --policy larder "$tmp/growth.trace"
[ $(($(field peak_reserved_bytes) * 10)) -le \
    $(($(field peak_requested_bytes) * 22)) ] ||
    say_failed "growth holds $(field peak_reserved_bytes)"

finish
