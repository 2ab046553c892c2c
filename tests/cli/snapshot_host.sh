#!/bin/sh
# Snapshots of PyTorch 2.13 and later with records of pinned host memory: the
# output about the device is the same (tests/cli/snapshot_rest.sh covers the
# other records).
# $1: the command.
. tests/cli/harness

segment='{"device":0,"address":4096,"total_size":2097152,"stream":0,
    "segment_type":"small","allocated_size":512,"active_size":512,
    "requested_size":500,"segment_pool_id":[0,0],"is_expandable":false,
    "registration_counter":-1,"frames":[],"blocks":[{"address":4096,"size":512,
    "requested_size":500,"state":"active_allocated","frames":[]},
    {"address":4608,"size":2096640,"requested_size":0,"state":"inactive",
    "frames":[]}]}'
event='{"action":"alloc","addr":4096,"size":500,"stream":0,"time_us":1,
    "pool_id":[0,0],"frames":[]}'
device='"segments":['$segment'],"device_traces":[['$event']]'
# The device of the host is -1.
of_host=$(echo "$segment" | sed 's/"device":0/"device":-1/')
host='"host_segments":['$of_host'],"host_traces":[['$event','$event']]'

echo "{$device}" >"$tmp/device.json"
echo "{$device,$host}" >"$tmp/both.json"
for name in device both; do
    (cd "$tmp" && mv "$name.json" same.json)
    expect 0 report "$tmp/same.json"
    mv "$tmp/out" "$tmp/$name.report"
    mv "$tmp/same.json" "$tmp/$name.json"
done
cmp -s "$tmp/device.report" "$tmp/both.report" ||
    say_failed 'the host records change what is read of the device'
expect 0 convert "$tmp/device.json" "$tmp/device.out.json"
grep -q "registration_counter\": *-1" "$tmp/device.out.json" ||
    say_failed 'no counter of -1'
expect 0 report "$tmp/both.json"

# A host segment among those of devices is an error.
echo "{\"segments\":[$of_host],\"device_traces\":[]}" >"$tmp/lost.json"
expect 2 report "$tmp/lost.json"
stderr_has 'expected a list of those of devices'

# Host records before those of the device cannot be told from them.
echo "{$host,$device}" >"$tmp/first.json"
expect 2 report "$tmp/first.json"
finish
