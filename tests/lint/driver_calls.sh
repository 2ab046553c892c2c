#!/bin/sh
# driver_calls.sh SOURCE BUILD - each call of the driver that the toolkit's headers
# declare is hooked or known to be harmless, and the check detects one that is
# not, a wrong release, and a parameter too few.
source=$1
check="$source/tools/check_driver_calls.py"

"$check" "$source" || exit $?

. "$source/tests/lint/lib/planted.sh"

plant
sed -i '/PRELOAD_WORK_A(X, cuGraphLaunch,/,/(graph, stream))/d' \
    "$planted_copy/adapters/preload/work_calls.h"
must_find 'cuGraphLaunch: neither hooked nor in harmless.c' \
    "$check" "$planted_copy"

plant
sed -i 's/"cuStreamQuery", //' "$planted_copy/adapters/preload/harmless.c"
must_find 'cuStreamQuery: neither hooked nor in harmless.c' \
    "$check" "$planted_copy"

plant
sed -i 's/"cuInit", /&"cuMemcpy", /' "$planted_copy/adapters/preload/harmless.c"
must_find 'cuMemcpy: hooked, and in harmless.c' "$check" "$planted_copy"

plant
sed -i 's/cuMulticastBindAddr, "cuMulticastBindAddr", 12010/cuMulticastBindAddr, "cuMulticastBindAddr", 12020/' \
    "$planted_copy/adapters/preload/share_calls.h"
must_find 'has no variant of release 12020' "$check" "$planted_copy"

plant
sed -i 's/(void \*, cud_stream), (void \*graph, cud_stream stream)/(void *), (void *graph, cud_stream stream)/' \
    "$planted_copy/adapters/preload/work_calls.h"
must_find 'cuGraphLaunch: hooked with 1 parameters, has 2' \
    "$check" "$planted_copy"
