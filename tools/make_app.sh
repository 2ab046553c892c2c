#!/bin/sh
# make_app.sh BUILD [JOBS] - compiles the analysing commands to WebAssembly, in
# BUILD/wasm, and makes BUILD/app.html of them.  Needs emscripten, and a network for the
# sources of zstd and jansson (cmake/app.cmake).
set -eu
cd "$(dirname "$0")/.."
build=$1
wasm=$build/wasm

command -v emcmake >/dev/null || {
    echo 'make_app.sh: emcmake is missing: install the package emscripten' >&2
    exit 2
}
# Debian's emscripten runs whatever node is first, which may not know where
# Debian keeps modules.
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH
log=$build/app.log
if ! { emcmake cmake -S . -B "$wasm" -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$wasm" --parallel "${2:-2}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    exit 2
fi
"$build/larder" view -o "$wasm/page.html" examples/oom.pickle
tools/make_app.py "$wasm" "$wasm/page.html" "$build/app.html"
echo "$build/app.html"
