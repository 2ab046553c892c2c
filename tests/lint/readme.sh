#!/bin/sh
# readme.sh SOURCE BUILD - the program in README.md is examples/hello.c, which
# is compiled and run as a test; and the check detects a difference.
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -f "$source/README.md" ] || exit 77

# same README PROGRAM: compare the first block of C with the program without its
# first comment line.
same() {
    awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' "$1" \
        >"$work/shown.c"
    sed 1d "$2" >"$work/program.c"
    diff "$work/shown.c" "$work/program.c"
}

hello="$source/examples/hello.c"
same "$source/README.md" "$hello" || exit 1

sed 's/larder_free(a, p);/larder_free(a);/' "$hello" >"$work/changed.c"
if same "$source/README.md" "$work/changed.c" >"$work/difference"; then
    echo 'planted: a change of the program was not found'
    exit 1
fi
