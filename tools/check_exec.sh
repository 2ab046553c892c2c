#!/bin/sh
# check_exec.sh BUILD - runs PyTorch and CuPy programs under `larder exec`, and
# compares `larder run` with PyTorch's own allocator there.  The Pythons are
# $LARDER_EXEC_PYTHON and $LARDER_CUPY_PYTHON, otherwise virtual environments
# created below BUILD: about 1.3 GB of wheels, without the CUDA packages.
# $YARDSTICK names the programs to compare, as "mlp gpt2"; none: nothing.
build=$(cd "$1" && pwd) || exit 2
source=$(cd "$(dirname "$0")/.." && pwd)
torch=${LARDER_EXEC_PYTHON:-}
cupy=${LARDER_CUPY_PYTHON:-}

# venv FOLDER: print the path of its Python; create it if necessary.
venv() {
    [ -x "$1/bin/python" ] || python3 -m venv "$1" || exit 1
    echo "$1/bin/python"
}

if [ -z "$torch" ]; then
    torch=$(venv "$build/exec-torch") || exit 1
    if ! "$torch" -c 'import torchvision, transformers' 2>/dev/null; then
        # Install PyTorch last: otherwise pip complains about missing
        # dependencies that are not needed here.
        if ! "$torch" -m pip install --quiet filelock typing-extensions \
            sympy networkx jinja2 fsspec numpy pillow transformers ||
            ! "$torch" -m pip install --quiet --no-deps torch torchvision; then
            echo "check-exec: PyTorch cannot be installed;" \
                "LARDER_EXEC_PYTHON names a Python that has it" >&2
            torch=
        fi
    fi
fi
# It has NVIDIA's runtime within it.
if [ -z "$cupy" ]; then
    cupy=$(venv "$build/exec-cupy") || exit 1
    if [ -z "$("$cupy" -m pip show cupy-cuda12x 2>/dev/null)" ]; then
        "$cupy" -m pip install --quiet cupy-cuda12x ||
            {
                echo "check-exec: CuPy cannot be installed;" \
                    "LARDER_CUPY_PYTHON names a Python that has it" >&2
                cupy=
            }
    fi
fi
if [ -z "$torch" ] && [ -z "$cupy" ]; then
    exit 77
fi
python3 "$source/tests/exec/test_exec.py" "$build" "$torch" "$cupy" || exit 1
if [ -n "$torch" ] && [ "${YARDSTICK:-}" != none ]; then
    # shellcheck disable=SC2086
    exec python3 "$source/tests/fit/yardstick/compare.py" "$build" "$torch" \
        ${YARDSTICK:-}
fi
