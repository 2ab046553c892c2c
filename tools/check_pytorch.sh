#!/bin/sh
# check_pytorch.sh BUILD [VERSION...] - compares each release of PyTorch with
# the replay under its rules: fetches the release's wheel and records what its
# own allocator does.
#
# Scripts: those of tests/data/pytorch, and random ones; traces: those in the
# source tree.  Needs the package index; without it, says so and exits with 77.
set -u

build=$1
shift
[ $# -gt 0 ] || set -- 2.4 2.5 2.6 2.7 2.8 2.9 2.10 2.11 2.12 2.13 2.14 2.15
tools=tools/record_pytorch
randoms=60
same=0
count=0

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

python3 -m pip download --quiet --no-deps --dest "$folder/index" wheel \
    >/dev/null 2>&1 || {
    echo "check-pytorch: there is no package index to be reached: skipped"
    exit 77
}
mkdir "$folder/scripts"
i=0
while [ $i -lt $randoms ]; do
    i=$((i + 1))
    python3 $tools/random_script.py $i >"$folder/scripts/random_$i.script"
done

# add SAME COUNT
add() {
    same=$((same + $1))
    count=$((count + $2))
}

for version in "$@"; do
    echo "PyTorch $version"
    recorders=$folder/recorders
    $tools/make_recorder.sh "$version" "$build" "$recorders/$version" || {
        count=$((count + 1))
        continue
    }
    mkdir "$folder/recordings"
    python3 $tools/recordings.py "$recorders" "$folder/recordings" \
        tests/data/pytorch/*.recording "$folder"/scripts/* 2>"$folder/said"
    "$build/tests/golden/test_versions" "$folder/recordings" >"$folder/said"
    sed '$d' "$folder/said"
    # shellcheck disable=SC2046  # two numbers
    add $(sed -n 's/^\([0-9]*\) of \([0-9]*\) .*/\1 \2/p' "$folder/said")
    python3 $tools/compare_traces.py "$recorders/$version/record" "$version" \
        "$build/larder" data/traces/*.zst tests/data/traces/*.zst \
        >"$folder/said"
    sed '$d' "$folder/said"
    # shellcheck disable=SC2046
    add $(tail -n 1 "$folder/said")
    rm -rf "$folder/recordings" "$recorders"
done
echo "$same of $count recordings identical"
[ "$same" -eq "$count" ]
