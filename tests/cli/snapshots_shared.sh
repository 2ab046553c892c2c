#!/bin/sh
# Real snapshots, if there are any beside the source: each is replayed under its
# recorded settings, allocation by allocation as recorded, and converted to a
# trace that needs the same memory.
# $1: the command.
. tests/cli/harness

folder=../shared/snapshots
[ -d "$folder" ] || exit 77

for file in "$folder"/*.pickle; do
    last="replay $file"
    if ! "$larder" replay --repeat 0 --json "$file" >"$tmp/out" 2>"$tmp/err"; then
        grep -q 'no history' "$tmp/err" || say_failed "$file: $(cat "$tmp/err")"
        continue
    fi
    while read -r line; do
        for wanted in '"recorded_first_difference":null' \
            '"recorded_segments_same":true' '"recorded_end_same":true'; do
            case $line in
            *"$wanted"*) ;;
            *) say_failed "no $wanted: $line" ;;
            esac
        done
    done <"$tmp/out"
    [ -s "$tmp/out" ] || continue
    # A failed request fails again, and each suggested remedy works.
    if grep -q '"recorded_oom":{' "$tmp/out"; then
        grep -q '"recorded_oom":{[^}]*"fits":false' "$tmp/out" ||
            say_failed "$file: the failed request fits: $(cat "$tmp/out")"
        expect 0 tune --no-cache --json "$file"
        sed 's/.*"candidates":\[//; s/\],"capacity_bytes.*//; s/},{/\n/g' \
            "$tmp/out" | sed -n 's/.*"policy":"\([^"]*\)","conf":"\([^"]*\)","fits":true.*/\1 \2/p' \
            >"$tmp/cures"
        while read -r policy conf; do
            expect 0 replay --repeat 0 --json --policy "$policy" \
                --conf "$conf" "$file"
            if grep -q '"recorded_oom":{[^}]*"fits":false' "$tmp/out"; then
                say_failed "$file: $policy $conf is no cure"
            fi
        done <"$tmp/cures"
        # The converted trace would run on a larger device.
        continue
    fi
    peak=$(field peak_reserved_bytes)
    conf=$(field conf | tr -d '"')
    device=$(field device)
    "$larder" convert --device "$device" "$file" "$tmp/t.trace.zst" \
        2>"$tmp/err" || say_failed "$file: $(cat "$tmp/err")"
    expect 0 replay --repeat 0 --json --policy pytorch --conf "$conf" \
        "$tmp/t.trace.zst"
    is "$file: peak" "$(field peak_reserved_bytes)" "$peak"
done
finish
