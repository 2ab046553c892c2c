#!/bin/sh
# check_pytorch.sh BUILD [VERSION...] - compares each release of PyTorch with
# the replay under its rules: fetches the release's wheel and records what its
# own allocator does.
#
# Scripts: those of tests/data/pytorch, and random ones, by every driver call,
# placement, statistic, event and final block; settings, well and badly made;
# traces: those in the source tree, by placements and statistics.
#
# LARDER_PYTORCH_FOLDER keeps what is used of the wheels.  LARDER_PYTORCH_SCRIPTS
# is how many random scripts there are (60), LARDER_PYTORCH_SEED the seed of the
# first (else the time).  Needs the package index, unless all is kept; without
# it, says so and exits with 77.
set -u

build=$1
shift
[ $# -gt 0 ] || set -- 2.4 2.5 2.6 2.7 2.8 2.9 2.10 2.11 2.12 2.13 2.14 2.15
tools=tools/record_pytorch
randoms=${LARDER_PYTORCH_SCRIPTS:-60}
seed=${LARDER_PYTORCH_SEED:-$(date +%s)}
same=0
count=0

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
kept=${LARDER_PYTORCH_FOLDER:-$folder/kept}
mkdir -p "$kept" "$folder/recorders" "$folder/scripts" "$folder/recordings"

# add SAME COUNT
add() {
    same=$((same + $1))
    count=$((count + $2))
}

# tell FILE - what was said, but for the sum at its end, which is added.
tell() {
    sed '$d' "$1"
    # shellcheck disable=SC2046  # two numbers
    add $(sed -n '$s/^\([0-9]*\) \(of \)\{0,1\}\([0-9]*\).*/\1 \3/p' "$1")
}

has_index() {
    python3 -m pip download --quiet --no-deps --dest "$folder/index" wheel \
        >/dev/null 2>&1
}

for version in "$@"; do
    if [ ! -d "$kept/$version/unpacked" ] && ! has_index; then
        echo "check-pytorch: there is no package index to be reached: skipped"
        exit 77
    fi
    if $tools/make_recorder.sh "$version" "$build" "$kept/$version"; then
        ln -s "$(cd "$kept/$version" && pwd)" "$folder/recorders/$version"
    else
        count=$((count + 1))
    fi
done

echo "$randoms random scripts from seed $seed on"
i=0
while [ $i -lt "$randoms" ]; do
    python3 $tools/random_script.py $((seed + i)) \
        >"$folder/scripts/random_$((seed + i)).script"
    i=$((i + 1))
done
python3 $tools/recordings.py "$folder/recorders" "$folder/recordings" \
    tests/data/pytorch/*.recording "$folder"/scripts/* 2>"$folder/said"
"$build/tests/golden/test_versions" "$folder/recordings" >"$folder/said"
tell "$folder/said"

python3 $tools/settings_strings.py 200 "$seed" >"$folder/strings"
python3 $tools/settings_recording.py "$folder/recorders" "$folder/strings" \
    >"$folder/settings.txt"
"$build/tests/golden/test_settings" "$folder/settings.txt" >"$folder/said"
tell "$folder/said"

for version in "$@"; do
    [ -e "$folder/recorders/$version" ] || continue
    python3 $tools/compare_traces.py "$folder/recorders/$version/record" \
        "$version" "$build/larder" data/traces/*.zst tests/data/traces/*.zst \
        >"$folder/said"
    tell "$folder/said"
done
echo "$same of $count recordings identical"
[ "$same" -eq "$count" ]
