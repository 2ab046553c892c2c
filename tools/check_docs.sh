#!/bin/sh
# check_docs.sh INCLUDE MAN [PREFIX] - every public function is documented in a
# manual page.  Prints the functions that are not; exits with 1 if there are
# any.
set -u
tools=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prefix=${3:-larder_}
"$tools/list_api.sh" "$1" "$prefix" >"$work/api"
cat "$2"/*.3 | grep -o "${prefix}[a-z0-9_]*" | LC_ALL=C sort -u >"$work/pages"
LC_ALL=C comm -23 "$work/api" "$work/pages" >"$work/missing"
sed 's/$/: not in any page of section 3/' "$work/missing"
[ -s "$work/api" ] && [ ! -s "$work/missing" ]
