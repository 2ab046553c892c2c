#!/bin/sh
# `larder tune` and `larder fit`: the cure found in vllm#41268, the cheapest
# settings that make a job fit, ranks, and what cannot be cured.
# $1: the command.
. tests/cli/harness
XDG_CACHE_HOME=$tmp/cache
export XDG_CACHE_HOME
gib=1073741824

# Each tensor of 530 MiB leaves an idle segment, which the next tensor of 270
# MiB splits and pins permanently.
load() { # COUNT
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
        printf "a %d %d\nf %d\na %d %d\n", 2 * i, 530 * 1048576, 2 * i,
            2 * i + 1, 270 * 1048576 }'
}
load 40 >"$tmp/load.trace"

# best KEY: print the value for the best candidate from the JSON output.
best() {
    sed 's/.*"best":{\([^}]*\)}.*/\1/' "$tmp/out" |
        sed -n 's/.*"'"$1"'":\("[^"]*"\|[^,}]*\).*/\1/p'
}

expect 0 tune --json --capacity 16GiB "$tmp/load.trace"
is 'the cure' "$(best conf)" '"max_split_size_mb:21"'
is 'the policy' "$(best policy)" '"pytorch"'
stdout_has '^{"verdict":"does not fit","fits":false,"now":{"policy":"pytorch","conf":"","verdict":"does not fit","fits":false,"min_capacity_bytes":[0-9]*'
for key in min_capacity_bytes peak_reserved_bytes; do
    [ "$(best $key)" -lt $((16 * gib)) ] || say_failed "best $key: $(best $key)"
done
cured=$(best min_capacity_bytes)
expect 0 tune --capacity 16GiB "$tmp/load.trace"
stdout_has '^export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21$'
stdout_has 'From PyTorch 2.9 on the name is PYTORCH_ALLOC_CONF'
stdout_has 'With this setting the recording fits on 16.0 GiB: it needs 1[01].* GiB (now 20.8 GiB), because larger blocks are no longer split'
stdout_has '^It makes [0-9]* driver calls in a first pass (now [0-9]*) and reserves .* GiB on a large card$'
stdout_has '^(now 20.7 GiB).$'
stdout_has '^expandable_segments:True  *yes '

# The reported need is what a replay under these settings needs.
expect 0 replay --repeat 0 --json --min-capacity --policy pytorch \
    --conf max_split_size_mb:21 "$tmp/load.trace"
is min_capacity_bytes "$(field min_capacity_bytes)" "$cured"

# For a snapshot that ran out of memory, the device is the one where it failed.
expect 0 replay --repeat 0 --policy pytorch --device sim:16GiB \
    --snapshot-on-oom "$tmp/oom.json" "$tmp/load.trace"
expect 0 tune --json "$tmp/oom.json"
is 'the cure of a snapshot' "$(best conf)" '"max_split_size_mb:21"'
expect 0 tune "$tmp/oom.json"
stdout_has "With this setting the job gets past the failed request on the recorded card's 16.0 GiB: it needs at least [0-9.]* GiB (now"
stdout_has '^Nothing after that request was recorded; the 29 complete passes before it are'
stdout_has '^Memory use grows: each pass starts with at least 270 MiB more than the one before'
if grep -q fits "$tmp/out"; then
    say_failed 'a recording that ends at a failure fits'
fi
# The rest of the run needs more than the part up to the failure: what was said
# is at least that, and no verdict of the whole.
expect 0 fit --capacity 24GiB "$tmp/oom.json"
stdout_has '^It gets past the failed request on 24.0 GiB: it needs at least 1[67].* GiB.$'
expect 0 fit --json --capacity 24GiB "$tmp/oom.json"
stdout_has '"verdict":"fits","fits":true,.*"scope":{"steps":29,"ended":false,"grows_bytes_per_step":283115520,"next_step_bytes":0}'
expect 1 fit --capacity 12GiB "$tmp/oom.json"
stdout_has '^It does not fit on 12.0 GiB: it is [0-9.]* GiB short at the failed request and needs at least 1[67].* GiB.$'
expect 0 tune --json "$tmp/oom.json"
stdout_has '"scope":{"steps":29,"ended":false'

