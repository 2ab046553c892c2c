#!/bin/sh
# What `larder replay` prints and writes.  $1: the command.
. tests/cli/harness

# The small trace holds 24 bytes and two allocations of 960000000, the second
# made while the first is live; at its end it frees both.
expect 0 replay --json --policy pytorch "$trace"
is lines "$(wc -l <"$tmp/out")" 1
is trace "$(field trace)" "\"$trace\""
is policy "$(field policy)" '"pytorch"'
is conf "$(field conf)" '""'
is ops "$(field ops)" 23
is oom_op "$(field oom_op)" null
is oom_count "$(field oom_count)" 0
is peak_requested_bytes "$(field peak_requested_bytes)" 1920000024
is peak_allocated_bytes "$(field peak_allocated_bytes)" 1920991744
is peak_reserved_bytes "$(field peak_reserved_bytes)" 1923088384
is driver_allocs "$(field driver_allocs)" 3
is driver_frees "$(field driver_frees)" 2
is pages_created "$(field pages_created)" 0
is pages_mapped "$(field pages_mapped)" 0
is pages_unmapped "$(field pages_unmapped)" 0
is stream_syncs "$(field stream_syncs)" 0
is min_capacity_bytes "$(field min_capacity_bytes)" ''
case $(field ns_per_op) in
[0-9]*) ;;
*) say_failed "ns_per_op is '$(field ns_per_op)'" ;;
esac
case $(field driver_time_ns) in
[1-9]*) ;;
*) say_failed "driver_time_ns is '$(field driver_time_ns)'" ;;
esac

# The device is too small for the second large allocation, which fails; the
# replay continues and the status is 0.
expect 0 replay --policy pytorch --json --device sim:1864368128 "$trace"
is oom_op "$(field oom_op)" 3
is oom_count "$(field oom_count)" 5
expect 0 replay --policy pytorch --device sim:1864368128 "$trace"
stdout_has 'out of memory at operation 3, and 4 times after it:$'
stdout_has 'Tried to allocate'

# Failed driver calls, two for each allocation here, are counted and take time.
printf 'a 0 3145728\na 1 3145728\n' >"$tmp/fails.trace"
expect 0 replay --json --policy direct --device sim:1MiB "$tmp/fails.trace"
is driver_allocs "$(field driver_allocs)" 0
is driver_calls "$(field driver_calls)" 4
is driver_time_ns "$(field driver_time_ns)" 240000
expect 0 replay --policy direct --device sim:1MiB "$tmp/fails.trace"
stdout_has 'out of memory at operation 1, and once after it:$'

# Prices computed by hand: a small and a large segment allocated, then released.
printf 'a 0 1000\na 1 2000000\nf 0\nf 1\ne\n' >"$tmp/prices.trace"
expect 0 replay --policy pytorch --json "$tmp/prices.trace"
is driver_time_ns "$(field driver_time_ns)" $((60000 + 61800 + 2 * 60000))
expect 0 replay --json --policy direct "$tmp/prices.trace"
is driver_time_ns "$(field driver_time_ns)" $((4 * 60000))
expect 0 replay --policy pytorch --json --conf expandable_segments:True "$tmp/prices.trace"
is driver_time_ns "$(field driver_time_ns)" \
    $((2 * (20000 + 1500 + 36000 + 26000 + 50000 + 10000) + 190000 + 208000))

expect 0 replay --policy pytorch --json --conf expandable_segments:True "$trace"
is conf "$(field conf)" '"expandable_segments:True"'
is driver_allocs "$(field driver_allocs)" 0
case $(field pages_created) in
[1-9]*) ;;
*) say_failed "pages_created is '$(field pages_created)'" ;;
esac
is pages_mapped "$(field pages_mapped)" "$(field pages_created)"

expect 0 replay --json --min-capacity --policy pytorch "$trace"
is min_capacity_bytes "$(field min_capacity_bytes)" 1923088384
expect 0 replay --json --min-capacity --conf limit:1MiB "$trace"
is min_capacity_bytes "$(field min_capacity_bytes)" null
# 8.19 TiB and 15 TiB: all sizes that can be simulated are accepted.
printf 'a 0 9000000000000\n' >"$tmp/huge.trace"
expect 0 replay --json --min-capacity "$tmp/huge.trace"
is min_capacity_bytes "$(field min_capacity_bytes)" 9000001208320
printf 'a 0 16492674416640\n' >"$tmp/huge.trace"
expect 0 replay --json --min-capacity "$tmp/huge.trace"
is min_capacity_bytes "$(field min_capacity_bytes)" 16492674416640

# LARDER_CONF applies without --conf.
LARDER_CONF=expandable_segments:True
export LARDER_CONF
expect 0 replay --json "$trace"
is conf "$(field conf)" '"expandable_segments:True"'
expect 0 replay --json --conf '' "$trace"
is conf "$(field conf)" '""'
LARDER_CONF=colour:red
expect 2 replay --json "$trace"
stderr_has '^larder replay: LARDER_CONF: .*colour'
unset LARDER_CONF

# The table: no colour and no progress bar in a pipe.
expect 0 replay "$trace" tests/data/traces/lab_mlp.trace.zst
stdout_has '^trace  *ops  *requested  *allocated  *reserved  *frag'
stdout_has '^tests/data/traces/e1_rebind  *23  *1.79 GiB  *1.79 GiB  *1.79 GiB'
stdout_has '^tests/data/traces/lab_mlp  *164 '
if grep -q "$(printf '\033')" "$tmp/out" "$tmp/err"; then
    say_failed 'escapes in a pipe'
fi
expect 0 replay --min-capacity "$trace"
stdout_has ' capacity$'
expect 0 replay --summary --policy pytorch "$trace"
stdout_has 'CUDA OOMs\|OOMs'

# Control characters in a name do not reach the table.
odd="$tmp/$(printf 'odd\033[31m\nname').trace"
cp tests/data/traces/lab_mlp.trace.zst "$odd"
expect 0 replay "$odd"
stdout_has '/odd?\[31m name  *164 '

# Placements and statistics, in files and on standard output.
printf 'a 0 512\na 1 0\nm here\na 2 1073741824\nf 0\ne\n' >"$tmp/t.trace"
expect 0 replay --policy pytorch --device sim:64MiB --placements "$tmp/p" \
    --stats "$tmp/s" --stats-every 2 "$tmp/t.trace"
is placements "$(cat "$tmp/p")" 'p 0 0
p 1 null
p 2 oom'
is 'statistics at' "$(cut -d ' ' -f 1-2 "$tmp/s")" 's 2
s 4
s 5'
is 'first statistic' "$(sed -n '1s/^s 2 \([^ ]*\) .*/\1/p' "$tmp/s")" \
    allocation.all=1/1/1/0
is 'pieces released' \
    "$(sed -n '3s/.* num_device_free=\([0-9]*\).*/\1/p' "$tmp/s")" 1
expect 0 replay --placements - --stats - --json "$tmp/t.trace"
is 'lines begin with' "$(cut -c 1 "$tmp/out" | tr -d '\n')" 'ppps{'

# Input from standard input.
"$larder" replay --json - <"$tmp/t.trace" >"$tmp/out"
is 'ops of the standard input' "$(field ops)" 5

finish
