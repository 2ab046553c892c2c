#!/bin/sh
# The errors of `larder replay` for input it cannot read and output it cannot
# write.
# $1: the command.
. tests/cli/harness

printf 'a 0 512\nf 1\n' >"$tmp/bad.trace"
expect 2 replay "$tmp/bad.trace"
stderr_has "^larder replay: $tmp/bad.trace:2: ID 1 was not allocated; expected"
expect 2 replay "$tmp/none.trace"
stderr_has "none.trace: cannot be opened: No such file or directory"
expect 2 replay "$tmp"
stderr_has "^larder replay: $tmp: cannot be read: Is a directory"
head -c 60 "$trace" >"$tmp/cut.trace.zst"
expect 2 replay "$tmp/cut.trace.zst"
stderr_has 'cut.trace.zst: byte 60: the file ends inside a zstd frame; expected'
last='replay of a broken snapshot through a pipe'
printf '{"segments":[]' | "$larder" replay - >"$tmp/out" 2>"$tmp/err"
is 'exit status' $? 2
stderr_has '^larder replay: -:1: byte 14: the file ends here; expected'
: >"$tmp/empty.trace"
expect 0 replay --json "$tmp/empty.trace"
is ops "$(field ops)" 0
is ns_per_op "$(field ns_per_op)" null
is peak_fragmentation "$(field peak_fragmentation)" null

# One bad input does not stop the others, which are reported in order.
expect 2 replay --json "$trace" "$tmp/bad.trace" "$tmp/empty.trace"
is lines "$(wc -l <"$tmp/out")" 2
is 'first trace' "$(field trace)" "\"$trace\""
stderr_has 'bad.trace:2:'

# Names that are not UTF-8 give valid JSON.
odd=$(printf 'odd\377.trace')
if cp "$tmp/empty.trace" "$tmp/$odd" 2>/dev/null; then
    expect 0 replay --json "$tmp/$odd"
    is trace "$(field trace)" "$(printf '"%s/odd\\uFFFD.trace"' "$tmp")"
    printf 'a 0 512\n' >"$tmp/$odd"
    for command in report 'fit --capacity 1GiB' tune; do
        # shellcheck disable=SC2086  # a command with its options
        expect 0 $command --json "$tmp/$odd"
        is "file of $command" "$(field file)" \
            "$(printf '"%s/odd\\uFFFD.trace"' "$tmp")"
    done
    expect 1 diff --json "$tmp/$odd" "$trace"
    stdout_has "$(printf '"files":\["%s/odd\\\\uFFFD.trace","' "$tmp")"
    expect 0 diff --json --from 2.9 --to 2.10 "$tmp/$odd"
    is 'file of diff --from' "$(field file)" \
        "$(printf '"%s/odd\\uFFFD.trace"' "$tmp")"
    expect 0 view -o "$tmp/page.html" "$tmp/$odd"
    is 'title of the page' "$(grep -c "^ *<title>odd$(printf '\357\277\275').trace" \
        "$tmp/page.html")" 1
    cp data/costs/a100.costs "$tmp/$odd"
    expect 0 lab run --json --device "sim:6GiB,costs=$tmp/$odd" move_and_reuse
    is 'device of lab' "$(field device)" \
        "$(printf '"sim:6GiB,costs=%s/odd\\uFFFD.trace"' "$tmp")"
fi

# Output that cannot be written.
expect 2 replay --placements "$tmp/none/p" "$trace"
stderr_has "none/p: cannot be written: No such file or directory"
if [ -w /dev/full ]; then
    expect 2 replay --placements /dev/full "$trace"
    stderr_has "$trace: placements cannot be written: No space left on device"
    expect 2 replay --stats /dev/full "$trace"
    stderr_has 'cannot be written: No space left on device'
    last='replay --json TRACE >/dev/full'
    "$larder" replay --json "$trace" >/dev/full 2>"$tmp/err"
    is status $? 2
    stderr_has 'standard output cannot be written: No space left on device'
fi

finish
