#!/bin/sh
# headers.sh SOURCE BUILD - the public headers compile without warnings in every
# language version they promise, and the check detects an error.
source=$1
check="$source/tools/check_headers.sh"

"$check" "$source/include" || exit 1
for part in lab adapters/torch adapters/preload adapters/functions; do
    "$check" "$source/$part/include" "$source/include" || exit 1
done

. "$source/tests/lint/lib/planted.sh"

plant
echo 'static inline int planted(void) { return thread_local_thing; }' \
    >>"$planted_copy/include/larder/sim.h"
must_find 'larder/sim.h does not compile as c99' "$check" \
    "$planted_copy/include"

plant
echo 'struct planted { union { int a; long b; }; };' \
    >>"$planted_copy/include/larder/device.h"
must_find 'larder/device.h does not compile as c99' "$check" \
    "$planted_copy/include"

if command -v "${CXX:-c++}" >/dev/null; then
    plant
    echo 'void planted(void *class);' >>"$planted_copy/include/larder/device.h"
    must_find 'larder/device.h does not compile as c++11' "$check" \
        "$planted_copy/include"
fi
