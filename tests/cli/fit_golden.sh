#!/bin/sh
# `larder fit` agrees with the recordings of PyTorch's own allocator for each
# configuration and capacity: a run fits if no allocation failed.  The large
# traces are covered by the test of the replay; this one uses the small ones.
# $1: the command.
. tests/cli/harness

command -v zstd >/dev/null || exit 77
count=0
for golden in tests/data/golden/*.golden.zst; do
    name=${golden##*/}
    recorded=tests/data/traces/${name%%.*}.trace.zst
    case $name in churn_*) continue ;; esac
    [ -f "$recorded" ] || continue
    zstd -dcq "$golden" >"$tmp/golden"
    conf=$(sed -n 's/^# conf: //p' "$tmp/golden")
    fraction=$(sed -n 's/^# fraction: //p' "$tmp/golden")
    [ "$fraction" = 1.0 ] ||
        conf=$conf${conf:+,}per_process_memory_fraction:$fraction
    wanted=0
    grep -q '^p [0-9]* oom' "$tmp/golden" && wanted=1
    expect "$wanted" fit --json --no-cache --conf "$conf" \
        --capacity "$(sed -n 's/^# capacity: //p' "$tmp/golden")" "$recorded"
    count=$((count + 1))
done
[ "$count" -gt 20 ] || say_failed "only $count recordings were looked at"
finish
