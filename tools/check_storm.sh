#!/bin/sh
# check_storm.sh SOURCE - tests/storm calls every public function, but for those
# in tests/storm/left_out.txt, each of which has its reason there.  Prints the
# functions that are in neither, or in both; exits with 1 if there are any.
set -u
cd "$1" || exit 2

storm=tests/storm
names=$(mktemp)
trap 'rm -rf "$names"*' EXIT

# An initialiser is called through its macro.
tools/list_api.sh include >"$names"
grep -oh '\blarder_[a-z0-9_]*(' "$storm"/*.c |
    sed 's/($//; s/_init$/_init_sized/' | LC_ALL=C sort -u >"$names.called"
sed -n 's/: ..*//p' "$storm/left_out.txt" | LC_ALL=C sort >"$names.left"
said=$(
    LC_ALL=C sort -u "$names.called" "$names.left" |
        LC_ALL=C comm -23 "$names" - |
        sed "s|^|$storm: there is no call of |"
    LC_ALL=C comm -12 "$names.called" "$names.left" |
        sed "s|^|$storm/left_out.txt: this is called: |"
)
if [ -n "$said" ]; then
    echo "$said"
    exit 1
fi
