#!/bin/sh
# `larder convert`: the conversions, chosen by the endings of the names.
# $1: the command.
. tests/cli/harness

# event ACTION ADDRESS SIZE [MORE]
event() {
    printf '{"action":"%s","addr":%s,"size":%s,"stream":0,"time_us":%d' \
        "$1" "$2" "$3" $((clock += 10))
    printf ',"frames":[{"filename":"a \\"b\\".py","line":7,"name":"f"}]%s}' \
        "${4-}"
}

clock=1000
{
    printf '{"segments":[{"device":0,"address":140000000000000,'
    printf '"total_size":2097152,"allocated_size":512,"active_size":512,'
    printf '"requested_size":300,"stream":0,"segment_type":"small",'
    printf '"segment_pool_id":[0,0],"is_expandable":false,"frames":[],'
    printf '"blocks":[{"address":140000000000000,"size":512,'
    printf '"requested_size":300,"state":"active_allocated","frames":[]},'
    printf '{"address":140000000000512,"size":2096640,"requested_size":0,'
    printf '"state":"inactive","frames":[]}]}],"device_traces":[['
    event alloc 140000000000512 1000
    printf ,
    event free_requested 140000000000512 1000
    printf ,
    event free_completed 140000000000512 1000
    printf '],['
    event alloc 150000000000000 600 ',"pool_id":[0,4]'
    printf ']]}\n'
} >"$tmp/s.json"

# To a trace: of the first device, or of the one given.
"$larder" convert "$tmp/s.json" "$tmp/s.trace" 2>"$tmp/err" ||
    say_failed "$(cat "$tmp/err")"
stderr_has 'converted device 0; 1 other has events too (--device)'
is trace "$(sed 1d "$tmp/s.trace")" 'a 0 300 0
m the recording begins
a 1 1000 0
f 1'
sed -n 1p "$tmp/s.trace" | grep -q \
    '^# .*/s.json, device 0: 1 allocation from before the recording$' ||
    say_failed "comment: $(sed -n 1p "$tmp/s.trace")"
last='convert --device 1'
"$larder" convert --device 1 "$tmp/s.json" "$tmp/s1.trace" 2>"$tmp/err"
stderr_has '; 1 allocation in a private pool$'
is 'second device' "$(sed 1d "$tmp/s1.trace")" 'a 0 600 0'
grep -q '^# .*; 1 allocation in a private pool$' "$tmp/s1.trace" ||
    say_failed 'the comment does not say what the trace cannot'

# Traces compressed and back.
expect 0 convert --device 0 "$tmp/s.json" "$tmp/z.trace.zst"
expect 0 convert "$tmp/z.trace.zst" "$tmp/z.trace"
is 'through zstd' "$(cat "$tmp/z.trace")" "$(sed 1d "$tmp/s.trace")"
expect 0 convert "$tmp/z.trace" "$tmp/again.trace.zst"
expect 0 replay --json --repeat 0 "$tmp/again.trace.zst"
is ops "$(field ops)" 3

# A trace has no times, and neither has the snapshot of its replay: its events
# are numbered, so that it is the same each time.
printf 'm iter 1\na 0 1000 0\nm iter 2\nf 0\na 1 3000 0\nm iter 3\nf 1\n' \
    >"$tmp/marked.trace"
expect 0 convert "$tmp/marked.trace" "$tmp/marked.json"
cp "$tmp/marked.json" "$tmp/first.json"
expect 0 convert "$tmp/marked.trace" "$tmp/marked.json"
cmp -s "$tmp/first.json" "$tmp/marked.json" ||
    say_failed 'the same trace makes another snapshot'
is numbers "$(grep -o '"time_us":[0-9]*' "$tmp/marked.json" | sed 's/.*://' |
    tr '\n' ' ')" '2 3 5 6 7 9 10 11 1 4 8 '
expect 0 report "$tmp/marked.json"
if grep -E ', at [0-9.]+ .?s of' "$tmp/out"; then
    say_failed 'the numbers of events are taken for times'
fi

# Compressed snapshots have the same contents.
for kind in pickle json; do
    expect 0 convert "$tmp/s.json" "$tmp/plain.$kind"
    expect 0 convert "$tmp/s.json" "$tmp/packed.$kind.zst"
    expect 0 convert "$tmp/packed.$kind.zst" "$tmp/unpacked.$kind"
    cmp "$tmp/plain.$kind" "$tmp/unpacked.$kind" ||
        say_failed "$kind: changed by compression"
    head -c 4 "$tmp/packed.$kind.zst" | od -An -tx1 | grep -q '28 b5 2f fd' ||
        say_failed "$kind.zst is not compressed"
    expect 0 convert "$tmp/z.trace" "$tmp/replayed.$kind.zst"
    expect 0 convert "$tmp/replayed.$kind.zst" "$tmp/replayed.trace"
    is "a trace by way of $kind.zst" "$(grep -v '^[#m]' "$tmp/replayed.trace")" \
        "$(grep -v '^m' "$tmp/z.trace")"
