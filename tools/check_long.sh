#!/bin/sh
# check_long.sh BUILD - the checks that take minutes, after `make test`:
# every golden file there is, the model test over millions of operations, and
# fuzzing with fresh inputs.  Says what it left out.  Exit 1 if one failed.
#
# LONG_SECONDS (120) is how long each fuzz target and the model test may take.
set -u
cd "$(dirname "$0")/.." || exit 2
build=$1
golden=../shared
seconds=${LONG_SECONDS:-120}
failed=
skipped=

skip() {
    echo "skipped: $*"
    skipped="$skipped
  $*"
}

# step NAME COMMAND...
step() {
    name=$1
    shift
    echo "== $name"
    "$@" || failed="$failed
  $name"
}

for program in test_golden test_reference_golden; do
    path=$(find "$build/tests" -name $program -type f)
    if [ ! -x "$path" ]; then
        skip "$program: not built"
    elif [ ! -d "$golden/golden" ]; then
        skip "$program on all golden files: no folder $golden/golden"
    else
        step "$program on all golden files" "$path" "$golden"
    fi
done

if [ -x "$build/tests/model/test_model" ]; then
    step "model, $seconds s" "$build/tests/model/test_model" \
        --seconds "$seconds" --seed "$(date +%s)"
else
    skip 'test_model: not built'
fi

for program in "$build"/tests/fuzz/fuzz_*; do
    if [ ! -x "$program" ]; then
        skip 'fuzzing: no targets built'
        continue
    fi
    subject=${program##*/fuzz_}
    step "fuzz $subject, $seconds s" "$program" --seconds "$seconds" \
        --seed "$(date +%s)" \
        tests/fuzz/corpus/"$subject"/*
done

[ -z "$skipped" ] || echo "Skipped:$skipped"
if [ -n "$failed" ]; then
    echo "Failed:$failed"
    exit 1
fi
echo 'Every long check that ran passed.'
