#!/bin/sh
# check_torch.sh BUILD [VERSION...] - runs PyTorch's own CUDA builds on Larder
# without a GPU: 2.6, 2.10 and the newest if no VERSION is given.  Prints a
# table for docs/PYTORCH.md.
#
# Then CuPy 12, the last release that needs a separate CUDA runtime, on
# larder.cupy.
#
# Each is fetched from the package index without the CUDA libraries it needs,
# and run by `larder exec`.  What needs a real GPU is not run.  Without the
# index, says so and exits with 77; exits with 1 if something failed.
# $LARDER_TORCH_FOLDER keeps the downloads for another run.
set -u

build=$1
shift
[ $# -gt 0 ] || set -- 2.6 2.10 newest
tests=tests/wheels
folder=${LARDER_TORCH_FOLDER:-}
keeps=$folder
needed="typing_extensions filelock sympy networkx jinja2 fsspec numpy"

if [ -z "$folder" ]; then
    folder=$(mktemp -d) || exit 2
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
if [ "$(uname -m)" != x86_64 ]; then
    echo "check-torch: PyTorch's builds with CUDA are looked at on x86-64 alone"
    exit 77
fi

# Create a Python with PyTorch $2 in the folder $1.
make_wheel() {
    case $2 in
    newest) package=torch ;;
    *) package="torch==$2.*" ;;
    esac
    # shellcheck disable=SC2086  # words
    python3 -m venv "$1" &&
        "$1/bin/pip" install --quiet $needed &&
        "$1/bin/pip" install --quiet --no-deps "$package" && touch "$1/whole"
}

status=0
for version in "$@"; do
    at=$folder/$version
    if ! [ -e "$at/whole" ] && ! make_wheel "$at" "$version" 2>"$folder/why"
    then
        echo "check-torch: PyTorch $version cannot be had, skipped:" \
            "$(tail -n 1 "$folder/why")"
        rm -rf "$at"
        continue
    fi
    name=$(sed -n "s/^__version__ = '\([0-9]*\.[0-9]*\).*/\1/p" \
        "$at"/lib/python3.*/site-packages/torch/version.py)
    python3 $tests/check_wheel.py "$build" "$name" "$at/bin/python" \
        >>"$folder/found" || status=1
    [ -n "$keeps" ] || rm -rf "$at"
done
[ -e "$folder/found" ] || exit 77
python3 $tests/wheel_table.py "$folder/found"
rm -f "$folder/found"

if [ -x "$folder/cupy/bin/python" ] || { python3 -m venv "$folder/cupy" &&
    "$folder/cupy/bin/pip" install --quiet 'cupy-cuda12x<13' 'numpy<1.27' \
        2>"$folder/why"; }; then
    PYTHONPATH=python LARDER_LIBRARY_DIR=$build "$build/larder" exec \
        --sim 2GiB --quiet -- "$folder/cupy/bin/python" -B \
        $tests/cupy/arrays.py || status=1
else
    echo "check-torch: CuPy cannot be had, skipped:" \
        "$(tail -n 1 "$folder/why")"
    rm -rf "$folder/cupy"
fi
exit $status
