#!/bin/sh
# replay.sh [--csv] COMMAND [TRACE...] - the cost of an operation of a recorded
# trace in the allocator: the median of 9 passes, one trace at a time, its ratio
# to the policy pytorch in the same run, and PyTorch 2.4's own allocator for
# comparison.
#
# PyTorch's figures are those of its own code (2.4.0), in steady state, over a
# driver without cost, on a 2-core EPYC machine, with the same traces: from 123
# ns (mlp_sgd) to 206 ns (gpt2_train_accum2).  On another machine they are only
# a rough guide.
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

# measure TRACE...: print a line for each trace and policy, pytorch first.
measure() {
    for trace in "$@"; do
        name=$(basename "$trace" .trace.zst)
        for row in pytorch: pytorch:expandable_segments:True larder:; do
            policy=${row%%:*}
            conf=${row#*:}
            theirs=-
            [ -n "$conf" ] || theirs=$(pytorch_ns "$name")
            echo "$name,$policy,$conf,$(ns_per_op "$policy" "$conf" "$trace"),$theirs"
        done
    done
}

# table: print the lines as a table, and the cost of larder over all of them.
table() {
    awk -F, '
        BEGIN {
            row = "%-24s %-34s %8s %8s %12s\n"
            printf row, "trace", "policy", "ns/op", "ratio", "PyTorch 2.4"
        }
        $2 == "pytorch" && $3 == "" { base = $4 }
        {
            printf row, $1, $2 ($3 == "" ? "" : ", " $3),
                sprintf("%.1f", $4), sprintf("%.2f", $4 / base), $5
            fflush()
        }
        $2 == "larder" {
            n++
            for (i = n; i > 1 && ns[i - 1] > $4 + 0; i--)
                ns[i] = ns[i - 1]
            ns[i] = $4 + 0
            if (i == n)
                worst = $1
        }
        END {
            printf "\nlarder: median %.1f, worst %.1f (%s)\n",
                (ns[int((n + 1) / 2)] + ns[int((n + 2) / 2)]) / 2, ns[n], worst
        }'
}

if [ $csv = yes ]; then
    echo name,policy,conf,ns_per_op,pytorch_2_4_ns_per_op
    measure "$@"
else
    measure "$@" | table
fi
