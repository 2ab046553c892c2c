#!/bin/sh
# tools/check_gpu.sh names the device it used, and says so if there is no GPU
# and nothing was run.
# $1: the command.
. tests/cli/harness
build=$(dirname "$1")
[ -e "$build/liblarder_preload.so" ] || exit 77 # with sanitizers
last='check_gpu.sh'

# on DEVICES: run it with these devices of the simulated driver.
on() {
    LARDER_FAKECUDA=$1 LD_LIBRARY_PATH=$build/fakecuda \
        tools/check_gpu.sh "$build" >"$tmp/out" 2>"$tmp/err"
    is 'exit status' "$?" 77
}

on none
stdout_has '^no GPU here: nothing was run$'
on sim:2GiB
stderr_has '^Larder, GPU 0 (cache): 200 allocations and 200 frees'
stdout_has '^more free: 12582912$'
stdout_has '^# cuda:0: simulated GPU, 2048 MiB; '
stdout_has '^page_create_per_mib '
stdout_has '^PyTorch on a GPU: skipped: '
stdout_has '^the driver is the simulated one: these figures say nothing of a GPU$'

# The measurements are a valid price table.
expect 0 replay --device "sim:8GiB,costs=$build/measured.costs" "$trace"
finish
