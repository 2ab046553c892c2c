#!/bin/sh
# check_fuzz.sh BUILD - coverage-guided fuzzing: every target of tests/fuzz with
# clang's libFuzzer, under the address and undefined-behaviour sanitizers.
# Exits with 1 if one found something; the input is in BUILD/found.
#
# Leaks are checked when a target ends.  An allocator leaks one word on purpose,
# by which its handle is recognised as destroyed; libFuzzer would search for
# leaks after each input, which takes more than half of its time.
#
# FUZZ_SECONDS (600) is the total time of all targets.  The corpus they build is
# kept in BUILD/corpus and continued in the next run; it starts from
# tests/fuzz/corpus, to which inputs worth sharing should be added.
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
