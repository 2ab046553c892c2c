#!/bin/sh
# check_storm.sh SOURCE - tests/storm calls every public function, but for those
# in tests/storm/left_out.txt, each of which has its reason there.  Prints the
# functions that are in neither, or in both; exits with 1 if there are any.
set -u
cd "$1" || exit 2

storm=tests/storm
said=$(
    tools/list_api.sh include | while read -r name; do
        # An initialiser is called through its macro.
        called="\\b${name%_sized}("
        reason=$(grep "^$name: ." "$storm/left_out.txt")
        if cat "$storm"/*.c | grep -q "$called"; then
            [ -z "$reason" ] || echo "$storm/left_out.txt: $name is called"
        elif [ -z "$reason" ]; then
            echo "$storm: there is no call of $name"
        fi
    done
)
if [ -n "$said" ]; then
    echo "$said"
    exit 1
fi
