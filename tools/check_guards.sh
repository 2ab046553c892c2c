#!/bin/sh
# check_guards.sh SOURCE - a public header has a guard, which is its path from
# larder/ on, as it is read by compilers that we do not know; every other header
# begins with #pragma once.  Prints those that do not; exits with 1 if there are
# any.
set -u
cd "$1" || exit 2

# shellcheck disable=SC2016  # variables of awk
found=$(
    find adapters bench cli include lab src tests tools -name '*.h' 2>/dev/null |
        LC_ALL=C sort | xargs awk '
        function expected(path) {
            if (!sub(/^(.*\/)?include\/larder\//, "larder/", path))
                return "#pragma once"
            path = toupper(path)
            gsub(/[^A-Z0-9]/, "_", path)
            return "#ifndef " path
        }
        function end_of_file() {
            if (path != "" && first != expected(path))
                print path ": begins with \"" first "\", expected \"" \
                    expected(path) "\""
        }
        FNR == 1 { end_of_file(); path = FILENAME; first = "" }
        first == "" && /^#/ { first = $0 }
        END { end_of_file() }'
)
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi
