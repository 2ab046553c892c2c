#!/bin/sh
# report_cure.sh LARDER - beside a change of code `larder report` names a setting
# that was replayed, with its price, or says why there is none, in text and JSON.
. tests/cli/harness

# What to do, on one line.
advice() {
    sed -n '/^What to do/,/^$/p' "$tmp/out" | tr '\n' ' ' | tr -s ' '
}

# says PATTERN FILE: in text and JSON.
says() {
    expect 0 report "$2"
    advice >"$tmp/advice"
    grep -q "$1" "$tmp/advice" ||
        say_failed "no '$1' in: $(cat "$tmp/advice")"
    expect 0 report --json "$2"
    tr -s ' ' <"$tmp/out" | grep -q "\"do\":\"[^\"]*$1" ||
        say_failed "no '$1' in the JSON of $2"
}

mlp=data/traces/mlp_sgd.trace.zst
says 'saves about 774 MiB. No call path says whose. Without a change of code: Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21: replayed so, the recording needs 2.97 GiB (164 MiB less than as it is), as .* Its price: 4.06 GiB reserved on a large card (3.66 GiB as it is), 46 driver calls (34)\.' \
    "$mlp"

# It is what `larder tune` finds.
expect 0 tune --no-cache --json "$mlp"
stdout_has '"best":{"policy":"pytorch","conf":"max_split_size_mb:21"'

says 'says whose. Of [0-9]* settings that were replayed none needs a hundredth less\.' \
    tests/data/traces/e2_preallocated.trace.zst

# Under a key that no replay knows nothing is said of settings.
unknown="tests/data/snapshots/v2.5.pickle"
[ -f "$unknown" ] || say_failed "no $unknown"
python3 - "$tmp" <<'PYTHON' || say_failed 'no snapshots'
import json, sys
FRAME = [{'name': 'step', 'filename': 'torch/optim/adam.py', 'line': 3}]


def event(action, mib, at=0, bytes_=None):
    return {'action': action, 'addr': (1 << 40) + (at << 20), 'stream': 0,
            'size': mib << 20 if bytes_ is None else bytes_, 'frames': FRAME,
            'time_us': 0}


def write(name, events, **settings):
    with open(f'{sys.argv[1]}/{name}.json', 'w', encoding='ascii') as file:
        json.dump({'segments': [], 'device_traces': [events],
                   'allocator_settings': settings}, file)


state = [event('segment_alloc', 64), event('alloc', 60)]
write('unknown', state, PYTORCH_CUDA_ALLOC_CONF='no_such_key:1')
write('expandable', [event('segment_map', 64), event('alloc', 60)],
      expandable_segments=True)
churn = [event('alloc', 1, 60), event('free_requested', 1, 60)]
write('long', state + churn * 250000)
PYTHON
says 'state in 32 bits. No setting was replayed: .*no_such_key' \
    "$tmp/unknown.json"
says 'state in 32 bits. Of [0-9]* settings that were replayed none needs' \
    "$tmp/expandable.json"
says 'state in 32 bits. No setting was replayed, as a report does not take the time for 500002 events: `larder tune` does\.' \
    "$tmp/long.json"
finish
