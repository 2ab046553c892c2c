#!/bin/sh
# The prompt of `larder lab` on a terminal: editing, completion, history,
# colour.  $1: the command.
. tests/cli/harness

# Some containers cannot create terminals.
script -qec true /dev/null >/dev/null 2>&1 </dev/null || exit 77
escape=$(printf '\033')
TERM=xterm
LC_ALL=C.UTF-8
XDG_STATE_HOME=$tmp/state
export TERM LC_ALL XDG_STATE_HOME
# The shell that script runs.  With the user's own shell, the test would depend
# on how that handles Ctrl-C; so the command also replaces the shell (exec).
SHELL=/bin/sh
export SHELL
unset NO_COLOR LARDER_HISTORY
# Python cannot load a library that wants a sanitizer loaded first.
! is_sanitized || exit 77

# wait_for LINE: wait until the terminal shows it, at most half a minute.
wait_for() {
    tenths=300
    until grep -q "$1" "$tmp/out" || [ $((tenths -= 1)) -eq 0 ]; do
        sleep 0.1
    done
}

# type_in KEYS [ENVIRONMENT [KEYS LINE]...]: keep the terminal's output.  Later
# keys are sent once it shows their LINE, which responds to those before.
type_in() {
    last="lab, typed: $1"
    environment=${2-}
    : >"$tmp/out"
    {
        printf %b "$1"
        shift $(($# < 2 ? $# : 2))
        while [ $# -ge 2 ]; do
            wait_for "$2"
            printf %b "$1"
            shift 2
        done
    } | timeout 60 script -qefc \
        "stty cols 100; exec env $environment $larder lab \
            --device sim:8GiB,backing=none" \
        "$tmp/typescript" >"$tmp/out" 2>&1
    is status $? 0
}

shows() {
    grep -q "$1" "$tmp/out" || say_failed "does not show '$1': $(cat "$tmp/out")"
}

shows_no() {
    if grep -q "$1" "$tmp/out"; then
        say_failed "shows '$1'"
    fi
}

type_in 'a = zeros(1024, 1024, device=cuda)\nquit\n'
shows "'help' lists commands"
shows "allocated         4.00 MiB$escape\[33m  +4.00 MiB"
shows '█\|▏'

# Tab completes a unique name, or the common prefix of several.
type_in 'alpha = 7\nalp\t * 6\ntorch.cuda.memory_all\t() + 5\nquit\n'
shows '^42'
shows '^5'

# An error shows a caret below the input, and does not change the exit status
# here.
type_in 'a = zros(3)\nquit\n'
shows '^        ^^^^'
shows "^NameError: .* Did you mean: 'zeros'?"

# A block ends with a blank line; Ctrl-D ends the prompt.
type_in 'for i in range(3):\n  b = i * 7\n\nb\n' '' '\004' '^14'
shows '^14'

# Ctrl-C discards a line and ends a loop; the session continues.
type_in 'c = 6\nc + 4200\nc = 7' '' '\003' '^4206' 'c * 7\nquit\n' \
    '^KeyboardInterrupt'
shows '^42.$'
type_in 'for a in range(1):\n  a + 4200\n  for b in range(10 ** 15): pass\n\n' \
    '' '\003' '^4200' 'quit\n' '^KeyboardInterrupt'
shows '^KeyboardInterrupt'

type_in 'a = zeros(2)\nquit\n' 'NO_COLOR=1'
shows 'allocated'
shows_no "$escape\[33m"

# Lines are saved, readable by the user only, unless that is disabled.
history=$tmp/state/larder/lab_history
grep -q 'zros' "$history" || say_failed 'keeps no history'
is rights "$(stat -c %a "$history" "$tmp/state/larder" | tr '\n' ' ')" \
    '600 700 '
rm "$history"
type_in 'a = 1\nquit\n' 'LARDER_HISTORY='
[ ! -e "$history" ] || say_failed 'keeps what it should not'
type_in 'a = 1\nquit\n' "LARDER_HISTORY=$tmp/mine"
grep -q 'a' "$tmp/mine" || say_failed 'does not keep the history where told'

# Without a terminal that supports editing: line by line.
type_in 'a = 5\na * 5\nquit\n' 'TERM=dumb'
shows '^25'
shows_no "$escape"

finish
