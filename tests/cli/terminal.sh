#!/bin/sh
# Colour, the bar and the width of the table on a terminal.  $1: the command.
. tests/cli/harness

# Some containers cannot create terminals.
script -qec true /dev/null >/dev/null 2>&1 </dev/null || exit 77
escape=$(printf '\033')

# on_terminal COMMAND [COLUMNS]: run it in a terminal and keep its output.
on_terminal() {
    last=$1
    script -qec "stty cols ${2-80}; $1" "$tmp/typescript" >"$tmp/out" 2>&1 \
        </dev/null
    is status $? 0
}

shows() {
    grep -q "$1" "$tmp/out" || say_failed "does not show '$1'"
}

shows_no() {
    if grep -q "$1" "$tmp/out"; then
        say_failed "shows '$1'"
    fi
}

TERM=xterm
SHELL=/bin/sh
export TERM SHELL
unset NO_COLOR

on_terminal "$larder replay $trace"
shows "$escape\[1m"
on_terminal "NO_COLOR=1 $larder replay $trace"
shows 'requested'
shows_no "$escape\[1m"
on_terminal "NO_COLOR= $larder replay $trace"
shows "$escape\[1m"
on_terminal "TERM=dumb $larder replay $trace"
shows 'requested'
shows_no "$escape"

# A setting that is too long for the line keeps its front.
awk 'BEGIN { for (i = 0; i < 8; i++)
    printf "a %d %d\nf %d\na %d %d\n", 2 * i, 530 * 1048576, 2 * i,
        2 * i + 1, 270 * 1048576 }' >"$tmp/load.trace"
on_terminal "$larder tune --no-cache $tmp/load.trace" 60
shows '^max_split_size_mb:[0-9a-z_,]*\.\.\. '
shows_no '^\.\.\.'

# As many passes as run in about a second here.
expect 0 replay --json --repeat 3 data/traces/mlp_sgd.trace.zst
ns=$(field ns_per_op)
pass_ns=$((${ns%%.*} * $(field ops) + 1))
long="$larder replay --repeat $((1000000000 / pass_ns + 1))"
long="$long data/traces/mlp_sgd.trace.zst"
on_terminal "$long"
shows 'replaying \[=* *\]  *[0-9]*%'
shows "$escape\[K"
# A narrow terminal gets a shorter bar, or none.
on_terminal "$long" 25
shows 'replaying \[=* *\]  *[0-9]*%'
is 'widest bar' "$(tr '\r' '\n' <"$tmp/out" | grep '^replaying' |
    awk '{ if (length($0) > n) n = length($0) } END { print n }')" 24
on_terminal "$long" 10
shows_no 'replaying'
shows '[0-9]%'

# When interrupted, it erases the bar and dies of the signal.
endless="$larder replay --repeat 1000000 data/traces/mlp_sgd.trace.zst"
on_terminal "timeout --foreground -s INT 1 $endless; exit 0"
shows 'replaying'
is 'the end' "$(tail -c 4 "$tmp/out")" "$(printf '\r')${escape}[K"
on_terminal "timeout --foreground --preserve-status -s INT 1 $endless
    test \$? -eq 130"

on_terminal "$long --no-progress"
shows_no 'replaying'
on_terminal "TERM=dumb $long"
shows_no 'replaying'
on_terminal "$larder replay $trace"
shows_no 'replaying'

# A name that is too long for the table is shortened at its start; in a pipe it
# is complete.
folder=$tmp/a/folder/with/a/very/long/name/indeed/and/a/long/way/down
mkdir -p "$folder"
cp "$trace" "$folder/e1.trace.zst"
on_terminal "$larder replay $folder/e1.trace.zst"
shows '^\.\.\..*/e1 '
is 'widest line' "$(grep '^\.\.\.' "$tmp/out" | tr -d '\r' |
    awk '{ print length($0) }')" 80
expect 0 replay "$folder/e1.trace.zst"
stdout_has "^$folder/e1 "

finish
