#!/bin/sh
# Every built-in experiment at full size on memory that is only counted; their
# known figures are read from the output.
# $1: the command.
. tests/cli/harness

counted=sim:24GiB,backing=none

# lines NAME: put the experiment's object into $tmp/one.
experiment() {
    grep '"name": *"'"$1"'"' "$tmp/all" >"$tmp/one" ||
        say_failed "no experiment $1"
}

# series KEY: print its values in the steps, in order; integers in MiB.
series() {
    grep -o '"'"$1"'":[0-9]*' "$tmp/one" | sed 's/.*://' | awk '
    { printf "%s%s", NR == 1 ? "" : " ",
             $1 % 1048576 == 0 ? $1 / 1048576 : $1 "B" }
    END { print "" }'
}

# seen WHAT: print the value that a check measured.
seen() {
    sed 's/{"what":/\n&/g' "$tmp/one" |
        sed -n 's/^{"what":"'"$1"'","expected":[^,]*,"seen":\([^,]*\),.*/\1/p' |
        head -n 1
}

expect 0 lab run all --json --device "$counted"
cp "$tmp/out" "$tmp/all"
is 'experiments' "$(wc -l <"$tmp/all")" 13
is 'experiments that met what was expected' \
    "$(grep -c '"ok":true,"verdict":"As expected' "$tmp/all")" 13
is 'checks that did not' "$(grep -c '"ok":false' "$tmp/all")" 0

experiment move_and_reuse
is 'reserved' "$(series reserved_bytes)" \
    '1024 2048 2048 2048 3072 3072 3072 3072 3072'
is 'host' "$(series host_bytes)" '0 0 1024 1024 1024 1024 1024 2048 1024'

experiment context_and_growth
is 'nvidia-smi' "$(series smi_bytes)" \
    '0 1003 1919 2835 2835 1919 1919 1003 9247 1003'

experiment keeping_losses
is 'an iteration' \
    "$(seen 'allocated grew in the 16381 iterations after the third by 512 bytes each')" \
    $((16381 * 512))

experiment preallocation
is 'reserved' "$(series reserved_bytes)" \
    '0 382 382 0 0 512 512 512 382 0 20 20 40 40'
is 'calls' "$(seen 'driver allocations in ten rounds, direct')" 10
is 'time' "$(seen 'estimated driver time, direct')" 1579460

experiment backward
is 'allocated' "$(series allocated_bytes)" '1024 2048 3072 3072'
is 'peak' "$(seen 'most allocated at once, in whole MiB')" 4294967296
is 'reserved' "$(series reserved_bytes | sed 's/.* //')" 3072

experiment retain_grad
is 'allocated' "$(series allocated_bytes)" '1024 2048 4096 4096'
is 'peak' "$(seen 'most allocated at once, in whole MiB')" 5368709120

experiment two_processes
is 'refused' "$(seen 'our next request for 1 GiB fails')" true

experiment units
is 'reserved' "$(series reserved_bytes)" \
    '0 4096 4096 4096 4608 4096 4100 2160 0 4096 3080 4104 4608 2048 4096 2056'
is 'asked for' "$(seen 'requested, of the 4 GiB (2.0156 GiB)')" 2164260864
is 'segments' "$(seen '2048 tensors of 2 MiB')" 205
is 'segments' "$(seen '2048 tensors of 1 MiB + 4 bytes')" 108

is 'the 1 GiB, under either policy' "$(grep -o 'then empty([^"]*' "$tmp/one" |
    sed 's/.*# //' | tr '\n' ,)" 'out of memory,fits,'
is 'the verdict' "$(grep -o 'the 4 Mi tensors [^"]*' "$tmp/one")" \
    'the 4 Mi tensors of 516 bytes take 3072 MiB and the 1 GiB after them fits; 8 Mi of 4 bytes take 2048, and 2048 of 1 MiB + 4 bytes reserve 2056.'

experiment checkpointing
is 'peak' "$(seen 'peak of 2 blocks, in tensors above 512 bytes')" 40991744
is 'peak' "$(seen 'the same, with checkpointing')" 35753984

# No device shared by processes is left behind.
# shellcheck disable=SC2016  # for the inner shell
sh -c 'echo $$ >"$1"; shift; exec "$@"' - "$tmp/pid" "$larder" lab run \
    --device "$counted" two_processes >"$tmp/out" 2>&1 ||
    say_failed "two_processes: $(cat "$tmp/out")"
case $(ls /dev/shm 2>/dev/null) in
*larder-sim2-lab"$(cat "$tmp/pid")".*) say_failed 'a shared device is left' ;;
esac

# Selected experiments, by number or name, as text.
expect 0 lab run --device "$counted" 3 best_fit
is 'experiments' "$(grep -c 'Verdict$' "$tmp/out")" 4
stdout_has '^3  retain_grad: '
stdout_has 'As expected\.'

# Results of another policy or other settings are not compared with PyTorch's.
expect 0 lab run --device "$counted" --policy direct move_and_reuse
stdout_has 'Under the policy direct, '
expect 0 lab run --device "$counted" --conf expandable_segments:True 2

# A device that is too small.
expect 2 lab run --json --device sim:1GiB,backing=none move_and_reuse
stderr_has 'larder lab: move_and_reuse: .*Tried to allocate 1024.00 MiB'
stdout_has '"ok":false,"verdict":"Could not be run: '

finish
