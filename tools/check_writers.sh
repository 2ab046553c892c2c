#!/bin/sh
# check_writers.sh SOURCE - files are written through larder/file.h only, so
# that they appear complete, keep their mode, and block nobody.  Finds code that
# creates files in another way; exits with 1 if there is any.
#
# Exempt: the writer itself; shared memory of devices and ledgers, which is not
# a file to users; the command's own files below the temporary folder; reports
# to which many processes append.
set -u
cd "$1" || exit 2

found=$(
    grep -rnE --include='*.[ch]' \
        'O_CREAT|mkstemps?\(|[^a-z_](rename|creat)\(|fopen\([^"]*"[wa]' \
        src lab cli adapters |
        grep -vE '^(src/base/newfile\.c|src/base/shared_object\.c|cli/snapshot_input\.c|cli/cmd_view\.c|adapters/preload/preload_report\.c|adapters/driver/fake_(rules|report)\.c):'
    grep -rnE --include='*.py' \
        '(^|[^a-z_.])open\([^)]*["'\''][wax]b?\+?["'\'']|os\.(rename|replace)\(|\.write_(text|bytes)\(' \
        python/larder
)
if [ -n "$found" ]; then
    echo "$found" | sed 's/$/ (expected: larder\/file.h, or NewFile)/'
    exit 1
fi
