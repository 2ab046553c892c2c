#!/bin/sh
# What `larder report`, `diff` and `view` print and write.  $1: the command.
. tests/cli/harness

# An allocation of 4 MiB, one of 3 MiB beside it, and a failure, in readable
# JSON.
frames='"frames": [{"filename": "/home/me/model.py", "line": 7, "name": "forward"}]'
event() { # ACTION ADDRESS BYTES
    echo "{\"action\": \"$1\", \"addr\": $2, \"size\": $3, \"stream\": 0, $frames}"
}
cat >"$tmp/run.json" <<END
{"segments": [{"device": 0, "address": 0, "total_size": 20971520,
  "allocated_size": 4194304, "active_size": 4194304, "stream": 0,
  "segment_type": "large", "blocks": [
   {"size": 4194304, "state": "active_allocated", "address": 0,
    "requested_size": 4194304},
   {"size": 16777216, "state": "inactive", "address": 4194304}]}],
 "device_traces": [[
  $(event segment_alloc 0 20971520),
  $(event alloc 0 4194304),
  $(event alloc 4194304 3145728),
  {"action": "oom", "device_free": 1048576, "size": 67108864, "stream": 0,
   $frames},
  $(event free_requested 4194304 3145728),
  $(event free_completed 4194304 3145728)]]}
END

expect 0 report --json "$tmp/run.json"
is lines "$(wc -l <"$tmp/out")" 1
is peak_allocated_bytes "$(field peak_allocated_bytes)" 7340032
is peak_reserved_bytes "$(field peak_reserved_bytes)" 20971520
is events "$(field events)" 6
is segments "$(field segments)" 1
is oom_events "$(field oom_events)" 1
stdout_has '"top":\[{"bytes":7340032,"requested_bytes":7340032,"count":2,"frame":"/home/me/model.py:7 forward"}\]'

expect 0 report "$tmp/run.json"
stdout_has 'peak     allocated 7.00 MiB, requested 7.00 MiB, reserved 20.0 MiB'
stdout_has '100 %       2  model.py:7 forward'
stdout_has 'Out of memory, event 3'
stdout_has '64.0 MiB was requested on stream 0.  The driver had 1.00 MiB left.'
stdout_has 'Requested by model.py:7 forward.'
stdout_has 'Why: not enough memory.'
expect 0 report --paths --top 1 "$tmp/run.json"
stdout_has '/home/me/model.py:7 forward'

# The verdict comes first: what happened, who holds it, what to do.
expect 0 report "$tmp/run.json"
is 'the first lines' "$(sed -n '2p;4p;5p' "$tmp/out" | cut -c 1-15)" \
    'What happened  
Who holds it   
What to do     '
stdout_has 'It ran out of memory on a request for 64.0 MiB by model.py:7 forward:'
stdout_has 'Reduce the memory in use at that moment by 50.0 MiB; no setting does'
expect 0 report --json "$tmp/run.json"
stdout_has '"verdict":{"what":"It ran out of memory on a request for 64.0 MiB'
stdout_has '"has_history":true'
stdout_has '"categories_recorded_bytes":0[,}]'
sed 's/"action": *"alloc",/&"user_metadata":"weights",/' "$tmp/run.json" \
    >"$tmp/told.json"
expect 0 report --json "$tmp/told.json"
is 'what was recorded' "$(field categories_recorded_bytes)" \
    "$(field peak_allocated_bytes)"

# By module, library or function, or as a tree.
expect 0 report --by module "$tmp/run.json"
stdout_has '^By module$'
stdout_has '100 %       2  me/model.py$'
expect 0 report --by library --tree "$tmp/run.json"
stdout_has '100 %       2  the program itself$'
stdout_has '^    7.00 MiB  100 %  model.py:7 forward$'
expect 0 report --json --by function "$tmp/run.json"
stdout_has '"by":\[{"bytes":7340032,"requested_bytes":7340032,"count":2,"function":"/home/me/model.py forward"}\]'
expect 2 report --by file "$tmp/run.json"
stderr_has "'file' is not accepted: expected line, function, module or library"

# A setting that works is suggested: fragments of 260 MiB, and 530 requested.
awk 'BEGIN { for (i = 0; i < 8; i++)
    printf "a %d %d\nf %d\na %d %d\n", 2 * i, 530 * 1048576, 2 * i,
        2 * i + 1, 270 * 1048576 }' >"$tmp/load.trace"
expect 0 replay --repeat 0 --policy pytorch --device sim:3GiB \
    --snapshot-on-oom "$tmp/load.json" "$tmp/load.trace"
expect 0 report "$tmp/load.json"
stdout_has "^What to do     Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21.  Replayed this way,"
stdout_has '  It makes [0-9]* driver calls$'
stdout_has '^ *(now [0-9]*) and reserves .* GiB on a large card (now .* GiB)\.$'
if grep -q ' fits ' "$tmp/out"; then
    say_failed 'a recording that ends at a failure fits'
fi

