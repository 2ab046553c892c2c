#!/bin/sh
# list_api.sh INCLUDE [PREFIX] - the functions that the public headers in the
# folder INCLUDE declare as LARDER_API, a line each, sorted.  Their names begin
# with PREFIX: larder_ unless given.
prefix=${2:-larder_}
cat "$1"/larder/*.h | tr '\n' ' ' |
    grep -o "LARDER_API [^(;]*\\b${prefix}[a-z0-9_]* *(" |
    sed 's/ *($//; s/.*[ *]//' | LC_ALL=C sort -u
