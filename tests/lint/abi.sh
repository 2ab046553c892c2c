#!/bin/sh
# abi.sh SOURCE BUILD - the test of the binary interface (tests/abi) fails to
# compile or link as soon as programs already built would break.
source=$1
build=$2
test=$source/tests/abi/test_abi_0_1_0.c

. "$source/tests/lint/lib/planted.sh"

# Compile with the headers of the copy.
compiles() {
    "${CC:-cc}" -std=c11 -fsyntax-only -I "$planted_copy/include" "$test"
}

# change HEADER SED: apply SED to a header of a fresh copy.  It must change
# something.
change() {
    plant
    header=$planted_copy/include/larder/$1
    sed "$2" "$header" >"$planted_copy/changed"
    if cmp -s "$header" "$planted_copy/changed"; then
        echo "abi.sh: '$2' changes nothing in $1"
        exit 1
    fi
    mv "$planted_copy/changed" "$header"
}

plant
compiles || exit 1

change sim.h 's/^    uint64_t mappings;/    uint32_t flags;\n    uint64_t mappings;/'
must_find 'offsetof(larder_sim_usage, mappings)' compiles

change sim.h 's/^    uint64_t events;/    uint32_t events;/'
must_find 'larder_sim_usage' compiles

change larder.h 's/^    uint32_t flags;/    uint64_t flags;/'
must_find 'larder_options' compiles

change larder.h 's/LARDER_POLICY_DIRECT = 2/LARDER_POLICY_DIRECT = 4/'
must_find 'LARDER_POLICY_DIRECT == 2' compiles

change larder.h 's/\(larder_free(larder_allocator \*a, larder_addr\) addr/\1 *addr/'
must_find larder_free compiles

# A structure that begins with its size may grow.
change sim.h 's/^    uint64_t events;/    uint64_t events;\n    uint64_t more;/'
compiles || exit 1

# A function is missing from the library.
plant
must_find larder_free "${CC:-cc}" -I "$planted_copy/include" "$test" \
    -o "$planted_copy/program" -L "$build" -llarder -Wl,--wrap=larder_free
