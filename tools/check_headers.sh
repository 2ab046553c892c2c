#!/bin/sh
# check_headers.sh INCLUDE [OTHER] - each public header compiles alone and
# without warnings, as C99 and later, and as C++11 and later if there is a C++
# compiler.  OTHER is a folder whose headers they may include.  Exits with 1 if
# one does not.
set -u
include=$1
other=${2:-$1}
flags="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror -fsyntax-only"
status=0

compile() { # HEADER COMPILER LANGUAGE STANDARD
    # The flags are separate words.
    # shellcheck disable=SC2086
    printf '#include <larder/%s>\n#include <larder/%s>\n' "$1" "$1" |
        "$2" -x "$3" "-std=$4" $flags -I"$include" -I"$other" - || {
        echo "larder/$1 does not compile as $4"
        status=1
    }
}

for path in "$include"/larder/*.h; do
    header=${path##*/}
    for standard in c99 c11 c17; do
        compile "$header" "${CC:-cc}" c $standard
    done
    command -v "${CXX:-c++}" >/dev/null || continue
    for standard in c++11 c++17 c++20; do
        compile "$header" "${CXX:-c++}" c++ $standard
    done
done
exit $status
