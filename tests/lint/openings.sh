#!/bin/sh
# openings.sh SOURCE BUILD - each C file says first what it is, and the check
# detects one that does not.
source=$1
check="$source/tools/check_openings.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

plant
sed -i 1d "$planted_copy/src/snapshot/units.c"
must_find 'src/snapshot/units.c: begins with' "$check" "$planted_copy"

plant
mv "$planted_copy/src/core/heap/bins.c" "$planted_copy/src/core/heap/shelves.c"
must_find 'expected "/* shelves.c - " and what it is' "$check" "$planted_copy"

plant
sed -i '1s/ - .*/ - /' "$planted_copy/lab/ops/join.c"
must_find 'lab/ops/join.c: begins with' "$check" "$planted_copy"
