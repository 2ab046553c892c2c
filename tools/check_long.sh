#!/bin/sh
# check_long.sh BUILD - the checks that take minutes, after `make test`: every
# available golden file, the model test over millions of operations, the storm
# over the whole interface, also under sanitizers, the lab's experiments with
# real bytes, `pip install .`, and fuzzing with fresh inputs.  Says what it left
# out.  Exits with 1 if one failed.
#
# LONG_SECONDS (120) is the time for each fuzz target and for the model test.
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

# One second is about two thousand steps of each of its eight runs.
if [ -x "$build/tests/model/test_larder_random" ]; then
    step 'random operations with real bytes, policy larder' \
        "$build/tests/model/test_larder_random" \
        $((seconds * 2000)) "$(date +%s)"
else
    skip 'test_larder_random: not built'
fi

# One second is about five thousand steps, over four threads and four runs.
if [ -x "$build/tests/stress/test_larder_storm" ]; then
    step 'random operations with real bytes on four threads' \
        "$build/tests/stress/test_larder_storm" \
        $((seconds * 1250)) "$(date +%s)"
else
    skip 'test_larder_storm: not built'
fi

# One second is about five hundred steps of each of its nine runs.
if [ -x "$build/tests/model/test_kernel_reads" ]; then
    step 'kernels find what was written for them, every policy' \
        "$build/tests/model/test_kernel_reads" \
        $((seconds * 500)) "$(date +%s)"
else
    skip 'test_kernel_reads: not built'
fi

# Ten minutes by default, and as long in each build with sanitizers, which are
# made here.
storm() {
    name=$1
    folder=$2
    step "random programs over the whole interface, $name" \
        "$folder/tests/storm/test_api_storm" \
        --seconds "${LONG_SECONDS:-600}" --seed "$(date +%s)"
}
storm_sanitized() {
    name=$1
    sanitizers=$2
    folder=$build-storm-$name
    if cmake -S . -B "$folder" "-DLARDER_SANITIZE=$sanitizers" >/dev/null &&
        cmake --build "$folder" --target test_api_storm >/dev/null; then
        storm "$name" "$folder"
    else
        failed="$failed
  test_api_storm, $name: not built"
    fi
}
if [ -x "$build/tests/storm/test_api_storm" ]; then
    storm plain "$build"
    storm_sanitized asan address,undefined
    storm_sanitized tsan thread
else
    skip 'test_api_storm: not built'
fi

# The same time, in the same builds.
gate_storm() {
    name=$1
    folder=$2
    step "work and moves below a program, $name" \
        env LARDER_PRELOAD=cache,migrate LD_LIBRARY_PATH="$folder/fakecuda" \
        LARDER_FAKECUDA=sim:256MiB,events=driver,count=2 \
        "$folder/tests/preload/test_preload_migrate_storm" \
        "${LONG_SECONDS:-600}" "$(date +%s)"
}
if [ -x "$build/tests/preload/test_preload_migrate_storm" ]; then
    gate_storm plain "$build"
    for name in asan tsan; do
        folder=$build-storm-$name
        if [ -d "$folder" ] && cmake --build "$folder" --target \
            test_preload_migrate_storm fakecuda >/dev/null; then
            gate_storm $name "$folder"
        else
            skip "test_preload_migrate_storm, $name: not built"
        fi
    done
else
    skip 'test_preload_migrate_storm: not built'
fi

if [ -x "$build/tests/stress/test_process_storm" ]; then
    step "eight processes on one device, $seconds s" \
        "$build/tests/stress/test_process_storm" "$seconds" "$(date +%s)"
else
    skip 'test_process_storm: not built'
fi

# Ten minutes by default (LONG_SECONDS).
if [ -x "$build/tests/stress/test_peer_storm" ]; then
    step 'eight processes in one ledger' \
        "$build/tests/stress/test_peer_storm" \
        "${LONG_SECONDS:-600}" "$(date +%s)"
else
    skip 'test_peer_storm: not built'
fi

if [ -x "$build/tests/fault/test_fault_moves" ]; then
    step 'every pair of failures in a move' \
        env LARDER_LONG=1 "$build/tests/fault/test_fault_moves"
else
    skip 'test_fault_moves: not built'
fi

if [ -x "$build/tests/snapshot/test_mutations" ]; then
    step '100 000 changed snapshots' "$build/tests/snapshot/test_mutations" \
        100000 "$(date +%s)"
else
    skip 'test_mutations: not built'
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

# With real memory behind every address: at most 5 GiB at once.
available_mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
if [ ! -x "$build/larder" ]; then
    skip 'experiments 0 to 3 with real bytes: no command built'
elif [ "${available_mib:-0}" -lt 6144 ]; then
    skip "experiments 0 to 3 with real bytes: $available_mib MiB of memory"
else
    step 'experiments 0 to 3 with real bytes' "$build/larder" lab run \
        --device sim:24GiB,backing=memory 0 1 2 3
fi

# tests/install/pip.sh packages an existing build; here pip builds from the
# repository alone.
pip_from_nothing() (
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    python3 -m venv "$work/venv" &&
        PIP_INDEX_URL=http://127.0.0.1:9/ "$work/venv/bin/pip" install . &&
        cd "$work" && venv/bin/larder lab run move_and_reuse &&
        venv/bin/python -c 'import larder; print(larder.__version__)'
)
if python3 -c 'import ensurepip' 2>/dev/null; then
    step 'pip install .' pip_from_nothing
else
    skip 'pip install .: no python3-venv'
fi

[ -z "$skipped" ] || echo "Skipped:$skipped"
if [ -n "$failed" ]; then
    echo "Failed:$failed"
    exit 1
fi
echo 'Every long check that ran passed.'
