#!/bin/sh
# `larder diff --from --to`: one program under two releases of PyTorch.
# $1: the command.
. tests/cli/harness

churn=tests/data/traces/churn_streams_a.trace.zst

expect 1 diff --from 2.11 --to 2.12 $churn
stdout_has "placements differ, first 'p 60 27262976' and"
stdout_has 'from 2.12 on'
stdout_has '  order of the free blocks of one size'

expect 0 diff --from 2.4 --to 2.11 $churn
stdout_has '^all 27414 placements are the same'

# A single rule, and the setting that restores the old behaviour.
printf 'a 0 1120000000\na 1 1500000000\n' >"$tmp/large.trace"
list='roundup_power2_divisions:[1024:4,>:8]'
expect 1 diff --json --from 2.9 --to 2.10 --conf "$list" "$tmp/large.trace"
is same "$(field same)" false
is differing "$(field differing)" 1
stdout_has '"release":"2.10"'
stdout_has 'every class of roundup_power2_divisions named'
expect 0 diff --from 2.9 --to 2.10 --conf 'roundup_power2_divisions:8' \
    "$tmp/large.trace"

# As torch.__version__ has them.
expect 1 diff --json --from 2.9.1+cu128 --to 2.10.0a0+git5b1a2c3 --conf "$list" \
    "$tmp/large.trace"
stdout_has '"release":"2.10"'
expect 2 replay --pytorch 2.16 "$tmp/large.trace"
stderr_has '2.15, the newest known'
expect 0 replay --pytorch 2.9.0.dev20250801 "$tmp/large.trace"

expect 2 diff --from 2.9 $churn
stderr_has 'to go together'
expect 2 diff --from 2.9 --to 3.0 $churn
stderr_has "'3.0': expected a release of PyTorch from 2.4 to 2.15, the newest known"
expect 2 diff --conf limit:1GiB "$tmp/large.trace" "$tmp/large.trace"
stderr_has "^larder diff: --conf needs --from and --to"
expect 2 diff --from 2.9 --to 2.10 --conf bad:1 $churn
expect 2 diff --from 2.9 --to 2.10 "$tmp/nothing.trace"
expect 2 diff --from 2.9 --to 2.10 $churn more
stderr_has "unexpected 'more'"
expect 2 diff $churn more --from 2.9 --to 2.10
stderr_has "unexpected 'more'"
expect 2 diff --from 2.9 --to 2.10 -
stderr_has 'read several times'
finish
