#!/bin/sh
# storm.sh SOURCE BUILD - the storm calls every public function or says why not,
# and the check detects one that is missing, and a reason without need.
source=$1
check="$source/tools/check_storm.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

plant_storm() {
    plant
    mkdir -p "$planted_copy/tests" "$planted_copy/tools"
    cp -r "$source/tests/storm" "$planted_copy/tests"
    cp "$source/tools/list_api.sh" "$planted_copy/tools"
}

plant_storm
echo 'LARDER_API int larder_of_tomorrow(void);' >>"$planted_copy/include/larder/tag.h"
must_find 'there is no call of larder_of_tomorrow' "$check" "$planted_copy"

plant_storm
echo 'larder_free: why' >>"$planted_copy/tests/storm/left_out.txt"
must_find 'this is called: larder_free' "$check" "$planted_copy"
