#!/bin/sh
# settings.sh SOURCE BUILD - every setting is in larder-conf(5), and the check
# detects a missing one.
source=$1
check="$source/tools/check_settings.sh"

[ -f "$source/man/larder-conf.5" ] || exit 77
"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

plant
sed -i 's/{"trim_age", /{"trim_rage", /' \
    "$planted_copy/src/core/settings/conf_larder.c"
must_find 'there is no setting trim_rage' "$check" "$planted_copy"
