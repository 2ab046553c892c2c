#!/bin/sh
# check_guards.sh SOURCE - the guard of each header is its path, without src/ and
# without what leads to a public header's larder/, so that no two are the same
# and a header that moves takes its guard along.  Prints those that are not, or
# have none; exits with 1 if there are any.
set -u
cd "$1" || exit 2

# shellcheck disable=SC2016  # variables of awk
found=$(
    find adapters bench cli include lab src tests tools -name '*.h' 2>/dev/null |
        LC_ALL=C sort | xargs awk '
        function expected(path) {
            sub(/^src\//, "", path)
            if (!sub(/^(.*\/)?include\/larder\//, "larder/", path))
                path = "larder/" path
            path = toupper(path)
            gsub(/[^A-Z0-9]/, "_", path)
            return path
        }
        function end_of_file() {
            if (path != "" && guard != expected(path))
                print path ": the guard is \"" guard "\", expected " \
                    expected(path)
        }
        FNR == 1 { end_of_file(); path = FILENAME; guard = "" }
        guard == "" && $1 == "#ifndef" { guard = $2 }
        END { end_of_file() }'
)
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi
