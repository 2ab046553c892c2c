#!/bin/sh
# Snapshots as input of `larder replay`: a result for each device with events,
# and a comparison with the recording.
# $1: the command.
. tests/cli/harness

# event ACTION ADDRESS SIZE
event() {
    printf '{"action":"%s","addr":%s,"size":%s,"stream":0,"frames":[]}' "$@"
}

# Two devices with events, one without, with a small segment each; the last
# address on the second device is $1.
write_snapshot() {
    {
        printf '{"segments":[],"allocator_settings":{'
        printf '"PYTORCH_CUDA_ALLOC_CONF":"","max_split_size":-1,'
        printf '"expandable_segments":%s},"device_traces":[[' "${2-false}"
        event segment_alloc 140000000000000 2097152
        printf ,
        event alloc 140000000000000 500
        printf ,
        event free_requested 140000000000000 500
        printf ,
        event free_completed 140000000000000 500
        printf '],[],['
        event segment_alloc 150000000000000 2097152
        printf ,
        event alloc 150000000000000 500
        printf ,
        event alloc "$1" 700
        printf ']]}\n'
    } >"$tmp/two.json"
}

# line NUMBER PATTERN: that line of the output matches.
line() {
    sed -n "$1p" "$tmp/out" | grep -q -e "$2" ||
        say_failed "line $1 has no $2: $(cat "$tmp/out")"
}

write_snapshot 150000000000512
expect 0 replay --repeat 0 --json "$tmp/two.json"
is 'lines' "$(wc -l <"$tmp/out")" 2
line 1 '"device":0,"policy":"pytorch","conf":"","ops":2,'
line 1 '"peak_requested_bytes":500,'
line 1 '"recorded_placements":1,"recorded_same":1,"recorded_first_difference":null,'
line 1 '"recorded_segments_same":true,'
line 2 '"device":2,.*"peak_requested_bytes":1200,'
line 2 '"recorded_placements":2,"recorded_same":2,'

# Through a pipe, in parts, compressed or not, by name or descriptor, for all
# commands that read snapshots.
last='snapshots through pipes'
cp "$tmp/out" "$tmp/direct"
pieces() {
    head -c 1 "$tmp/two.json"
    sleep 0.1
    tail -c +2 "$tmp/two.json"
}
pieces | "$larder" replay --repeat 0 --json - >"$tmp/out" 2>"$tmp/err" ||
    say_failed "$(cat "$tmp/err")"
sed 's|"trace":"-'"|\"trace\":\"$tmp/two.json|" "$tmp/out" >"$tmp/as_direct"
cmp "$tmp/as_direct" "$tmp/direct" || say_failed 'from a pipe it is another'
mkfifo "$tmp/fifo"
pieces >"$tmp/fifo" &
expect 0 replay --repeat 0 --json "$tmp/fifo"
is 'lines' "$(wc -l <"$tmp/out")" 2
"$larder" convert "$tmp/two.json" "$tmp/two.pickle.zst" || say_failed 'convert'
"$larder" replay --repeat 0 --json - <"$tmp/two.pickle.zst" >"$tmp/out"
is 'lines, compressed' "$(wc -l <"$tmp/out")" 2
"$larder" convert --device 2 - "$tmp/two.trace" <"$tmp/two.pickle.zst" ||
    say_failed 'convert -'
is 'allocations' "$(grep -c '^a ' "$tmp/two.trace")" 2
pieces | "$larder" report --json - >"$tmp/out"
is 'events' "$(field events)" 7
"$larder" report --json - <"$tmp/two.trace" >"$tmp/out"
is 'allocated' "$(field peak_allocated_bytes)" 1536
last='an empty pipe'
"$larder" report - </dev/null >"$tmp/out" 2>"$tmp/err"
is 'status' $? 2
stderr_has '^larder report: -: empty; expected a memory snapshot or a trace'
# Replaying a snapshot creates no temporary file.
TMPDIR=$tmp/absent "$larder" report "$tmp/two.trace" >"$tmp/out" 2>"$tmp/err" ||
    say_failed "a report of a trace: $(cat "$tmp/err")"

# Differences are named, in words too.
write_snapshot 150000000001024
expect 0 replay --repeat 0 --json "$tmp/two.json"
line 1 '"recorded_same":1,'
line 2 '"recorded_placements":2,"recorded_same":1,"recorded_first_difference":{"event":2,"bytes":700,"expected":"0x886c98b76400","got":"0x886c98b76200","segment":"0x886c98b76000","segment_bytes":2097152,"frame":null}'
expect 0 replay --repeat 0 "$tmp/two.json"
stdout_has '/two:0 .* 2 '
stdout_has '/two:2 .* 2 '
stdout_has 'of 2 allocations 1 are where they were recorded'
stdout_has 'event 2, 700 bytes, recorded at 0x886c98b76400, replayed at 0x886c98b76200'

# The format is detected from the content, also if compressed.
cp "$tmp/two.json" "$tmp/two.snapshot"
expect 0 replay --repeat 0 --json "$tmp/two.snapshot"
is 'lines' "$(wc -l <"$tmp/out")" 2

# The recorded settings apply unless others are given.
write_snapshot 150000000000512 true
expect 0 replay --repeat 0 --json "$tmp/two.json"
line 1 '"conf":"expandable_segments:True"'
line 1 '"pages_created":1,'
for option in "--policy=pytorch --conf=" --policy=pytorch; do
    # shellcheck disable=SC2086  # options, not one
    expect 0 replay --repeat 0 --json $option "$tmp/two.json"
    line 1 '"conf":"",.*"driver_allocs":1,.*"pages_created":0,'
    grep -q recorded_same "$tmp/out" && say_failed 'compared all the same'
done
expect 0 replay --repeat 0 --json --min-capacity "$tmp/two.json"
line 2 '"min_capacity_bytes":2097152,'

# Output is for a single device.
expect 2 replay --placements "$tmp/p" "$tmp/two.json"
stderr_has 'two.json: has 2 devices with events, but placements'
printf '{"segments":[],"device_traces":[[],[%s]]}' \
    "$(event alloc 140000000000000 500)" >"$tmp/one.json"
expect 0 replay --placements "$tmp/p" "$tmp/one.json"
is placements "$(cat "$tmp/p")" 'p 0 0'

# Nothing to replay is a failure that names the remedy: no history at all, or
# only the event of the snapshot itself.
printf '{"segments":[],"device_traces":[]}' >"$tmp/none.json"
expect 2 replay --json "$tmp/none.json"
is 'output without events' "$(cat "$tmp/out")" ''
stderr_has 'none.json: no history: .*_record_memory_history(max_entries='
for action in snapshot free_completed; do
    printf '{"segments":[],"device_traces":[[%s]]}' \
        "$(event $action 140000000000000 512)" >"$tmp/only.json"
    expect 2 replay "$tmp/only.json"
    stderr_has 'only.json: no history'
done

# A segment larger than any device is refused at once, as the device would.
printf '{"segments":[],"device_traces":[[%s,%s]]}' \
    "$(event segment_alloc 140000000000000 9007199254740992)" \
    "$(event alloc 140000000000000 9007199254740992)" >"$tmp/huge.json"
last='replay of a segment of 8 PiB'
timeout 20 "$larder" replay --repeat 0 --json "$tmp/huge.json" >"$tmp/out" ||
    say_failed 'takes its time'
line 1 '"oom_count":1,.*"recorded_same":0,'
expect 0 tune --no-cache "$tmp/huge.json"
stdout_has '^No setting helps\.$'

printf '{"segments":7}' >"$tmp/bad.json"
expect 2 replay "$tmp/bad.json"
stderr_has 'bad.json: byte [0-9]*: .*expected'
finish
