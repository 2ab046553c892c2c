#!/bin/sh
# `larder exec`: programs on simulated GPUs, their status, the report.  $1: the
# command.
. tests/cli/harness
subjects=$(dirname "$1")/tests/cuda

# run STATUS ARGUMENT...: like expect, but ignore the standard error.
run() {
    wanted=$1
    shift
    last="exec $*"
    "$larder" exec "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    is 'exit status' "$?" "$wanted"
}

expect 0 exec --help
stdout_has 'Usage: larder exec \[OPTION...\] PROGRAM \[ARG...\]'
stdout_has '^  --sim SIZE'
expect 2 exec
stderr_has 'no program; expected PROGRAM'
expect 2 exec --sim 1GiB,colour=red true
stderr_has "sim '1GiB,colour=red': .*'colour=red' is not a setting"
expect 2 exec --smi 1GiB true
stderr_has "unknown option '--smi'; did you mean '--sim'?"
expect 2 exec --minimum 2GiB --limit 1536MiB true
stderr_has "minimum '2GiB' is more than the process may hold (--limit '1536MiB')"
expect 2 exec --sim none --minimum 2GiB --limit 1GiB true
stderr_has "minimum '2GiB' is more than .* (--limit '1GiB')"
expect 2 exec --sim 1GiB,context=100MiB --minimum 925MiB true
stderr_has "minimum '925MiB' is more than there is .*--sim '1GiB,context=100MiB'"
run 0 --quiet --sim 1GiB,context=100MiB --minimum 924MiB --limit 924MiB true
expect 2 exec --preload cahe true
stderr_has "larder exec: --preload 'cahe' is not known: expected cache, limit, "
expect 2 exec --preload cache,paus true
expect 2 exec --preload pause,cache --minimum 2GiB --limit 1536MiB true
stderr_has "minimum '2GiB' is more than the process may hold"
expect 127 exec no-such-program
stderr_has 'no-such-program cannot be started'
is 'lines of errors' "$(wc -l <"$tmp/err")" 1
run 127 sh -c 'exit 127'
stderr_has 'used no simulated GPU'

for way in linked by_name; do
    subject=$subjects/driver_subject_$way
    run 0 --sim 1GiB "$subject"
    stderr_has '^Simulated GPU 0, process '
    stderr_has '^  memory       4.00 MiB at most, of 1.00 GiB$'
    stderr_has '^  held at end  0 B$'
    stderr_has '^  calls        mem_alloc 1, mem_free 1, '
    stderr_has '^  driver time '
    run 7 "$subject" 7
    run 99 --sim 1MiB "$subject"
    stdout_has 'gave 2$'
    run 5 --quiet -- "$subject" 5
    is 'the standard error' "$(cat "$tmp/err")" ''
    run 0 --json --report "$tmp/report" "$subject"
    is 'the standard error' "$(cat "$tmp/err")" ''
    cp "$tmp/report" "$tmp/out"
    is 'peak' "$(field peak_bytes)" 4194304
    is 'capacity' "$(field capacity_bytes)" 25769803776
    is 'rules' "$(field broken_rules)" 0
    run 0 --json --report - "$subject"
    is 'the peak on the standard output' "$(field peak_bytes)" 4194304
done

# Only the GPU in use is reported, out of two.  A violated rule changes the
# status and is written to the file.
LARDER_FAKECUDA_LOG=$tmp/log
export LARDER_FAKECUDA_LOG
run 0 --json --sim 1GiB,count=2 "$subject"
is 'lines' "$(grep -c '"device":0' "$tmp/err")" 1
is 'all lines' "$(wc -l <"$tmp/err")" 1
run 0 --json --sim 1GiB,count=2 "$subject" broken
is 'rules' "$(grep -c '"broken_rules":1}' "$tmp/err")" 1
is 'the log' "$(cat "$tmp/log")" 'cuMemAlloc_v2: 0 bytes are requested'
unset LARDER_FAKECUDA_LOG

# The program sees the devices that its environment lists, in that order.
CUDA_VISIBLE_DEVICES=1,0
export CUDA_VISIBLE_DEVICES
run 0 --json --sim 1GiB,count=2 "$subject"
is 'the device' "$(grep -c '"device":1' "$tmp/err")" 1
for listed in ' 1 ,7,0' 1,1 1,GPU-0a; do # the list ends there
    CUDA_VISIBLE_DEVICES=$listed
    run 0 --json --sim 1GiB,count=2 "$subject"
    is 'the device' "$(grep -c '"device":1' "$tmp/err")" 1
done
for listed in 2 x1 1x GPU-0a; do
    CUDA_VISIBLE_DEVICES=$listed
    run 99 --sim 1GiB,count=2 "$subject"
    stderr_has "CUDA_VISIBLE_DEVICES: '$listed' does not begin with the number"
    stdout_has 'gave 100$'
done
for listed in '' -1; do
    CUDA_VISIBLE_DEVICES=$listed
    run 99 --sim 1GiB,count=2 "$subject"
    is 'words on it' "$(grep -c CUDA_VISIBLE "$tmp/err")" 0
done
unset CUDA_VISIBLE_DEVICES

# Several processes have one line each; one of them uses no GPU.
run 0 --json sh -c "'$subject' && '$subject'"
is 'lines' "$(grep -c '"pid"' "$tmp/err")" 2
run 0 true
stderr_has 'used no simulated GPU'
run 143 sh -c 'kill -TERM $$'
run 0 --sim 1GiB,context=300MiB "$subject"
stderr_has '^  memory       304 MiB at most\|^  memory       304.0* MiB at most'

LARDER_FAKECUDA_FAIL=cuMemAlloc_v2:1
export LARDER_FAKECUDA_FAIL
run 99 "$subject"
stdout_has 'call.mem_alloc(&addr, BYTES) gave 2'
LARDER_FAKECUDA_FAIL=cuMemAlloc_v2:1:2:700
run 99 "$subject"
stdout_has 'call.mem_alloc(&addr, BYTES) gave 700'
for plan in cuMemAlloc_v2 cuMemAlloc_v2:0 cuMemAlloc_v2:x cuMemAlloc_v2:1:x; do
    LARDER_FAKECUDA_FAIL=$plan
    run 99 "$subject"
    stderr_has "LARDER_FAKECUDA_FAIL: '$plan' is not SYMBOL:NTH"
done
unset LARDER_FAKECUDA_FAIL

LARDER_FAKECUDA_DIR=/nowhere
export LARDER_FAKECUDA_DIR
run 2 true
stderr_has "LARDER_FAKECUDA_DIR '/nowhere' does not contain"
finish
