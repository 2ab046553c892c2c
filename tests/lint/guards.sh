#!/bin/sh
# guards.sh SOURCE BUILD - the guard of each header is its path, and the check
# detects one that is not.
source=$1
check="$source/tools/check_guards.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

plant
mv "$planted_copy/src/core/heap/bins.h" "$planted_copy/src/core/block/bins.h"
must_find 'src/core/block/bins.h: the guard is "LARDER_CORE_HEAP_BINS_H"' \
    "$check" "$planted_copy"

plant
sed -i '/#ifndef/d' "$planted_copy/include/larder/sim.h"
must_find 'include/larder/sim.h: the guard is "", expected LARDER_SIM_H' \
    "$check" "$planted_copy"