# Without a history the report says so first, and how to record one.
cat >"$tmp/state.json" <<END
{"segments": [{"device": 0, "address": 0, "total_size": 20971520,
  "stream": 0, "segment_type": "large", "blocks": [
   {"size": 20971520, "state": "active_allocated", "address": 0,
    "requested_size": 20971520, $frames}]}],
 "device_traces": [[{"action": "snapshot", "addr": 0, "size": 0, "stream": 0}]]}
END
expect 0 report "$tmp/state.json"
stdout_has '^What happened  No history was recorded'
stdout_has '^Who holds it   model.py:7 forward 20.0 MiB (100 %)'
stdout_has '_record_memory_history(max_entries=1000000)'
if grep -q 'Over the run' "$tmp/out"; then
    say_failed 'a run that was not recorded is drawn'
fi

# The device that failed comes first, whatever its number; the others follow in
# short or in full.
sed "s/\"device_traces\": \[\[/\"device_traces\": [[$(event alloc 0 4096 |
    sed 's|/|\\/|g')],[/; s/\"device\": 0/\"device\": 1/" "$tmp/run.json" \
    >"$tmp/second.json"
expect 0 report "$tmp/second.json"
is 'the first device' "$(grep -o 'device [01]$' "$tmp/out" | head -n 1)" \
    'device 1'
is 'whole devices' "$(grep -c '^Alive at the peak' "$tmp/out")" 1
expect 0 report --all "$tmp/second.json"
is 'whole devices' "$(grep -c '^Alive at the peak' "$tmp/out")" 2

# Terminal escapes and HTML in the input are shown as text.
sed 's/model.py/\\u001b[2J<\\\/script>.py/' "$tmp/run.json" >"$tmp/evil.json"
expect 0 report --paths "$tmp/evil.json"
stdout_has '?\[2J<'
if grep -q "$(printf '\033')" "$tmp/out"; then
    say_failed 'an escape sequence was printed'
fi
# Except for line ends and tabs, which statements of the lab contain.
sed 's/"forward"/"for i in x:\\n\\t\\u0007 y"/' "$tmp/run.json" >"$tmp/blank.json"
expect 0 report "$tmp/blank.json"
stdout_has 'model.py:7 for i in x:  ? y'

expect 0 view "$tmp/evil.json" -o "$tmp/evil.html"
is 'ends of scripts' "$(grep -c '</script>' "$tmp/evil.html")" \
    "$(grep -c '</script>' src/view/page/page.html)"

# More devices than supported.
expect 2 report tests/fuzz/corpus/report/many_devices.json
stderr_has 'more than 256 devices have events or segments'
expect 2 view tests/fuzz/corpus/report/many_devices.json -o "$tmp/many.html"

# Two devices, one of which holds much more; iterations marked by the program,
# the second with a higher peak.
step() { # TIME
    echo "{\"stage\": \"START\", \"name\": \"step\", \"device\": 0, \"time_us\": $1}"
}
timed() { # ACTION ADDRESS BYTES TIME
    event "$1" "$2" "$3" | sed "s/}\$/, \"time_us\": $4}/"
}
cat >"$tmp/two.json" <<END
{"segments": [], "device_traces": [[
  $(timed alloc 0 4194304 10), $(timed free_requested 0 4194304 11),
  $(timed alloc 0 8388608 20), $(timed free_requested 0 8388608 21),
  $(timed alloc 0 4194304 30), $(timed free_requested 0 4194304 31)],
 [$(timed alloc 0 67108864 10)]],
 "external_annotations": [$(step 10), $(step 20), $(step 30)]}
END
expect 0 report "$tmp/two.json"
stdout_has 'repeats  3 marked iterations of about 2 events'
stdout_has '^      1  from event  *2  *8.00 MiB$'
stdout_has 'Device 1 held up to 64.0 MiB, and no other more than 8.00 MiB'
expect 0 report --json "$tmp/two.json"
is 'the highest peak' "$(field peak_allocated_bytes)" 67108864
is 'events of all devices' "$(field events)" 7
stdout_has '"iteration_peaks":\[{"begin_event":0,"peak_allocated_bytes":4194304},{"begin_event":2,"peak_allocated_bytes":8388608}'

# If the ring was too small, the number of lost events is reported.
printf 'a 0 1000000\nf 0\na 1 1000000\nf 1\na 2 5000000\n' >"$tmp/ring.trace"
expect 0 replay --history 4 --snapshot "$tmp/ring.pickle" "$tmp/ring.trace"
expect 0 report "$tmp/ring.pickle"
stdout_has 'lost     [1-9][0-9]* earlier events: the history was full'
expect 0 report --json "$tmp/ring.pickle"
case $(field lost_events) in
[1-9]*) ;;
*) say_failed "lost_events is '$(field lost_events)'" ;;
esac

# The same run twice, and one with another peak.
expect 0 diff "$tmp/run.json" "$tmp/run.json"
sed 's/3145728/2097152/' "$tmp/run.json" >"$tmp/other.json"
expect 1 diff "$tmp/run.json" "$tmp/other.json"
stdout_has 'peak allocated  *7.00 MiB  *6.00 MiB  -14.3 %'
expect 1 diff --json "$tmp/run.json" "$tmp/other.json"
stdout_has '"peak_allocated_bytes":\[7340032,6291456\]'

# Without call stacks, the program's annotations are used instead: in the lists,
# the page's data and the explanation of a failure.  The same text in every
# iteration is no pattern, and parentheses are no parameters.
noted() { # ACTION ADDRESS BYTES TEXT
    echo "{\"action\": \"$1\", \"addr\": $2, \"size\": $3, \"stream\": 0,
        \"frames\": [], \"user_metadata\": \"$4\"}"
}
cat >"$tmp/noted.json" <<END
{"segments": [], "device_traces": [[
  $(noted segment_alloc 0 20971520 'a = zeros(2, 3)'),
  $(noted alloc 0 4194304 'a = zeros(2, 3)'),
  $(noted alloc 4194304 2097152 'b = a.forward()'),
  $(noted oom 0 67108864 'c = a @ b')]]}
END
expect 0 report "$tmp/noted.json"
stdout_has '67 %       1  a = zeros(2, 3)$'
stdout_has '33 %       1  b = a.forward()$'
stdout_has 'Requested at the mark "c = a @ b".$'
stdout_has '100 %       2  long-lived'
stdout_has 'in 1 segment: 6.00 MiB in use, 14.0 MiB free in 1 block\.'
expect 0 report --json "$tmp/noted.json"
stdout_has '"frame":"a = zeros(2, 3)"'
expect 0 view "$tmp/noted.json" -o "$tmp/noted.html"
grep -q '"note": *\["u32"' "$tmp/noted.html" ||
    say_failed 'the page has no notes'
# If there are call stacks, they are used.
sed "1,/\"frames\": \[\]/s|\"frames\": \[\]|$frames|" "$tmp/noted.json" \
    >"$tmp/both.json"
expect 0 report "$tmp/both.json"
stdout_has '100 %       2  no call path'

# No memory was ever held: one device, few lines.
echo '{"segments": [], "device_traces": [[]]}' >"$tmp/nothing.json"
expect 0 report "$tmp/nothing.json"
stdout_has '^What to do     Record one:'
is 'headings about nothing' "$(grep -c '^[A-Z][a-z ]*$' "$tmp/out")" 0

# A name too long for the rest of a line starts on the next one.
long=$(printf '_long%.0s' 1 2 3 4 5 6 7 8 9 10)
sed "s|/home/me/|/home/me/$long|" "$tmp/run.json" >"$tmp/long.json"
expect 0 report "$tmp/long.json"
stdout_has "^    The largest is 3.00 MiB from\$"
stdout_has "^    ${long}model.py:7 forward, freed after 2\$"

# A self-contained page, without access to the network.
expect 0 view "$tmp/run.json" -o "$tmp/page.html"
grep -q 'id="larder-data">[A-Za-z0-9+/]' "$tmp/page.html" ||
    say_failed 'the page has no data'
if grep -Eq '(src|href)="|@import|url\(|fetch\(|XMLHttpRequest' "$tmp/page.html"; then
    say_failed 'the page wants something from elsewhere'
fi
expect 0 view "$tmp/run.json" "$tmp/other.json" --output "$tmp/both.html" \
    --title 'Now & <then>'
grep -q '<title>Now &amp; &lt;then></title>' "$tmp/both.html" ||
    say_failed 'the title is not what it should be'

# An existing page remains if a new one cannot be made.
echo kept >"$tmp/kept.html"
printf '{"segments": 5}' >"$tmp/bad.json"
expect 2 view "$tmp/bad.json" -o "$tmp/kept.html"
is kept "$(cat "$tmp/kept.html")" kept
expect 2 view -o "$tmp/x.html"
stderr_has 'no input; expected a SNAPSHOT'
expect 2 view "$tmp/run.json" -o "$tmp/no/such/folder.html"
stderr_has 'cannot be written'
# A pipe is written to, not replaced by a file.  The pipe has a reader from the
# start, and the page is larger than its buffer: cat has opened it before that
# reader exits.
mkfifo "$tmp/pipe"
exec 3<>"$tmp/pipe"
cat "$tmp/pipe" >"$tmp/piped.html" 3<&- &
expect 0 view "$tmp/run.json" -o "$tmp/pipe"
exec 3<&-
[ -p "$tmp/pipe" ] || say_failed 'the pipe was replaced'
[ -p "$tmp/pipe" ] && wait
grep -q 'id="larder-data"' "$tmp/piped.html" ||
    say_failed 'nothing came through the pipe'
kill $! 2>/dev/null
expect 2 report
stderr_has '0 of 1 inputs given; expected SNAPSHOT'
expect 2 report --top 0 "$tmp/run.json"
expect 2 diff "$tmp/run.json"
expect 2 report "$tmp/absent.pickle"
stderr_has 'absent.pickle'
finish