done

# Pickle and JSON snapshots have the same contents.
expect 0 convert "$tmp/s.json" "$tmp/s.pickle"
expect 0 convert "$tmp/s.pickle" "$tmp/t.json"
expect 0 convert "$tmp/t.json" "$tmp/t.pickle"
cmp -s "$tmp/s.pickle" "$tmp/t.pickle" || say_failed 'pickle -> json -> pickle'
if command -v python3 >/dev/null; then
    python3 -c '
import json, pickle, sys
def same(x):
    if isinstance(x, dict):
        return {k: same(v) for k, v in x.items()}
    return [same(v) for v in x] if isinstance(x, (list, tuple)) else x
def spelled(x, stacks):
    if isinstance(x, dict):
        return {k: stacks[v] if k == "frames" else spelled(v, stacks)
                for k, v in x.items()}
    return [spelled(v, stacks) for v in x] if isinstance(x, list) else x
a, b, p = sys.argv[1:]
a, b = json.load(open(a)), json.load(open(b))
# Each frame and each stack is written once and referred to by number.
frames, stacks = b.pop("frames"), b.pop("stacks")
assert len(frames) == 1 and stacks == [[], [0]], (frames, stacks)
b = spelled(b, [[frames[n] for n in s] for s in stacks])
p = same(pickle.load(open(p, "rb")))
for key in ("segments", "device_traces"):
    assert a[key] == b[key] == p[key], (key, a[key], b[key], p[key])
' "$tmp/s.json" "$tmp/t.json" "$tmp/s.pickle" >"$tmp/err" 2>&1 ||
        say_failed "Python: $(cat "$tmp/err")"
fi

# A timeline of all devices or of one, as valid JSON.
expect 0 convert "$tmp/s.json" "$tmp/s.perfetto.json"
expect 0 convert --device 1 "$tmp/s.json" "$tmp/s1.perfetto.json"
if command -v python3 >/dev/null; then
    python3 -c '
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
def of(ph, pid):
    return [e for e in events if e["ph"] == ph and e["pid"] == pid]
slices = of("X", 0)
assert [s["args"]["bytes"] for s in slices] == [300, 1000], slices
assert slices[1]["ts"] == 1010 and slices[1]["dur"] == 10, slices[1]
assert slices[1]["args"]["address"] == "0x7f544a44c200"
assert slices[1]["args"]["frames"] == [
    {"file": "a \"b\".py", "line": 7, "name": "f"}]
assert slices[0]["tid"] != slices[1]["tid"]
allocated = [(e["ts"], e["args"]["bytes"]) for e in of("C", 0)
             if e["name"] == "allocated"]
assert allocated == [(1010, 512), (1010, 1536), (1020, 512),
                     (1030, 512)], allocated
assert {e["name"] for e in of("C", 0)} == {
    "requested", "allocated", "reserved"}
assert len(of("X", 1)) == 1
events = json.load(open(sys.argv[2]))["traceEvents"]
assert len(of("X", 0)) == 0 and len(of("X", 1)) == 1
' "$tmp/s.perfetto.json" "$tmp/s1.perfetto.json" >"$tmp/err" 2>&1 ||
        say_failed "timeline: $(cat "$tmp/err")"
fi

expect 0 convert "$tmp/s.json" "$tmp/s.perfetto.json.zst"
zstd -dcq "$tmp/s.perfetto.json.zst" 2>/dev/null >"$tmp/s2.perfetto.json" &&
    { cmp "$tmp/s.perfetto.json" "$tmp/s2.perfetto.json" ||
        say_failed 'a compressed timeline is another'; }

# The holders of memory at the peak, as stacks, of all devices or of one.
expect 0 convert "$tmp/s.json" "$tmp/s.folded"
is 'collapsed stacks' "$(cat "$tmp/s.folded")" \
    'device 0;no call path 512
device 0;f (a "b".py:7) 1024
device 1;f (a "b".py:7) 1024'
expect 0 convert --device 1 "$tmp/s.json" "$tmp/s1.collapsed"
is 'of one device' "$(cat "$tmp/s1.collapsed")" 'device 1;f (a "b".py:7) 1024'
expect 0 convert "$tmp/s.json" "$tmp/s.speedscope.json"
if command -v python3 >/dev/null; then
    python3 -c '
