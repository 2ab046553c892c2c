#!/bin/sh
# check_fit.sh BUILD - runs `larder run` under a CPU build of PyTorch: that of
# $LARDER_FIT_PYTHON, otherwise one installed below BUILD.  A PyTorch with CUDA,
# which needs its libraries, runs on stand-ins for them.
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
python=${LARDER_FIT_PYTHON:-}

if [ -z "$python" ]; then
    folder=$build/fit-venv
    python=$folder/bin/python
    if ! [ -x "$python" ]; then
        python3 -m venv "$folder" || exit 1
    fi
    if ! "$python" -c 'import torch' 2>/dev/null; then
        "$python" -m pip install --quiet numpy torch \
            --index-url "${LARDER_FIT_INDEX:-https://download.pytorch.org/whl/cpu}" ||
            {
                echo "check-fit: no CPU-only PyTorch: nothing was run;" \
                    "LARDER_FIT_PYTHON names a Python that has one" >&2
                exit 77
            }
    fi
fi
export LARDER_FIT_BUILD="$build" LARDER_FIT_PYTHON="$python"
set -- python3 -m unittest discover -s "$source/tests/fit"
if ! "$python" -c 'import torch' 2>/dev/null; then
    set -- "$build/larder" exec --quiet --sim 80GiB,backing=none -- "$@"
fi
exec "$@"
