#!/bin/sh
# snapshot_read.sh BUILD [FILE] - how long reading a large snapshot takes, and
# how long Python's pickle.load of the same file, in one run.  Without FILE one
# of 5 million events, 1 GB, is made and removed again.  Best of RUNS (3) for
# ours; Python's collector is off, which is as fast as it gets.
set -eu
cd "$(dirname "$0")/.."
build=$1
file=${2-}
runs=${RUNS-3}

if [ -z "$file" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    file=$folder/large.pickle
    tools/make_snapshot.py --events 5000000 --stacks 3000 --depth 44 \
        --layers 400 "$file"
fi

python=$(python3 - "$file" <<'PYTHON'
import gc
import os
import pickle
import sys
import time
gc.disable()
with open(sys.argv[1], 'rb') as f:
    f.read()  # in memory for both
with open(sys.argv[1], 'rb') as f:
    begin = time.monotonic()
    kept = pickle.load(f)
    print('%.3f' % (time.monotonic() - begin), flush=True)
os._exit(0)  # to take it all apart would take longer
PYTHON
)

i=0
while [ "$i" -lt "$runs" ]; do
    "$build/bench/bench_snapshot" "$file"
    i=$((i + 1))
done | sort -n | awk -v python="$python" '
    NR == 1 {
        printf "larder       %7.3f s  %5.0f MB/s  %4.0f MB resident  %d events\n",
            $1, $2 / $1 / 1e6, $3 / 1e6, $4
        printf "pickle.load  %7.3f s  %5.0f MB/s\n", python,
            $2 / python / 1e6
        printf "ratio        %7.1f\n", python / $1
    }'
