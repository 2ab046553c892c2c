#!/bin/sh
# list_api.sh INCLUDE [PREFIX] - lists the functions that the public headers in
# the folder INCLUDE declare as LARDER_API, one per line, sorted.  Their names
# begin with PREFIX (default: larder_).
prefix=${2:-larder_}
cat "$1"/larder/*.h | tr '\n' ' ' |
    grep -o "LARDER_API [^(;]*\\b${prefix}[a-z0-9_]* *(" |
    sed 's/ *($//; s/.*[ *]//' | LC_ALL=C sort -u
