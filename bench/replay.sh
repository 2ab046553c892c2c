#!/bin/sh
# replay.sh [--csv] COMMAND [TRACE...] - what an operation of a recorded trace
# costs the allocator: the median over 9 passes, one trace at a time, next to
# PyTorch 2.4's own allocator.
#
# The figures for PyTorch are those of its own code (2.4.0), in steady state,
# over a driver that costs nothing, on a 2-core EPYC machine, on the same
# traces: from 123 ns (mlp_sgd) to 206 ns (gpt2_train_accum2).  Another
# machine's figures are a rough guide only.
set -eu

usage() {
    echo "usage: $0 [--csv] COMMAND [TRACE...]" >&2
    exit 2
}

csv=no
if [ "${1-}" = --csv ]; then
    csv=yes
    shift
fi
[ $# -ge 1 ] || usage
larder=$1
shift
if [ $# -eq 0 ]; then
    set -- "$(dirname "$0")"/../data/traces/*.trace.zst
fi

# pytorch_ns NAME - PyTorch's figure for this trace, or the range of all.
pytorch_ns() {
    case $1 in
    mlp_sgd) echo 123 ;;
    gpt2_train_accum2) echo 206 ;;
    *) echo 123-206 ;;
    esac
}

# ns_per_op POLICY CONF TRACE
ns_per_op() {
    "$larder" replay --json --repeat 9 --policy "$1" --conf "$2" "$3" |
        sed -n 's/.*"ns_per_op":\([0-9.]*\).*/\1/p'
}

if [ $csv = yes ]; then
    echo name,policy,conf,ns_per_op,pytorch_2_4_ns_per_op
else
    printf '%-24s %-34s %8s %14s\n' trace policy ns/op 'PyTorch 2.4'
fi
for trace in "$@"; do
    name=$(basename "$trace" .trace.zst)
    for row in larder: pytorch: pytorch:expandable_segments:True; do
        policy=${row%%:*}
        conf=${row#*:}
        ns=$(ns_per_op "$policy" "$conf" "$trace")
        theirs=-
        [ -n "$conf" ] || theirs=$(pytorch_ns "$name")
        if [ $csv = yes ]; then
            echo "$name,$policy,$conf,$ns,$theirs"
        else
            printf '%-24s %-34s %8.1f %14s\n' "$name" \
                "$policy${conf:+, $conf}" "$ns" "$theirs"
        fi
    done
done