import json, sys
found = json.load(open(sys.argv[1]))
frames = found["shared"]["frames"]
assert frames[0] == {"name": "f", "file": "a \"b\".py", "line": 7}, frames
assert len(frames) == 2, frames
profiles = [(p["name"], p["samples"], p["weights"], p["endValue"])
            for p in found["profiles"]]
assert profiles == [
    ("device 0, held at the peak", [[1], [0]], [512, 1024], 1536),
    ("device 0, requested over the run", [[0]], [1000], 1000),
    ("device 1, held at the peak", [[0]], [1024], 1024),
    ("device 1, requested over the run", [[0]], [600], 600)], profiles
assert all(p["unit"] == "bytes" for p in found["profiles"])
' "$tmp/s.speedscope.json" >"$tmp/err" 2>&1 ||
        say_failed "speedscope: $(cat "$tmp/err")"
fi

# A byte of a file's name that is not UTF-8 is a surrogate in Python, and UTF-8
# has none.
sed 's/"f"/"\\udcff"/g' "$tmp/s.json" >"$tmp/odd.json"
for end in perfetto.json speedscope.json folded; do
    expect 0 convert "$tmp/odd.json" "$tmp/odd.$end"
    iconv -f UTF-8 -t UTF-8 "$tmp/odd.$end" >"$tmp/out" 2>&1 ||
        say_failed "no UTF-8: $(cat "$tmp/odd.$end")"
    grep -q "$(printf '\357\277\275')" "$tmp/odd.$end" ||
        say_failed "the name is gone: $(cat "$tmp/odd.$end")"
done

# What was recorded is not written over, by no name of it.
cp "$tmp/s.json" "$tmp/mine.json"
ln -s mine.json "$tmp/link.json"
for out in "$tmp/mine.json" "$tmp/link.json" "$tmp/./mine.json"; do
    expect 2 convert "$tmp/mine.json" "$out"
    stderr_has "' is the input and cannot be written"
    expect 2 view "$tmp/s.json" "$tmp/mine.json" -o "$out"
    stderr_has "' is an input and cannot be written"
done
cmp -s "$tmp/s.json" "$tmp/mine.json" || say_failed 'the input has changed'
rm "$tmp/mine.json" "$tmp/link.json"

# After bad usage or bad input no output file exists.
expect 2 convert "$tmp/s.json"
stderr_has 'expected two names: IN OUT'
expect 2 convert "$tmp/s.json" "$tmp/x.txt"
stderr_has 'expected a name ending in .trace, .pickle or .json, .perfetto.json, '
expect 2 convert "$tmp/s.folded.zst" "$tmp/x.trace"
stderr_has '.folded is an output format only'
expect 2 convert "$tmp/s.perfetto.json" "$tmp/x.trace"
stderr_has 'is an output format only'
expect 2 convert --device 2 "$tmp/s.json" "$tmp/x.trace"
stderr_has "no device '2'; expected a number below 2"
expect 2 convert --device 1 "$tmp/s.json" "$tmp/x.pickle"
stderr_has 'which holds all devices'
expect 2 convert --conf '' "$tmp/s.json" "$tmp/x.trace"
stderr_has 'a snapshot is not replayed'
printf '{"segments":7}' >"$tmp/bad.json"
expect 2 convert "$tmp/bad.json" "$tmp/x.trace"
stderr_has 'bad.json: byte [0-9]*: '
printf 'a 0\n' >"$tmp/bad.trace"
expect 2 convert "$tmp/bad.trace" "$tmp/x.trace.zst"
stderr_has 'bad.trace:1: '
: >"$tmp/empty.trace"
for out in x.trace x.json x.perfetto.json x.trace.zst; do
    expect 2 convert - "$tmp/$out"
    stderr_has '^larder convert: -: empty; expected a memory snapshot'
    expect 2 convert "$tmp/empty.trace" "$tmp/$out"
    stderr_has 'empty.trace: empty; expected'
done
expect 2 convert "$tmp/s.pickle" "$tmp/no/x.json"
stderr_has 'no/x.json: cannot be written: No such file'
mkdir "$tmp/x.pickle"
expect 2 convert "$tmp/s.json" "$tmp/x.pickle"
rmdir "$tmp/x.pickle"
is 'left behind' "$(find "$tmp" -name 'x*' -o -name '*.part*')" ''
finish
