#!/bin/sh
# `larder convert` keeps values under keys that Larder does not know.
# $1: the command.
. tests/cli/harness

last=convert
python3 tests/snapshot/snapshot_rest.py "$larder" "$tmp" >"$tmp/out" 2>&1 ||
    say_failed "$(tail -5 "$tmp/out")"
finish
