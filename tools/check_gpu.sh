#!/bin/sh
# check_gpu.sh BUILD [DEVICE] - the checks that need a real GPU: the allocator's
# tests, a program on the preload library, the cost of driver calls, as a price
# table in BUILD/measured.costs, and PyTorch under Larder, if $PYTHON (python3)
# has a PyTorch that sees a GPU.  Without a GPU it runs nothing, says so and
# exits with 77.  Exits with 1 if something failed.
set -u
build=$1
device=${2:-cuda:0}
core=$build/tests/gpu/test_gpu_core
driver=$build/bench/bench_driver
table=$build/measured.costs

# A driver API program on the preload library, which finds the driver's functions
# by dlsym or by lookup.  Sanitizer builds have no such library.
preload() {
    if [ ! -e "$build/liblarder_preload.so" ]; then
        echo "the preload library: skipped: it is not in $build"
        return 0
    fi
    for way in dlsym lookup; do
        for what in churn info pause next; do
            LD_PRELOAD=$build/liblarder_preload.so LARDER_PRELOAD=cache,pause \
                LARDER_PRELOAD_STATS=- \
                "$build/tests/preload/preload_subject_plain" "$way" "$what" ||
                return 1
        done
    done
}

LARDER_GPU=$device
export LARDER_GPU
"$core"
status=$?
if [ "$status" -eq 77 ]; then
    echo "no GPU here: nothing was run"
    exit 77
fi
if [ "$status" -ne 0 ]; then
    echo "the tests failed on $device"
    exit 1
fi
if [ "$device" = cuda:0 ] && ! preload; then
    echo "the preload library's tests failed on $device"
    exit 1
fi
"$driver" "$device" >"$table" || exit 1
cat "$table"
echo
python=${PYTHON:-python3}
if command -v "$python" >/dev/null; then
    LARDER_LIBRARY_DIR=$build "$python" -B \
        "$(dirname "$0")/../tests/gpu/torch/check_torch.py"
    torch=$?
else
    echo "PyTorch on a GPU: skipped: no $python"
    torch=77
fi
if grep -q '^# .*: simulated GPU,' "$table"; then
    echo "the driver is the simulated one: these figures say nothing of a GPU"
    exit 77
fi
if [ "$torch" -ne 0 ] && [ "$torch" -ne 77 ]; then
    echo "PyTorch did not do under Larder what it should on $device"
    exit 1
fi
echo "tests passed on $device; its prices are in $table"
