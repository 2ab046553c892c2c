#!/bin/sh
# The request that failed in a recording is repeated: on the same device, under
# the recorded settings and under others.
# $1: the command.
. tests/cli/harness

# The pattern of vllm#41268: each tensor of 530 MiB leaves an idle segment,
# which the next tensor of 270 MiB splits and pins permanently.
awk 'BEGIN { for (i = 0; i < 40; i++)
    printf "a %d %d\nf %d\na %d %d\n", 2 * i, 530 * 1048576, 2 * i,
        2 * i + 1, 270 * 1048576 }' >"$tmp/load.trace"
expect 0 replay --repeat 0 --policy pytorch --device sim:16GiB \
    --snapshot-on-oom "$tmp/oom.json" "$tmp/load.trace"
stdout_has 'out of memory at operation'

# It fails as recorded, on a device of the memory held plus the memory free.
expect 0 replay --repeat 0 --json "$tmp/oom.json"
is oom_count "$(field oom_count)" 1
is device_bytes "$(field device_bytes)" 17179869184
stdout_has '"recorded_oom":{"bytes":555745280,"event":[0-9]*,"fits":false'
stdout_has '"by_beginning":false'
stdout_has '"cures":\["expandable_segments:True","max_split_size_mb:21",.*"larder_fits":true'
short=$(field short_bytes)
expect 0 replay --repeat 0 "$tmp/oom.json"
stdout_has 'the recording ran out of memory on a request for 530 MiB'
stdout_has 'of which 16.0* GiB was available to this process'
stdout_has 'it fails again: .* more is needed; it would succeed under: expandable_segments:True; max_split_size_mb:21'

# The reported missing memory is sufficient, and one step less is not.
more=$((17179869184 + short))
expect 0 replay --repeat 0 --json --device "sim:$more" "$tmp/oom.json"
is oom_count "$(field oom_count)" 0
stdout_has '"fits":true,"short_bytes":0'
expect 0 replay --repeat 0 --json --device "sim:$((more - 2097152))" \
    "$tmp/oom.json"
stdout_has '"fits":false,"short_bytes":2097152,'

# Each suggested remedy works.
for conf in expandable_segments:True max_split_size_mb:21; do
    expect 0 replay --repeat 0 --json --policy pytorch --conf "$conf" \
        "$tmp/oom.json"
    is "oom_count with $conf" "$(field oom_count)" 0
    stdout_has '"fits":true'
    expect 0 replay --repeat 0 --policy pytorch --conf "$conf" "$tmp/oom.json"
    stdout_has 'it would now succeed, with .* to spare'
done

# A failure that no setting avoids.
printf 'a 0 9000000000\na 1 9000000000\n' >"$tmp/much.trace"
expect 0 replay --repeat 0 --policy pytorch --device sim:16GiB \
    --snapshot-on-oom "$tmp/much.json" "$tmp/much.trace"
expect 0 replay --repeat 0 --json "$tmp/much.json"
stdout_has '"fits":false,.*"cures":\[\]'
expect 0 replay --repeat 0 "$tmp/much.json"
stdout_has 'it fails under all of [0-9]* other settings'

# If memory was fragmented before the recording, an empty device is not
# representative: 32 half-free segments, and a request of 40 MiB.
awk 'BEGIN {
    base = 140000000000000
    printf "{\"segments\":["
    for (i = 0; i < 32; i++)
        printf "%s{\"device\":0,\"address\":%.0f,\"total_size\":41943040,\"allocated_size\":20971520,\"active_size\":20971520,\"stream\":0,\"segment_type\":\"large\",\"blocks\":[{\"size\":20971520,\"state\":\"active_allocated\",\"address\":%.0f,\"requested_size\":20971520},{\"size\":20971520,\"state\":\"inactive\",\"address\":%.0f}]}",
            i ? "," : "", base + i * 41943040, base + i * 41943040,
            base + i * 41943040 + 20971520
    printf "],\"device_traces\":[[{\"action\":\"oom\",\"device_free\":2097152,\"size\":41943040,\"stream\":0,\"frames\":[]}]]}"
}' >"$tmp/pieces.json"
expect 0 replay --repeat 0 --json "$tmp/pieces.json"
stdout_has '"fits":false,"short_bytes":39845888,.*"by_beginning":true,"cures":\[\]'
expect 0 replay --repeat 0 "$tmp/pieces.json"
stdout_has 'other settings cannot be judged'
expect 0 replay --repeat 0 --policy larder "$tmp/pieces.json"
stdout_has 'it succeeds here, but also under the recorded settings'

# The last pass is reported in addition to the first.
printf 'a 0 30000000\nf 0\ne\n' >"$tmp/again.trace"
expect 0 replay --repeat 2 --json --policy pytorch "$tmp/again.trace"
is later_driver_calls "$(field later_driver_calls)" 2
is later_driver_time_ns "$(field later_driver_time_ns)" \
    "$(field driver_time_ns)"
finish
