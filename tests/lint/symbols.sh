#!/bin/sh
# symbols.sh SOURCE BUILD - headers, version script and libraries agree on what
# is public, and the check detects a difference.
source=$1
build=$2
check="$source/tools/check_symbols.sh"
shared="$build/liblarder.so"
static="$build/liblarder.a"

"$check" "$source/include" "$source/src/larder.map" "$shared" "$static" ||
    exit 1
"$check" "$source/lab/include" "$source/lab/lab.map" \
    "$build/liblarder_lab.so" "$build/liblarder_lab.a" lab_ || exit 1
# The plug-in has no static library; liblarder's is used instead.
"$check" "$source/adapters/torch/include" "$source/adapters/torch/torch.map" \
    "$build/liblarder_torch.so" "$static" || exit 1

for library in larder_adapters:functions:adapters larder_preload:preload:preload; do
    shared_name=${library%%:*}
    folder=${library#*:}
    folder="$source/adapters/${folder%%:*}"
    # Nothing here is a static library: only the names of the shared one count.
    "$source/tools/list_api.sh" "$folder/include" >"$build/$shared_name.api"
    nm -D --defined-only --format=posix "$build/lib$shared_name.so" |
        awk '$2 != "A" { sub("@.*", "", $1); print $1 }' | grep '^larder_' |
        LC_ALL=C sort | diff "$build/$shared_name.api" - ||
        exit 1
done

. "$source/tests/lint/lib/planted.sh"

planted_check() {
    "$check" "$planted_copy/include" "$planted_copy/src/larder.map" \
        "$planted_shared" "$planted_static"
}

planted_shared=$shared
planted_static=$static

plant
echo 'LARDER_API int larder_planted(void);' >>"$planted_copy/include/larder/sim.h"
must_find 'larder_planted: declared in a header, but not in the version' \
    planted_check
must_find 'larder_planted: declared in a header, but not exported' \
    planted_check

plant
sed -i '/larder_free;/d' "$planted_copy/src/larder.map"
must_find 'larder_free: declared in a header, but not in the version' \
    planted_check
must_find 'larder_free: exported, but not in the version' planted_check

plant
sed -i 's/larder_free;/&\n    larder_planted;/' "$planted_copy/src/larder.map"
must_find 'larder_planted: in the version script, but not declared' \
    planted_check
must_find 'larder_planted: in the version script, but not exported' \
    planted_check

# A library with a missing function and an extra one.
plant
"$source/tools/list_api.sh" "$source/include" |
    sed '/^larder_free$/d; s/.*/void &(void);\nvoid &(void) {}/' \
        >"$planted_copy/few.c"
echo 'int planted_name; int larder_planted;' >>"$planted_copy/few.c"
"${CC:-cc}" -shared -fPIC -o "$planted_copy/few.so" "$planted_copy/few.c" ||
    exit 1
planted_shared="$planted_copy/few.so"
must_find 'larder_free: declared in a header, but not exported' planted_check
must_find 'larder_planted: exported, but not declared' planted_check
planted_shared=$shared

plant
cp "$static" "$planted_copy/planted.a"
echo 'int planted_name;' >"$planted_copy/planted.c"
(cd "$planted_copy" && "${CC:-cc}" -c planted.c && ar r planted.a planted.o) ||
    exit 1
planted_static="$planted_copy/planted.a"
must_find 'planted_name: a global name of the static library without' \
    planted_check
