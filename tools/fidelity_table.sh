#!/bin/sh
# fidelity_table.sh BUILD [--write] - the table of releases in docs/FIDELITY.md
# matches the table of rules and the recordings.  --write updates it.
set -u
page=docs/FIDELITY.md
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

"$1/tests/golden/test_versions" --table >"$work/table" || exit 1
awk -v table="$work/table" '
    /^<!-- end of the table -->/ { inside = 0 }
    !inside { print }
    /^<!-- made by/ {
        inside = 1
        while ((getline line <table) > 0)
            print line
    }' $page >"$work/page"
if [ "${2:-}" = --write ]; then
    cp "$work/page" $page
elif ! cmp -s "$work/page" $page; then
    echo "$page: its table is out of date; tools/fidelity_table.sh $1 --write"
    exit 1
fi
