#!/bin/sh
# readme.sh SOURCE BUILD - the program in docs/LIBRARY.md is examples/hello.c, which
# is compiled and run as a test, and README's steps are in order; and the check
# detects a difference.  tests/python/test_readme.py runs the commands.
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -f "$source/README.md" ] || exit 77

# same DOCUMENT PROGRAM: compare the first block of C with the program without its
# first comment line.
same() {
    awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' "$1" \
        >"$work/shown.c"
    sed 1d "$2" >"$work/program.c"
    diff "$work/shown.c" "$work/program.c"
}

hello="$source/examples/hello.c"
same "$source/docs/LIBRARY.md" "$hello" || exit 1

sed 's/larder_free(a, p);/larder_free(a);/' "$hello" >"$work/changed.c"
if same "$source/docs/LIBRARY.md" "$work/changed.c" >"$work/difference"; then
    echo 'planted: a change of the program was not found'
    exit 1
fi

# comes_after README COMMAND STEP: the lines that run the command come after the
# step that makes it work.
comes_after() {
    awk -v command="$2" -v step="$3" '
        index($0, step) { made = 1 }
        index($0, command) && !made { print FILENAME ":" FNR ": " $0; bad = 1 }
        END { exit bad }' "$1"
}

all_come_after() {
    comes_after "$1" 'python3 -m larder' 'pip install .' &&
        comes_after "$1" 'larder report' 'pip install .' &&
        comes_after "$1" 'larder run' 'Needs: a PyTorch'
}

all_come_after "$source/README.md" || exit 1
{ echo 'python3 -m larder.torch train.py' && cat "$source/README.md"; } \
    >"$work/early.md"
if all_come_after "$work/early.md" >"$work/difference"; then
    echo 'planted: a command before its step was not found'
    exit 1
fi
