#!/bin/sh
# record.sh BUILD - run all benchmarks of a build folder and save the results as
# bench/results/{alloc,replay}-MACHINE-DATE.csv.  The machine is named after its
# processor and the number of its cores.
set -eu
[ $# -eq 1 ] || {
    echo "usage: $0 BUILD" >&2
    exit 2
}
build=$1
here=$(dirname "$0")

model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
machine=$(printf '%s' "${model:-unknown}" | tr -cs 'A-Za-z0-9' '-' |
    tr '[:upper:]' '[:lower:]')
machine=${machine%-}-$(nproc)cpu
date=$(date +%Y-%m-%d)

mkdir -p "$here/results"
alloc=$here/results/alloc-$machine-$date.csv
replay=$here/results/replay-$machine-$date.csv
"$build/bench/bench_alloc" --csv >"$alloc"
"$here/replay.sh" --csv "$build/larder" >"$replay"
echo "$alloc"
echo "$replay"
