#!/bin/sh
# check_openings.sh SOURCE - each C file begins with its name and a sentence on
# what it is: "/* NAME.c - ...", so that nobody has to read on to know.  Prints
# those that do not; exits with 1 if there are any.
set -u
cd "$1" || exit 2

# shellcheck disable=SC2016  # variables of awk
found=$(
    find adapters bench cli examples include lab src tests tools -name '*.[ch]' \
        2>/dev/null | LC_ALL=C sort | xargs awk '
        FNR == 1 {
            name = FILENAME
            sub(/.*\//, "", name)
            rest = substr($0, length("/* " name) + 1)
            if (index($0, "/* " name) != 1 ||
                rest !~ /^ (.* )?- ./)
                print FILENAME ": begins with \"" $0 "\", expected \"/* " \
                    name " - \" and what it is"
        }'
)
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi
