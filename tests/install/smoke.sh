#!/bin/sh
# smoke.sh SOURCE BUILD - an installation can be used: programs are built
# against it through pkg-config, shared and static, and through CMake's
# find_package, as C and (where there is a compiler) as C++, and run; the
# command runs; nothing that should be installed is left out; and it all holds
# after the tree was moved.
set -u
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hello="$source/examples/hello.c"
cc=${CC:-cc}
cxx=${CXX:-c++}

fail() {
    echo "smoke: $*"
    exit 1
}

# Run a command; print its output only if it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "failed: $*"
    }
}

# says TEXT PROGRAM...: the program succeeds and prints TEXT.
says() {
    text=$1
    shift
    said=$("$@" 2>&1) || fail "'$*' failed: $said"
    case $said in
    *"$text"*) ;;
    *) fail "'$*' said '$said', not '$text'" ;;
    esac
}

# ---- uninstalling --------------------------------------------------------------

quietly env DESTDIR="$work/a stage" \
    cmake --install "$build" --prefix "/some where"
mkdir -p "$work/a stage/some where/share/larder/python/larder/__pycache__"
: >"$work/a stage/some where/share/larder/python/larder/__pycache__/x.pyc"
: >"$work/a stage/some where/lib/another"
quietly env DESTDIR="$work/a stage" "$source/tools/uninstall.sh" \
    "$build/install_manifest.txt"
left=$(find "$work/a stage" -type f -o -name '*larder*')
[ "$left" = "$work/a stage/some where/lib/another" ] ||
    fail "uninstalling left: $left"

# ---- installing ----------------------------------------------------------------

prefix="$work/moved tree"
quietly cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$prefix"

# ---- what is there -----------------------------------------------------------

missing() {
    for file in "$source"/include/larder/*.h; do
        echo "include/larder/${file##*/}"
    done
    echo include/larder/torch.h
    echo LIBDIR/liblarder_torch.so.0
    echo share/larder/python/larder/torch/enabling.py
    for file in "$source"/man/*.[1-9]; do
        [ -f "$file" ] && echo "share/man/man${file##*.}/${file##*/}"
    done
    for file in liblarder.so liblarder.so.0 liblarder.a pkgconfig/larder.pc \
        cmake/larder/larder-config.cmake \
        cmake/larder/larder-config-version.cmake; do
        echo "LIBDIR/$file"
    done
    for file in "$source"/data/costs/*.costs; do
        echo "share/larder/costs/${file##*/}"
    done
    for file in "$source"/adapters/*/include/larder/*.h; do
        echo "include/larder/${file##*/}"
    done
    for file in liblarder_preload.so liblarder_adapters.so.0; do
        echo "LIBDIR/$file"
    done
    for file in bash-completion/completions/larder zsh/site-functions/_larder \
        fish/vendor_completions.d/larder.fish; do
        echo "share/$file"
    done
    echo bin/larder
    echo share/doc/larder/LICENSE
    # What the documents link to.
    sed -n 's|.*](\(docs/[^)#]*\)).*|share/doc/larder/\1|p' "$source/README.md"
    echo share/doc/larder/docs/figures/landscape.svg
    echo share/doc/larder/examples/hello.c
}

pc=$(find "$prefix" -name larder.pc)
[ -n "$pc" ] || fail "no larder.pc was installed"
libdir=${pc%/pkgconfig/larder.pc}
left_out=$(missing | sed "s,^LIBDIR,${libdir#"$prefix"/}," |
    while read -r file; do
        [ -e "$prefix/$file" ] || echo "$file"
    done)
[ -z "$left_out" ] || fail "not installed: $left_out"

version=$("$build/larder" --version) || fail "the built command does not run"
says "$version" "$prefix/bin/larder" --version
says 'Simulated GPU 0' "$prefix/bin/larder" exec \
    "$build/tests/cuda/driver_subject_linked"
says 'page_create 1,' "$prefix/bin/larder" exec --preload cache \
    "$build/tests/preload/preload_subject_plain" dlsym churn
ldd "$libdir/liblarder_adapters.so" | grep -q "$libdir/liblarder.so" ||
    fail "liblarder_adapters.so does not find liblarder.so beside it"

# ---- pkg-config --------------------------------------------------------------

export PKG_CONFIG_PATH="${libdir}/pkgconfig"
[ "larder $(pkg-config --modversion larder)" = "$version" ] ||
    fail "larder.pc and the command differ about the version"

# pkg-config's output is quoted for a shell.
compile() { # COMPILER OUTPUT FLAGS LIBRARIES
    quietly eval "$1 -o '$work/$2' $3 $(pkg-config --cflags larder) \
        '$hello' $4"
}

export LD_LIBRARY_PATH="$libdir"
static_libraries=$(pkg-config --static --libs larder |
    sed 's/-llarder/-l:liblarder.a/')
compile "$cc" shared "" "$(pkg-config --libs larder)"
says 'device memory at' "$work/shared"
compile "$cc" static "" "$static_libraries"
says 'device memory at' env LD_LIBRARY_PATH= "$work/static"
LD_LIBRARY_PATH='' "$work/shared" >/dev/null 2>&1 &&
    fail "the program meant to be linked with the shared library is not"
if command -v "$cxx" >/dev/null; then
    compile "$cxx -std=c++11" shared_cxx "-x c++" "-x none $(pkg-config --libs larder)"
    says 'device memory at' "$work/shared_cxx"
fi

# ---- find_package ------------------------------------------------------------

language=C
if command -v "$cxx" >/dev/null; then
    language='C CXX'
fi
mkdir "$work/project"
cp "$hello" "$work/project/hello.c"
cp "$hello" "$work/project/hello.cpp"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.21)
project(user LANGUAGES $language)
find_package(larder 0.1 REQUIRED)
add_executable(by_shared hello.c)
target_link_libraries(by_shared larder::larder)
add_executable(by_static hello.c)
target_link_libraries(by_static larder::larder_static)
if(CMAKE_CXX_COMPILER)
    add_executable(by_cxx hello.cpp)
    target_link_libraries(by_cxx larder::larder)
endif()
END
quietly cmake -S "$work/project" -B "$work/project/build" \
    "-DCMAKE_PREFIX_PATH=$prefix"
quietly cmake --build "$work/project/build"
for program in "$work"/project/build/by_*; do
    says 'device memory at' "$program"
done
