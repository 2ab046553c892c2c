#!/bin/sh
# docs.sh SOURCE BUILD - the manual pages cover every public function and are
# well formed (if mandoc is installed), and the check detects an error.
source=$1
check="$source/tools/check_docs.sh"

[ -f "$source/man/liblarder.3" ] || exit 77
"$check" "$source/include" "$source/man" || exit 1
"$check" "$source/lab/include" "$source/man" lab_ || exit 1
for part in torch preload functions; do
    "$check" "$source/adapters/$part/include" "$source/man" || exit 1
done
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$source"/man/*.[1-9] || exit 1
fi

. "$source/tests/lint/lib/planted.sh"

plant
echo 'LARDER_API int larder_planted(void);' >>"$planted_copy/include/larder/sim.h"
must_find 'larder_planted: not in any page' "$check" "$planted_copy/include" \
    "$planted_copy/man"
