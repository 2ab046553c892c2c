#!/bin/sh
# list_api.sh INCLUDE - the functions that the public headers in the folder
# INCLUDE declare as LARDER_API, a line each, sorted.
cat "$1"/larder/*.h | tr '\n' ' ' |
    grep -o 'LARDER_API [^(;]*larder_[a-z0-9_]* *(' |
    sed 's/ *($//; s/.*[ *]//' | LC_ALL=C sort -u
