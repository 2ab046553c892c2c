#!/bin/sh
# check_settings.sh SOURCE - larder-conf(5) documents each setting in the tables
# of src/core/settings.  Prints those it lacks; exits with 1 if there are any.
set -u
cd "$1" || exit 2

missing=$(
    grep -ohE '^ *\{"[a-z0-9_]+",' src/core/settings/*.c |
        sed -E 's/^ *\{"//; s/".*//' | sort -u |
        while read -r key; do
            grep -qE "(Cm|Ic) $key( |\$)" man/larder-conf.5 ||
                echo "man/larder-conf.5: there is no setting $key"
        done
)
if [ -n "$missing" ]; then
    echo "$missing"
    exit 1
fi
