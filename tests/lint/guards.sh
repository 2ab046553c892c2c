#!/bin/sh
# guards.sh SOURCE BUILD - headers are protected from being read twice, and the
# check detects one that is not.
source=$1
check="$source/tools/check_guards.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

plant
sed -i '/^#pragma once/d' "$planted_copy/src/core/heap/bins.h"
must_find 'src/core/heap/bins.h: begins with "#include "base/bits.h"", expected "#pragma once"' \
    "$check" "$planted_copy"

plant
sed -i '/#ifndef/d' "$planted_copy/include/larder/sim.h"
must_find 'include/larder/sim.h: begins with "#define LARDER_SIM_H", expected "#ifndef LARDER_SIM_H"' \
    "$check" "$planted_copy"
