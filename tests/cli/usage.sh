#!/bin/sh
# Commands, help and errors on the command line.
# $1: the command.
. tests/cli/harness

expect 0 version
stdout_has '^larder [0-9]*\.[0-9]*\.[0-9]*$'
expect 0 --version
stdout_has '^larder [0-9]'
expect 0 -V
stdout_has '^larder [0-9]'

expect 0 help
stdout_has '^  replay '
stdout_has '^  lab '
expect 0 --help
stdout_has '^  replay '
expect 0 help replay
stdout_has 'Usage: larder replay \[OPTION...\] TRACE...'
stdout_has '^  --min-capacity '
expect 0 replay --help
stdout_has '^  --min-capacity '
expect 0 help version
stdout_has 'Usage: larder version'

expect 2
stderr_has 'Usage: larder COMMAND'
expect 2 reply
stderr_has "unknown command 'reply'; did you mean 'replay'?"
expect 2 qwertyuiop
stderr_has "unknown command 'qwertyuiop'$"
expect 2 --verison
stderr_has "unknown option '--verison'"
expect 2 help reply
stderr_has "unknown command 'reply'"
expect 2 version please
stderr_has "larder version: unexpected 'please'"

# What is no option before the script is an error, not Python's.
expect 2 run
stderr_has '^larder run: no program; expected PROGRAM'
expect 2 run --gup rtx4090 train.py
stderr_has "^larder run: unknown option '--gup'; did you mean '--gpu'?"
expect 2 run --gpu
stderr_has "'--gpu' needs a value: --gpu NAME"
expect 0 run --json --help
stdout_has 'Usage: larder run'

expect 2 replay
stderr_has 'larder replay: no input; expected a TRACE'
expect 2 replay --repat 3 "$trace"
stderr_has "unknown option '--repat'; did you mean '--repeat'?"
expect 2 replay --jsno "$trace"
stderr_has "unknown option '--jsno'; did you mean '--json'?"
expect 2 replay -x "$trace"
stderr_has "unknown option '-x'"
expect 2 replay "$trace" --repeat
stderr_has "'--repeat' needs a value: --repeat N"
expect 2 replay --json=yes "$trace"
stderr_has "'--json' takes no value, but 'yes' was given"
expect 2 replay --repeat two "$trace"
stderr_has "repeat 'two' is not a number from 0 to 1000000"
expect 2 replay --repeat 1000001 "$trace"
stderr_has "repeat '1000001' is not a number from 0 to 1000000"
expect 2 replay --hints 0 "$trace"
stderr_has "hints '0' is not a number from 1 to"
expect 2 replay --repeat= "$trace"
stderr_has "repeat '' is not a number"
expect 2 replay --jobs 0 "$trace"
stderr_has "jobs '0' is not a number from 1 to 1024"
expect 2 replay --stats-every 0 --stats x "$trace"
stderr_has "stats-every '0' is not a number from 1 to"
expect 2 replay --stats-every 3 "$trace"
stderr_has 'stats-every needs --stats FILE'
expect 2 replay --json --summary "$trace"
stderr_has 'summary cannot be used with --json'
expect 2 replay --placements "$tmp/p" "$trace" "$trace"
stderr_has 'take one input, but 2 were given'
expect 2 replay --placements "$tmp/p" --stats "$tmp/p" "$trace"
stderr_has 'name the same file'
ln -s p "$tmp/link"
: >"$tmp/p"
expect 2 replay --placements "$tmp/p" --stats "$tmp/link" "$trace"
stderr_has 'name the same file'
expect 2 replay - "$trace" -
stderr_has "'-' is given 2 times, but the standard input can be read only once"
expect 2 diff - -
stderr_has "larder diff: '-' is given 2 times"
expect 2 view -o "$tmp/page.html" - -
stderr_has "larder view: '-' is given 2 times"

# An input file is not overwritten, whatever its name.
printf 'a 0 512\n' >"$tmp/mine.trace"
ln -s mine.trace "$tmp/also"
expect 2 replay --placements "$tmp/mine.trace" "$tmp/mine.trace"
stderr_has "mine.trace' is an input and cannot be written"
expect 2 replay --stats "$tmp/also" "$tmp/mine.trace"
stderr_has "also' is an input and cannot be written"
expect 2 replay --placements "$tmp/both.json" --snapshot "$tmp/both.json" "$trace"
stderr_has '^larder replay: --placements and --snapshot name the same file'
is 'the trace' "$(cat "$tmp/mine.trace")" 'a 0 512'

expect 2 replay --policy best "$trace"
stderr_has 'best'
expect 2 replay --conf colour:red "$trace"
stderr_has 'colour'
expect 2 replay --device sim:lots "$trace"
stderr_has "^larder replay: device 'sim:lots.*': 'lots' is not a capacity"
if grep -q "device.*device '" "$tmp/err"; then
    say_failed 'names the device twice'
fi
expect 2 replay --min-capacity --device sim:1GiB,shared=x "$trace"
stderr_has 'needs a device of its own'

# Options may follow arguments and use an equals sign; none are recognized after
# --.
expect 0 replay "$trace" --json --repeat=0
stdout_has '"ns_per_op":null'
expect 2 replay -- --json
stderr_has '^larder replay: --json: cannot be opened'

finish
