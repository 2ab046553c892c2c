#!/bin/sh
# snapshot_read.sh BUILD [FILE] - the time to read a large snapshot, of `larder
# report` on it, and of Python's pickle.load() of the same file, in one run.
# Without FILE, one with 5 million events (1 GB) is created and removed again.
# Ours: the best of RUNS (3); Python's garbage collector is off, its fastest
# mode.
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
    while f.read(1 << 24):  # in the system's cache for all
        pass
with open(sys.argv[1], 'rb') as f:
    begin = time.monotonic()
    kept = pickle.load(f)
    print('%.3f' % (time.monotonic() - begin), flush=True)
os._exit(0)  # to take it all apart would take longer
PYTHON
)

# report: print seconds and resident bytes.  It runs in a process of its own,
# because a child counts at least as much memory as the large process that
# starts it.
report() {
    python3 - "$build/larder" report "$file" <<'PYTHON'
import os
import sys
import time
begin = time.monotonic()
null = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                     file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, use = os.wait4(pid, 0)
print('%.3f %d' % (time.monotonic() - begin, use.ru_maxrss * 1024))
sys.exit(status != 0)
PYTHON
}

# best COMMAND...: print the line of the fastest run.
best() {
    i=0
    while [ "$i" -lt "$runs" ]; do
        "$@"
        i=$((i + 1))
    done | sort -n | head -n 1
}

read -r read_s bytes read_rss events <<END
$(best "$build/bench/bench_snapshot" "$file")
END
read -r report_s report_rss <<END
$(best report)
END

# row NAME SECONDS [RESIDENT]
row() {
    awk -v name="$1" -v s="$2" -v rss="${3-}" -v python="$python" \
        -v bytes="$bytes" 'BEGIN {
            printf "%-14s %7.3f s  %5.0f MB/s", name, s, bytes / s / 1e6
            if (rss != "")
                printf "  %5.0f MB resident  %4.1f times as fast", rss / 1e6,
                    python / s
            print ""
        }'
}

echo "$events events, $bytes bytes"
row 'pickle.load' "$python"
row 'reading' "$read_s" "$read_rss"
row 'larder report' "$report_s" "$report_rss"
