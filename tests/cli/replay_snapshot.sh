#!/bin/sh
# Snapshots that `larder replay` makes the allocator write: what Python reads
# from them, which opcodes they use, and that PyTorch's viewer accepts them.
# $1: the command.
. tests/cli/harness

command -v python3 >/dev/null || exit 77

cat >"$tmp/check.py" <<'END'
import json, pickle, pickletools, sys

def same_form(x):
    if isinstance(x, (list, tuple)):
        return [same_form(i) for i in x]
    if isinstance(x, dict):
        return {k: same_form(v) for k, v in x.items() if k != 'time_us'}
    return x

def check(condition, what):
    if not condition:
        sys.exit(what)

with open(sys.argv[1], 'rb') as f:
    snapshot = pickle.load(f)
with open(sys.argv[2]) as f:
    check(same_form(snapshot) == same_form(json.load(f)), 'pickle is not json')

# All keys that MemoryViz.js reads.
known = set('''APPENDS BINGET BININT BININT1 BININT2 EMPTY_DICT EMPTY_LIST FRAME
LONG1 LONG_BINGET MARK MEMOIZE PROTO SETITEMS SHORT_BINUNICODE STOP TUPLE
TUPLE1 TUPLE2 TUPLE3 APPEND NEWTRUE NEWFALSE BINPUT LONG_BINPUT BINUNICODE
EMPTY_TUPLE NONE BINFLOAT LIST DICT SETITEM'''.split())
with open(sys.argv[1], 'rb') as f:
    opcodes = {o.name for o, argument, at in pickletools.genops(f)}
check(opcodes <= known, 'opcodes: %s' % (opcodes - known))

times = [e['time_us'] for e in snapshot['device_traces'][0]]
check(times == sorted(times), 'events are out of order')
check(snapshot['device_traces'][0][-1]['action'] == 'snapshot', 'the last')

# The last events agree with the final blocks, and the sums are correct.
live = {}
for e in snapshot['device_traces'][0]:
    if e['action'] == 'alloc':
        live[e['addr']] = e['size']
    elif e['action'] == 'free_requested':
        live.pop(e['addr'], None)
blocks = {}
for s in snapshot['segments']:
    at = s['address']
    for b in s['blocks']:
        check(b['address'] == at, 'blocks do not tile')
        at += b['size']
        if b['state'] == 'active_allocated':
            blocks[b['address']] = b['requested_size']
    check(at == s['address'] + s['total_size'], 'blocks do not fill')
    check(s['allocated_size'] <= s['active_size'] <= s['total_size'], 'sums')
if snapshot['larder']['history_lost_events'] == 0:
    check(live == blocks, 'events lead elsewhere')
stats = snapshot['larder']['stats']
check(sum(s['total_size'] for s in snapshot['segments'])
      == stats['reserved_bytes.all.current'], 'reserved bytes')
check(sum(s['allocated_size'] for s in snapshot['segments'])
      == stats['allocated_bytes.all.current'], 'allocated bytes')
print(len(snapshot['device_traces'][0]),
      snapshot['larder']['history_lost_events'],
      len(snapshot['external_annotations']),
      sum(e['action'] == 'oom' for e in snapshot['device_traces'][0]))
END

check_snapshots() {
    got=$(python3 "$tmp/check.py" "$tmp/a.pickle" "$tmp/a.json" 2>&1)
    is "what Python sees" "$got" "$1"
}

write_snapshots() {
    expect 0 replay --repeat 0 --snapshot "$tmp/a.pickle" "$@"
    expect 0 replay --repeat 0 --snapshot "$tmp/a.json" "$@"
}

# Addresses beyond 31 bits and streams; numbers of every width; a mark.
cat >"$tmp/mixed.trace" <<'END'
m one "quoted" ä
a 0 200
a 1 60000 3
r 0 3
m two
a 2 70000000 65535
a 3 3000000000
f 0
f 3
e
END
write_snapshots "$tmp/mixed.trace"
check_snapshots '15 0 2 0'
grep -q '"user_metadata":"one \\"quoted\\" ä"' "$tmp/a.json" ||
    say_failed 'the mark is not the annotation of what follows'

write_snapshots --conf expandable_segments:True "$tmp/mixed.trace"
check_snapshots '15 0 2 0'

# More events than the ring holds, batches of a thousand, and failures.
awk 'BEGIN { for (i = 0; i < 3000; i++) print "a", i, 1000 + i % 7 * 100000 }' \
    >"$tmp/many.trace"
write_snapshots --device sim:600MiB --history 2500 "$tmp/many.trace"
got=$(python3 "$tmp/check.py" "$tmp/a.pickle" "$tmp/a.json" 2>&1)
is 'events that are kept' "${got%% *}" 2500
stdout_has 'out of memory at operation'
grep -q '"history_lost_events":[1-9]' "$tmp/a.json" ||
    say_failed 'no event was lost'
write_snapshots --device sim:40MiB "$tmp/mixed.trace"
expect 0 replay --repeat 0 --device sim:40MiB \
    --snapshot-on-oom "$tmp/oom.json" "$tmp/mixed.trace"
grep -q '"device_free"' "$tmp/oom.json" || say_failed 'no event of the failure'
is 'events after the failure' "$(grep -c '"size":3000000000' "$tmp/oom.json")" 0

# Conflicting options, and output that cannot be written.
expect 2 replay --snapshot "$tmp/a.txt" "$trace"
stderr_has 'expected a name ending in .pickle or .json'
expect 2 replay --snapshot "$tmp/a.json" --snapshot-on-oom "$tmp/a.json" \
    "$trace"
stderr_has 'name the same file'
expect 2 replay --snapshot "$tmp/a.json" "$trace" "$trace"
stderr_has 'take one input, but 2 were given'
expect 2 replay --history 0 "$trace"
expect 2 replay --snapshot "$tmp/no/a.json" "$trace"
stderr_has 'no/a.json cannot be written: No such file'

# PyTorch's own viewer, if installed.  That of 1.13 takes only the list of
# segments, and downloads a program for its flame graphs: the input lines for it
# are checked instead.
viewer=$(python3 -c 'import importlib.util as u
print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null)
viewer=$viewer/cuda/_memory_viz.py
if [ -f "$viewer" ]; then
    write_snapshots "$tmp/mixed.trace"
    cat >"$tmp/view.py" <<'END'
import importlib.util as u, pickle, sys
spec = u.spec_from_file_location('viz', sys.argv[1])
viz = u.module_from_spec(spec)
spec.loader.exec_module(viz)
with open(sys.argv[2], 'rb') as f:
    snapshot = pickle.load(f)
lines = lambda text, *rest: text
segments = snapshot # later viewers take it all
try:
    viz.segments(segments, lines)
except TypeError:
    segments = snapshot['segments']
print(viz.segments(segments, lines))
print(viz.memory(segments, lines))
with open(sys.argv[2] + '.segments', 'wb') as f:
    pickle.dump(segments, f)
END
    last="$viewer"
    python3 "$tmp/view.py" "$viewer" "$tmp/a.pickle" >"$tmp/out" 2>&1 ||
        say_failed "$(cat "$tmp/out")"
    stdout_has 'stream_3;seg_[0-9]*;active_allocated 60416$'
    stdout_has 'stream_65535;active_allocated 71303168$'
    python3 "$viewer" stats "$tmp/a.pickle.segments" >"$tmp/out" 2>&1 ||
        say_failed "$(cat "$tmp/out")"
    stdout_has active_allocated
fi
finish
