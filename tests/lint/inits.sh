#!/bin/sh
# inits.sh SOURCE BUILD - every public structure that begins with `size` has its
# larder_NAME_init() or its LARDER_NAME_INIT, which sets the size.
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The names of such structures in the headers of a folder.
sized() {
    awk '/^typedef struct larder_[a-z_]* \{/ { name = $3; first = 1; next }
        first && /size_t size;/ { print name }
        first && !/^ *(\/\*|\*)/ { first = 0 }' "$1"/larder/*.h
}

# check FOLDER: print those without either.
check() {
    for name in $(sized "$1"); do
        upper=$(echo "$name" | tr '[:lower:]' '[:upper:]')_INIT
        grep -q "define $upper \|${name}_init(" "$1"/larder/*.h || echo "$name"
    done
}

[ "$(sized "$source/include" | wc -l)" -gt 15 ] || {
    echo 'too few structures were found'
    exit 1
}
missing=$(check "$source/include")
[ -z "$missing" ] || {
    echo "no way to begin: $missing"
    exit 1
}

# They compile, and a structure without one is noticed.
mkdir -p "$tmp/larder"
cp "$source"/include/larder/*.h "$tmp/larder"
{
    for header in "$tmp"/larder/*.h; do
        echo "#include <larder/${header##*/}>"
    done
    echo 'int main(void) {'
    sed -n 's/^#define \(LARDER_[A-Z_]*_INIT\) LARDER_SIZED_INIT(\(.*\))/{ \2 x = \1; if (x.size != sizeof x) return 1; }/p' \
        "$tmp"/larder/*.h
    echo 'return 0; }'
} >"$tmp/inits.c"
"${CC:-cc}" -std=c99 -Wall -Wextra -Werror -I"$tmp" "$tmp/inits.c" \
    -o "$tmp/inits" && "$tmp/inits" || exit 1
sed -i '/define LARDER_TAG_USAGE_INIT/d' "$tmp/larder/tag.h"
[ "$(check "$tmp")" = larder_tag_usage ] || {
    echo 'a structure without a beginning was not noticed'
    exit 1
}
