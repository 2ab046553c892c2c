#!/bin/sh
# list_sources.sh - lists our own C files, one per line.
cd "$(dirname "$0")/.." || exit 2
for folder in include src lab cli adapters web tests bench examples; do
    [ -d "$folder" ] && find "$folder" -name '*.[ch]'
done | LC_ALL=C sort
