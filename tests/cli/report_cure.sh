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
says 'saves about 774 MiB. No call path shows the origin. Without changing code: Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21. Replayed this way, the recording needs 2.97 GiB (164 MiB less than now), because .* It makes 46 driver calls (now 34) and reserves 4.06 GiB on a large card (now 3.66 GiB)\.' \
    "$mlp"

# It is what `larder tune` finds.
expect 0 tune --no-cache --json "$mlp"
stdout_has '"best":{"policy":"pytorch","conf":"max_split_size_mb:21"'

says 'shows the origin. None of the [0-9]* settings replayed needs at least 1 % less\.' \
    tests/data/traces/e2_preallocated.trace.zst

# Of settings that cost memory, of pools, of a limit, and of a program that went on.
python3 - "$tmp" <<'PYTHON' || say_failed 'no snapshots'
import json, sys
FRAME = [{'name': 'step', 'filename': 'torch/optim/adam.py', 'line': 3}]
AT = 1 << 40


def event(action, mib, at=0, **more):
    return {'action': action, 'addr': AT + (at << 20), 'stream': 0,
            'size': mib << 20, 'frames': FRAME, 'time_us': 0, **more}


def out(mib, left):
    return {**event('oom', mib), 'addr': left << 20, 'device_free': left << 20}


def segment(mib, state, at=0, pool=(0, 0), count=1):
    blocks = [{'address': AT + (at + i * mib << 20), 'size': mib << 20,
               'requested_size': mib << 20, 'state': state, 'frames': []}
              for i in range(count)]
    return {'device': 0, 'address': AT + (at << 20), 'stream': 0,
            'total_size': mib * count << 20, 'segment_type': 'large',
            'segment_pool_id': list(pool), 'is_expandable': False,
            'blocks': blocks}


def write(name, events, *segments, **settings):
    with open(f'{sys.argv[1]}/{name}.json', 'w', encoding='ascii') as file:
        json.dump({'segments': segments, 'device_traces': [events],
                   'allocator_settings': settings}, file)


def conf(text):
    return {'PYTORCH_CUDA_ALLOC_CONF': text}


state = [event('segment_alloc', 64), event('alloc', 60)]
write('unknown', state, **conf('no_such_key:1'))
write('expandable', [event('segment_map', 64), event('alloc', 60)],
      expandable_segments=True)
churn = [event('alloc', 0, 60), event('free_requested', 0, 60)]
write('long', state + churn * 250000)

made = [event('alloc', 1024, i * 1024) for i in range(6)]
freed = [event(action, 1024, i * 1024) for i in (0, 2, 4)
         for action in ('free_requested', 'free_completed')]
write('worse', [event('segment_map', 6144), *made, *freed, out(2048, 0)],
      expandable_segments=True, **conf('expandable_segments:True'))
full = [event('segment_alloc', 4096), event('alloc', 4096), out(1024, 0)]
write('on', full + [event('free_requested', 4096), event('alloc', 20)])
write('limit', [event('segment_alloc', 18432), event('alloc', 18432),
                out(4096, 61440)],
      **conf('per_process_memory_fraction:0.25'))
write('pool', [event('segment_alloc', 2048),
               event('segment_alloc', 6144, 8192), event('alloc', 6144, 8192),
               out(1024, 10)],
      segment(2048, 'inactive', pool=(0, 1)))
write('kept', [event('segment_alloc', 1024), event('alloc', 1024),
               event('free_requested', 1024), event('free_completed', 1024),
               event('alloc', 30), event('segment_alloc', 1010, 4096),
               event('alloc', 1010, 4096)],
      **conf('per_process_memory_fraction:0.9'))
PYTHON
says 'the state is 32-bit now. No setting was replayed: recorded under settings that cannot be replayed: [^;(]*no_such_key\.' \
    "$tmp/unknown.json"
says 'the state is 32-bit now. None of the [0-9]* settings replayed needs' \
    "$tmp/expandable.json"
says 'the state is 32-bit now. No setting was replayed: with 500002 events that takes too long for a report. .larder tune. does it\.' \
    "$tmp/long.json"

says 'Unset PYTORCH_CUDA_ALLOC_CONF. Replayed this way, the run gets past this request' \
    "$tmp/worse.json"
expect 0 tune --no-cache "$tmp/worse.json"
stdout_has '^unset PYTORCH_CUDA_ALLOC_CONF$'

# A fraction belongs to the job: the line to paste has it, as it was replayed.
expect 0 tune --no-cache "$tmp/limit.json"
stdout_has '^All settings keep the job.s per_process_memory_fraction; --conf changes it\.$'
expect 0 tune --no-cache "$tmp/kept.json"
stdout_has '^export PYTORCH_CUDA_ALLOC_CONF=..*,per_process_memory_fraction:0.9$'

# A release is the replay's key: all are replayed under it, and nobody sets it.
expect 0 tune --no-cache --json --conf pytorch:2.5 "$tmp/kept.json"
stdout_has '"best":{"policy":"pytorch","conf":"[^"]*,pytorch:2.5"'
expect 0 tune --no-cache --conf pytorch:2.5 "$tmp/kept.json"
stdout_has '^export PYTORCH_CUDA_ALLOC_CONF=[a-z_0-9:.]*$'

expect 0 tune --no-cache "$tmp/on.json"
stdout_has '^The program continued after that request failed; what it needs if the request succeeds$'

# Before 2.6 only the final state has a segment's pool.
says 'Before this request, release the captured graph or memory pool that holds a free block of 2.00 GiB' \
    "$tmp/pool.json"
finish