# Known results are not replayed again; with other options they are.
expect 0 tune --json --capacity 16GiB "$tmp/load.trace"
is 'operations replayed again' "$(field ops)" 0
is 'the cure found before' "$(best conf)" '"max_split_size_mb:21"'
expect 0 tune --json --no-cache --capacity 16GiB "$tmp/load.trace"
[ "$(field ops)" -gt 10000 ] || say_failed "ops: $(field ops)"
load 41 >"$tmp/load41.trace"
expect 0 tune --json --capacity 16GiB "$tmp/load41.trace"
[ "$(field ops)" -gt 10000 ] || say_failed "ops of other content: $(field ops)"
# A truncated cache file is ignored.
for cell in "$tmp"/cache/larder/*; do
    printf 'cell 1 1 5 5' >"$cell"
    chmod 640 "$cell"
done
expect 0 tune --json --capacity 16GiB "$tmp/load.trace"
is 'the cure, measured again' "$(best conf)" '"max_split_size_mb:21"'
# The file is replaced as a whole, with the mode of the previous one.
is 'modes of cells that were replaced' "$(find "$tmp/cache/larder" -type f \
    -size +12c ! -perm 640 | wc -l)" 0
is 'cells half written' "$(find "$tmp/cache/larder" -name '*.*' | wc -l)" 0
[ -n "$(find "$tmp/cache/larder" -type f -size +12c)" ] ||
    say_failed 'no cell was written again'

# fit answers yes or no, exact to the byte.
expect 0 replay --repeat 0 --json --min-capacity --policy pytorch \
    "$tmp/load.trace"
need=$(field min_capacity_bytes)
expect 0 fit --capacity "$need" "$tmp/load.trace"
stdout_has '^The recording fits on 20.8 GiB: it needs 20.8 GiB.$'
expect 1 fit --json --capacity $((need - 1)) "$tmp/load.trace"
stdout_has '"fits":false,'
is min_capacity_bytes "$(field min_capacity_bytes)" "$need"
is short_bytes "$(sed 's/,"cures".*//; s/.*"short_bytes":\([0-9]*\).*/\1/' \
    "$tmp/out")" 1
stdout_has '"cures":\[{"policy":"pytorch","conf":"max_split_size_mb:21","verdict":"fits","fits":true,"min_capacity_bytes":[0-9]*'
expect 1 fit --capacity 12GiB "$tmp/load.trace"
stdout_has '^It does not fit on 12.0 GiB: it is 8.71 GiB short and needs 20.8 GiB.$'
stdout_has '^export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21$'
expect 0 fit --capacity 12GiB --conf max_split_size_mb:64 "$tmp/load.trace"
expect 0 fit --capacity 12.5GiB --policy larder "$tmp/load.trace"

# Advice never suggests a setting that is already on.
expect 1 fit --json --capacity 10GiB --conf expandable_segments:True \
    "$tmp/load.trace"
stdout_has '"cures":\[\]'
expect 1 fit --capacity 10GiB "$tmp/load.trace"
stdout_has '^No setting helps: the best still needs [0-9.]* MiB ([0-9]* bytes) more than 10.0 GiB.$'

# A request larger than any device.
echo 'a 0 1125899906842624' >"$tmp/vast.trace"
expect 1 fit --capacity 80GiB "$tmp/vast.trace"
stdout_has '^It does not fit on 80.0 GiB, nor on a device of any other size.$'
stdout_has '^No setting helps.$'
expect 1 fit --json --capacity 80GiB "$tmp/vast.trace"
is short_bytes "$(field short_bytes)" null

expect 0 tune "$tmp/vast.trace"
stdout_has '^No setting helps.$'
# An expandable segment gets an eighth more addresses than its device has bytes,
# which a device of 16 TiB has not: less will do, and more than there are is
# out of memory.
on_the_largest() {
    echo "a 0 $1" >"$tmp/huge.trace"
    expect 0 replay --repeat 0 --json --policy pytorch --device sim:16TiB \
        --conf expandable_segments:True "$tmp/huge.trace"
}
on_the_largest $((15 << 40))
is oom_count "$(field oom_count)" 0
on_the_largest $((17 << 40))
is oom_count "$(field oom_count)" 1

# For a snapshot the largest holders are listed, largest first.
frame='"frames": [{"filename": "/home/me/model.py", "name":'
cat >"$tmp/held.json" <<END
{"segments": [], "device_traces": [[
  {"action": "segment_alloc", "addr": 0, "size": 20971520, "stream": 0},
  {"action": "alloc", "addr": 0, "size": 4194304, "stream": 0,
   $frame "forward", "line": 7}]},
  {"action": "alloc", "addr": 4194304, "size": 12582912, "stream": 0,
   $frame "embed", "line": 9}]}]]}
END
expect 0 tune --capacity 10MiB "$tmp/held.json"
stdout_has '^No setting helps: the best still needs 6.00 MiB (6291456 bytes) more than 10.0 MiB.$'
is holders "$(sed -n '/^Largest holders/,$p' "$tmp/out")" \
    'Largest holders at the peak:
    12.0 MiB in 1  model.py:9 embed
    4.00 MiB in 1  model.py:7 forward'

expect 0 tune --json --capacity 10GiB "$tmp/load.trace"
is 'no cure' "$(best conf)" null

