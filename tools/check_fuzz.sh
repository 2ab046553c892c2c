#!/bin/sh
# check_fuzz.sh BUILD - fuzzing guided by coverage: every target of tests/fuzz
# with clang's libFuzzer, under its address and undefined-behaviour sanitizers.
# Exit 1 if one found something: the input lies in BUILD/found.
#
# Leaks are looked for as a target ends: an allocator leaves a word behind on
# purpose, that its handle is known for dead, which libFuzzer would have looked
# into after each input, at more than half of its time.
#
# FUZZ_SECONDS (600) is the time of all targets together.  What they learn is
# kept in BUILD/corpus and goes on from there; tests/fuzz/corpus is where they
# begin, and what is worth keeping for all goes there.
set -u
cd "$(dirname "$0")/.." || exit 2
build=$1
seconds=${FUZZ_SECONDS:-600}
failed=

if ! command -v clang >/dev/null; then
    echo "check-fuzz needs clang and its libFuzzer: apt-get install clang" >&2
    exit 2
fi
cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang \
    -DCMAKE_CXX_COMPILER=clang++ -DLARDER_FUZZ=ON \
    -DLARDER_SANITIZE=address,undefined >/dev/null || exit 2
targets=
for source in tests/fuzz/fuzz_*.c; do
    name=${source##*/}
    targets="$targets ${name%.c}"
done
# shellcheck disable=SC2086  # several words
cmake --build "$build" --parallel --target $targets >/dev/null || exit 2

# shellcheck disable=SC2086
set -- $targets
each=$((seconds / $#))
mkdir -p "$build/found"
for target in "$@"; do
    subject=${target#fuzz_}
    learnt=$build/corpus/$subject
    mkdir -p "$learnt"
    log=$build/$target.log
    "$build/tests/fuzz/$target" -max_total_time="$each" -timeout=25 \
        -detect_leaks=0 -rss_limit_mb=4096 -artifact_prefix="$build/found/$subject-" \
        -print_final_stats=1 "$learnt" "tests/fuzz/corpus/$subject" \
        >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$target: ${runs:-?} inputs in $each s, $(find "$learnt" -type f |
        wc -l) kept"
    if [ "$status" -ne 0 ]; then
        failed="$failed $target"
        tail -n 30 "$log"
    fi
done
if [ -n "$failed" ]; then
    echo "Found something:$failed (inputs in $build/found)"
    exit 1
fi
echo 'Every fuzz target held.'
