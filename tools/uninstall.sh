#!/bin/sh
# uninstall.sh LIST - remove the files that CMake installed, as its list has
# them, and the folders of Larder that are empty then.  DESTDIR as for
# installing.
set -eu
list=$1
[ -f "$list" ] || {
    echo "uninstall: $list is missing: make install writes it" >&2
    exit 1
}

# CMake leaves the last line without an end.
files() {
    sed "s|^|${DESTDIR:-}|" "$list"
    echo
}

folders() {
    files | sed 's|/[^/]*$||' | sort -u
}

files | while IFS= read -r file; do
    [ -z "$file" ] || rm -f -- "$file"
done
# What Python compiled of its own accord.
folders | grep '/larder/python/' | while IFS= read -r folder; do
    rm -rf -- "$folder/__pycache__"
done
# Those that other programs use have no larder in their path.
folders | while IFS= read -r folder; do
    while [ "${folder#*/larder}" != "$folder" ]; do
        echo "$folder"
        folder=${folder%/*}
    done
done | sort -ru | while IFS= read -r folder; do
    rmdir -- "$folder" 2>/dev/null || true
done
