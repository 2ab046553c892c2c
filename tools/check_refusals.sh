#!/bin/sh
# check_refusals.sh SOURCE - tests/unit/every_call.h has every public function
# that takes an allocator, so that what refuses them all is tested with all.
# Prints those it lacks; exits with 1 if there are any.
set -u
cd "$1" || exit 2

calls=tests/unit/every_call.h
missing=$(
    cat include/larder/*.h | tr '\n' ' ' |
        grep -oE 'larder_[a-z_]+\( *(const )?larder_allocator \*[a-z]*[,)]' |
        sed 's/(.*//' | LC_ALL=C sort -u | while read -r name; do
        [ "$name" = larder_destroy ] ||
            grep -qE "CALL(_ALONE)?\(${name}[,)]" $calls || echo "$name"
    done
)
if [ -n "$missing" ]; then
    echo "$missing" | sed "s|^|$calls: there is no call of |"
    exit 1
fi
