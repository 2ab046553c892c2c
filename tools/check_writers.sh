#!/bin/sh
# check_writers.sh SOURCE - files are written through larder/file.h alone, so
# that they appear whole, under their old mode, and block nobody.  Finds what
# creates files in another way; exit 1 if anything does.
#
# Exempt: the writer itself; shared memory of devices and ledgers, which is no file to
# users; files of the command's own below the temporary folder; a report that
# many processes append to.
set -u
cd "$1" || exit 2

found=$(
    grep -rnE --include='*.[ch]' \
        'O_CREAT|mkstemps?\(|[^a-z_](rename|creat)\(|fopen\([^"]*"[wa]' \
        src lab cli adapters |
        grep -vE '^(src/base/newfile\.c|src/base/shared_object\.c|cli/snapshot_input\.c|cli/cmd_view\.c|adapters/preload/preload_report\.c):'
    grep -rnE --include='*.py' \
        '(^|[^a-z_.])open\([^)]*["'\''][wax]b?\+?["'\'']|os\.(rename|replace)\(|\.write_(text|bytes)\(' \
        python/larder
)
if [ -n "$found" ]; then
    echo "$found" | sed 's/$/ (expected: larder\/file.h, or NewFile)/'
    exit 1
fi
