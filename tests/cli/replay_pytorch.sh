#!/bin/sh
# `larder replay --pytorch`: the rules of a release, as an option and as a
# setting; and the program of pytorch#193400 under each.  $1: the command.
. tests/cli/harness

trace=tests/data/traces/churn_streams_a.trace.zst

placements() { # FILE OPTION...
    file=$1
    shift
    expect 0 replay --repeat 0 --placements "$tmp/$file" "$@" $trace
}

placements 2.4 --pytorch 2.4
placements default --policy pytorch
placements 2.12 --pytorch 2.12
placements set --policy pytorch --conf pytorch:2.12
placements 2.13 --pytorch 2.13
cmp -s "$tmp/2.4" "$tmp/default" || say_failed 'the default is not 2.4'
cmp -s "$tmp/2.12" "$tmp/set" || say_failed 'option and setting differ'
cmp -s "$tmp/2.12" "$tmp/2.4" && say_failed '2.12 places as 2.4'
cmp -s "$tmp/2.12" "$tmp/2.13" && say_failed '2.12 places as 2.13'

expect 0 replay --repeat 0 --json --pytorch 2.13 $trace
stdout_has '"policy":"pytorch","conf":"","pytorch":"2.13"'

expect 2 replay --pytorch 2.99 $trace
stderr_has "'2.99' is not accepted: expected a release of PyTorch"
expect 2 replay --pytorch 2.13 --policy larder $trace
stderr_has 'applies to the policy pytorch, not larder'

# Memory freed in each round lies between live blocks and does not fit the
# requests of the next round, for which pages are mapped again and again.
rounds() { # COUNT
    awk -v n="$1" 'BEGIN {
        print "a 0", 64 * 1048576
        for (id = 1; n-- > 0; id += 3)
            printf "a %d %d\na %d %d\na %d %d\nf %d\nf %d\n",
                id, 91 * 1048576, id + 1, 45.5 * 1048576, id + 2, 2 * 1048576,
                id, id + 1
    }'
}
settings=max_split_size_mb:128,expandable_segments:True

reserved_mib() { # ROUNDS OPTION...
    rounds "$1" >"$tmp/rounds.trace"
    shift
    expect 0 replay --repeat 0 --json "$@" "$tmp/rounds.trace"
    bytes=$(sed -n 's/.*"peak_reserved_bytes":\([0-9]*\).*/\1/p' "$tmp/out")
    echo $((bytes / 1048576))
}

for release in 2.4 2.10 2.12 2.13 2.15; do
    is "the first round of $release" \
        "$(reserved_mib 1 --pytorch $release --conf $settings)" 220
    is "a hundred more of $release" \
        "$(reserved_mib 101 --pytorch $release --conf $settings)" 14060
done
# Live at the peak: 64 + 100 * 2 + 138.5 MiB, and up to 90 are mapped ahead.
most=$(reserved_mib 101 --policy larder)
[ "$most" -le 493 ] || say_failed "larder holds $most MiB"
finish
