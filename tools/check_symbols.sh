#!/bin/sh
# check_symbols.sh INCLUDE MAP SHARED STATIC [PREFIX] - there is one list of
# public functions.
#
# What the headers declare, what the version script names and what the shared
# library exports must be the same, and every symbol that the static library
# adds to a program must begin with PREFIX (default: larder_).  Prints each
# difference; exits with 1 if there are any.
set -u
prefix=${5:-larder_}
tools=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Print the names between `global:` and `local:` of each version.
map_names() {
    sed 's,/\*.*\*/,,' "$1" | awk '
    /global:/ { on = 1; sub(/.*global:/, "") }
    /local:/ { on = 0 }
    on' | grep -o '[A-Za-z_][A-Za-z0-9_]*' | LC_ALL=C sort
}

# nm's symbol type A marks the name of a version.
exported_names() {
    nm -D --defined-only --format=posix "$1" |
        awk '$2 != "A" { sub("@.*", "", $1); print $1 }' | LC_ALL=C sort
}

static_names() {
    nm -g --defined-only --format=posix "$1" 2>/dev/null |
        awk 'NF > 1 { print $1 }' | LC_ALL=C sort -u
}

# only_in A WHAT_A B WHAT_B: print names in file A that are missing from file B.
only_in() {
    LC_ALL=C comm -23 "$work/$1" "$work/$3" |
        sed "s/\$/: $2, but not $4/"
}

"$tools/list_api.sh" "$1" "$prefix" >"$work/api"
map_names "$2" >"$work/map"
exported_names "$3" >"$work/exported"
static_names "$4" >"$work/static"
for list in api map exported static; do
    if [ ! -s "$work/$list" ]; then
        echo "no names at all in the list '$list'"
        exit 1
    fi
done

{
    only_in api 'declared in a header' map 'in the version script'
    only_in map 'in the version script' api 'declared in a header'
    only_in api 'declared in a header' exported 'exported'
    only_in exported 'exported' api 'declared in a header'
    only_in map 'in the version script' exported 'exported'
    only_in exported 'exported' map 'in the version script'
    grep -v "^$prefix" "$work/static" |
        sed "s/\$/: a global name of the static library without $prefix/"
} >"$work/differences"
cat "$work/differences"
[ ! -s "$work/differences" ]
