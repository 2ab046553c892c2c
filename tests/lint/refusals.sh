#!/bin/sh
# refusals.sh SOURCE BUILD - the calls that forks, destroyed allocators and NULL
# are tested with are all there are, and the check detects one that is missing.
source=$1
check="$source/tools/check_refusals.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

plant
mkdir -p "$planted_copy/tests/unit"
cp "$source/tests/unit/every_call.h" "$planted_copy/tests/unit"
sed -i 's/larder_trim(larder_allocator/larder_trim_all(const larder_allocator/' \
    "$planted_copy/include/larder/larder.h"
must_find 'there is no call of larder_trim_all' "$check" "$planted_copy"