# The job's own settings remain, except in the line to paste.
expect 0 tune --json --capacity 16GiB \
    --conf per_process_memory_fraction:0.9,pytorch:2.9 "$tmp/load.trace"
is 'the cure and what stays' "$(best conf)" \
    '"max_split_size_mb:21,per_process_memory_fraction:0.9,pytorch:2.9"'
expect 0 tune --capacity 16GiB --conf pytorch:2.9 "$tmp/load.trace"
stdout_has '^export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21$'

# Without a device: settings that need less, or a message that there are none.
expect 0 tune --json "$tmp/load.trace"
is 'what needs least' "$(best conf)" '"max_split_size_mb:21"'
printf 'a 0 4194304\na 1 16777216\nf 0\nf 1\n' >"$tmp/plain.trace"
expect 0 tune --json "$tmp/plain.trace"
is 'nothing to gain' "$(best conf)" null
expect 0 tune "$tmp/plain.trace"
stdout_has 'No setting needs at least 1 % less'

# A folder of ranks: the worst rank, and the one that differs.
mkdir "$tmp/ranks"
for rank in 0 1 2; do
    load 20 >"$tmp/ranks/rank$rank.trace"
done
load 40 >"$tmp/ranks/rank3.trace"
expect 1 fit --capacity 16GiB "$tmp/ranks"
stdout_has 'rank0.trace  *yes  *10.4 GiB'
stdout_has 'rank3.trace  *no  *20.8 GiB'
stdout_has 'Worst: .*rank3.trace.  From 10.4 GiB to 20.7 GiB, median 10.4 GiB'
stdout_has 'Unlike the others: .*rank3.trace (20.7 GiB)'
expect 1 fit --json --capacity 16GiB "$tmp/ranks"
is 'the worst rank' "$(field min_capacity_bytes)" "$need"
is ranks "$(grep -o '"file":' "$tmp/out" | wc -l)" 4
expect 0 tune --json --capacity 16GiB "$tmp/ranks"
is 'the cure of ranks' "$(best conf)" '"max_split_size_mb:21"'
expect 0 tune --capacity 16GiB "$tmp/ranks"
stdout_has '^Each rank with its current settings$'
stdout_has 'rank3.trace *no '
stdout_has 'rank1.trace *yes '
stdout_has '^Worst: .*/rank3.trace\.  From '
expect 0 tune "$tmp/ranks"
stdout_has 'rank3.trace *- '

# Recordings under different settings.
set -- tests/data/snapshots/v2.10.pickle tests/data/snapshots/v2.13.pickle
expect 0 tune --capacity 40GiB "$@"
stdout_has '^now (each its own settings) '
expect 0 tune --capacity 40GiB "$2" "$2"
stdout_has '^now (the defaults) '

# Without a history there is no answer.
printf '{"segments":[],"device_traces":[[]]}' >"$tmp/none.json"
expect 2 fit --capacity 1GiB "$tmp/none.json"
stderr_has 'none.json: no history: .*_record_memory_history'
expect 2 tune "$tmp/none.json"

# A card by its name: what the driver takes for a process is counted.
expect 0 fit --gpu rtx4090 "$tmp/load.trace"
stdout_has "^The recording fits on the NVIDIA GeForce RTX 4090's 23.6 GiB (net of the context): it needs 21.1 GiB.$"
expect 0 fit --json --gpu 4090 "$tmp/load.trace"
is 'a card with its context' "$(field min_capacity_bytes)" \
    $((need + 398 * 1048576))
stdout_has '"capacity_bytes":25382879232,"context_bytes":416284672,'
expect 1 fit --json --no-cache --gpu t4 "$tmp/load.trace"
stdout_has '"verdict":"does not fit"'
expect 0 tune --gpu T4 "$tmp/load.trace"
stdout_has "fits on the Tesla T4's 14.6 GiB (net of the context): it needs 11.0 GiB"
expect 2 fit --gpu rtx4900 "$tmp/load.trace"
stderr_has "gpu: 'rtx4900' is not in the table of cards; did you mean rtx4090?$"
expect 2 fit --gpu 24GiB "$tmp/load.trace"
stderr_has "gpu: '24GiB' is a size, not the name of a card"
expect 2 fit --gpu t4 --capacity 1GiB "$tmp/load.trace"
stderr_has 'expected one of them'

# Every card, each judged as by itself.
untimed() { sed 's/"ops":[0-9]*,"ops_per_second":[0-9.e+]*,//g'; }
expect 0 fit --gpu all "$tmp/load.trace"
is 'cards' "$(grep -c GiB "$tmp/out")" \
    "$(grep -vc '^#\|^nccl\|^serving\|^$' data/cards/cards.tsv)"
