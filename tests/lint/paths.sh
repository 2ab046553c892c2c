#!/bin/sh
# paths.sh SOURCE BUILD - files named in documents exist, and the check detects
# one that does not.
source=$1
check="$source/tools/check_paths.sh"

[ -f "$source/docs/ARCHITECTURE.md" ] || exit 77
"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

for part in "$source"/*; do
    ln -s "$part" "$planted_copy/${part##*/}"
done
rm "$planted_copy/README.md"
# shellcheck disable=SC2016  # backquotes of Markdown
printf 'One\n`src/core/heap/bins.c` and `src/core/heap/sins.c`\n' \
    >"$planted_copy/README.md"
must_find 'README.md:2: there is no src/core/heap/sins.c' "$check" "$planted_copy"
