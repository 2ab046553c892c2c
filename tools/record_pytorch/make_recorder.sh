#!/bin/sh
# make_recorder.sh VERSION BUILD FOLDER - a recorder of PyTorch VERSION (2.13)
# in FOLDER: FOLDER/record runs it, with recorder.cpp's arguments, and
# FOLDER/read_settings what settings_recorder.cpp makes of settings, FOLDER/rival
# what bench/rivals/main.cpp times.
#
# Fetches the wheel of that version from the package index (500 to 900 MB),
# without what it depends on, keeps of it the allocator's library and its
# headers, and deletes it.  BUILD is this project's build folder, for the
# stand-in for the driver.  Needs python3 with venv, unzip, binutils and g++.
# Exit status 77: there is no such wheel to be had.
set -eu

version=$1
build=$(cd "$2" && pwd)
mkdir -p "$3"
folder=$(cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tools=$(dirname "$here")
source=$(dirname "$tools")

# The headers of the CUDA runtime with which every version compiles.
cuda_headers=nvidia-cuda-runtime-cu12==12.4.127

fetch() { # PACKAGE PATTERN...
    package=$1
    shift
    "$folder/venv/bin/pip" download --quiet --no-deps --only-binary=:all: \
        --dest "$folder/fetched" "$package" 2>"$folder/why" || {
        echo "$package: $(tail -n 1 "$folder/why")" >&2
        exit 77
    }
    unzip -qo "$folder/fetched/"*.whl "$@" -d "$folder/unpacked" \
        2>/dev/null || [ $? -eq 11 ] # not every version has every folder
    rm -rf "$folder/fetched"
}

fetch_all() {
    python3 -m venv "$folder/venv"
    fetch "torch==$version.*" 'torch/lib/libc10*.so' 'torch/include/c10/*' \
        'torch/include/torch/headeronly/*' torch/version.py
    fetch "$cuda_headers" 'nvidia/cuda_runtime/include/*'
    rm -rf "$folder/venv" "$folder/why"
}

# The library name and the version strings of the CUDA runtime that
# libc10_cuda.so expects.
look() {
    runtime=$(readelf -d "$lib/libc10_cuda.so" |
        sed -n 's/.*\[\(libcudart\.so\.[0-9]*\)\].*/\1/p')
    major=${runtime##*.}
    new_strings=0
    if nm -D "$lib/libc10.so" | grep -q '_ZN3c105ErrorC1.*cxx11'; then
        new_strings=1
    fi
    full=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" \
        "$folder/unpacked/torch/version.py")
}

compile() {
    echo "$runtime { global: cuda*; capture_graph_*; local: *; };" \
        >"$folder/cudart.map"
    gcc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden \
        -DCUDART_MAJOR="$major" -I"$tools" "$here/cudart.c" \
        "$here/capture_graph.c" -Wl,-soname,"$runtime" \
        -Wl,--version-script="$folder/cudart.map" -ldl \
        -o "$folder/lib/$runtime"
    gcc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden "$here/nvml.c" \
        -Wl,-soname,libnvidia-ml.so.1 -o "$folder/lib/libnvidia-ml.so.1"
    gcc -std=gnu11 -O2 -I"$source/tests" -I"$source/adapters" -I"$source/src" \
        -I"$source/include" \
        -c "$source/tests/support/call_log.c" -o "$folder/call_log.o"
    compile_program recorder "$here/recorder.cpp" "$folder/call_log.o"
    compile_program settings_recorder "$here/settings_recorder.cpp"
    compile_program rival_program "$source/bench/rivals/main.cpp" \
        "$source/bench/rivals/pytorch.cpp"
}

compile_program() { # NAME SOURCE...
    program=$1
    shift
    # The wheel's headers cause warnings that would hide ours.
    g++ -std=c++20 -O1 -w -D_GLIBCXX_USE_CXX11_ABI="$new_strings" \
        -DPYTORCH_C10_DRIVER_API_SUPPORTED \
        -DTORCH_MINOR="${version#*.}" -DTORCH_VERSION="\"$full\"" \
        -I"$tools" -I"$source/tests" -I"$source/bench" -I"$source/adapters" -I"$source/include" \
        -isystem "$folder/unpacked/torch/include" \
        -isystem "$folder/unpacked/nvidia/cuda_runtime/include" \
        "$@" "$lib/libc10_cuda.so" "$lib/libc10.so" \
        "$folder/lib/$runtime" -ldl -Wl,--allow-shlib-undefined \
        -o "$folder/$program"
}

# enter NAME PROGRAM - FOLDER/NAME runs the program with its libraries.
enter() {
    cat >"$folder/$1" <<END
#!/bin/sh
LD_LIBRARY_PATH="$folder/lib:$build/fakecuda" exec "$folder/$2" "\$@"
END
    chmod +x "$folder/$1"
}

[ -d "$folder/unpacked/torch" ] || fetch_all
lib=$folder/unpacked/torch/lib
mkdir -p "$folder/lib"
look
compile
cp "$lib"/libc10*.so "$folder/lib"
enter record recorder
enter read_settings settings_recorder
enter rival rival_program