stdout_has '^t4  *14.6 GiB  *no  *[a-z]'
stdout_has '^rtx4090  *23.6 GiB  *yes  *-$'
stdout_has '^fits: on a card that nothing else uses; or with: the cheapest'
expect 0 fit --gpu all --json "$tmp/load.trace"
untimed <"$tmp/out" >"$tmp/all"
for card in t4 rtx4090 b200; do
    larder_status=0
    "$larder" fit --gpu $card --json "$tmp/load.trace" >"$tmp/one" ||
        larder_status=$?
    grep -qF "{\"gpu\":\"$card\",\"fit\":$(untimed <"$tmp/one")}" "$tmp/all" ||
        say_failed "$card is judged otherwise among all ($larder_status)"
done
expect 1 fit --gpu all --conf per_process_memory_fraction:0.001 "$tmp/load.trace"
expect 2 fit --gpu all --capacity 1GiB "$tmp/load.trace"
stderr_has 'expected one of them'
expect 2 tune --gpu all "$tmp/load.trace"
stderr_has "gpu: 'all' is not in the table of cards"

# The first step alone says nothing of the next, which begins with the state
# that the optimizer made at its end.
mib=1048576
event() { # ACTION BLOCK BYTES NAME
    printf '%s{"action": "%s", "addr": %s, "size": %s, "stream": 0, "frames": [{"filename": "/home/me/%s.py", "name": "%s", "line": 7}]}' \
        "$comma" "$1" $((128 * mib * $2)) "$3" "$4" "$4"
    comma=,
}
state() {
    comma=
    printf '{"segments": [], "device_traces": [['
    event alloc 0 $((60 * mib)) __init__
    event alloc 1 $((100 * mib)) forward
    for _ in $(seq 40); do
        event alloc 5 512 helper
        event free_requested 5 512 helper
        event free_completed 5 512 helper
    done
    event alloc 2 $((60 * mib)) backward
    event free_requested 1 $((100 * mib)) backward
    event free_completed 1 $((100 * mib)) backward
    event alloc 3 $((90 * mib)) optimizer_step
    [ "$1" = one ] || event alloc 1 $((100 * mib)) forward
    for _ in $(seq 40); do
        event alloc 5 512 helper
        event free_requested 5 512 helper
        event free_completed 5 512 helper
    done
    printf ']]}'
}
state one | sed 's/optimizer_step/Optimizer.step/g' >"$tmp/state.json"
expect 1 fit --capacity 256MiB "$tmp/state.json"
stdout_has '^No verdict: the first step fits on 256 MiB: it needs 22[0-9] MiB.$'
stdout_has '^Only the first step was recorded: the next one starts with another 90.0 MiB of optimizer state$'
expect 1 fit --json --capacity 256MiB "$tmp/state.json"
stdout_has '"verdict":"no verdict","fits":null,'
stdout_has '"next_step_bytes":94371840}'
expect 0 fit --capacity 400MiB "$tmp/state.json"
state two | sed 's/optimizer_step/Optimizer.step/g' >"$tmp/state.json"
expect 0 fit --capacity 400MiB "$tmp/state.json"
if grep -q 'Only the first step' "$tmp/out"; then
    say_failed 'a second step was recorded'
fi

# Usage.
expect 2 fit "$tmp/load.trace"
stderr_has 'no capacity; expected --capacity SIZE or --gpu NAME'
# What has no unit and is less than a page is no capacity, wherever one is asked
# for.
for words in 'fit --capacity 24' 'tune --capacity 24' 'replay --device sim:24' \
    'replay --device sim:24,vmm=off' 'exec --sim 24' 'exec --limit 24' \
    'exec --minimum 24' 'lab --device sim:24'; do
    # shellcheck disable=SC2086  # a command and its option
    expect 2 $words "$tmp/load.trace"
    stderr_has '24 bytes are less than a page of memory: expected a unit, as in 24GiB'
done
expect 2 fit --capacity 2097151 "$tmp/load.trace"
stderr_has 'less than a page'
expect 1 fit --capacity 2097152 "$tmp/load.trace"
expect 1 fit --capacity 512KiB "$tmp/load.trace"
expect 2 fit --capacity 12GB2 "$tmp/load.trace"
stderr_has "'12GB2' is not a capacity"
expect 2 fit --capacity 17TiB "$tmp/load.trace"
stderr_has "'17TiB' is not a capacity: expected a size up to 16TiB"
expect 2 tune --conf max_split:1 "$tmp/load.trace"
stderr_has 'max_split'
expect 2 tune
stderr_has 'no input'
mkdir "$tmp/empty"
expect 2 tune "$tmp/empty"
stderr_has 'a folder without traces or snapshots'
expect 2 tune "$tmp/absent.trace"
stderr_has 'absent.trace'
printf '# nothing\n' >"$tmp/nothing.trace"
expect 2 tune "$tmp/nothing.trace"
stderr_has 'nothing.trace: no allocations'
finish
