#!/bin/sh
# make_wheel.sh FOLDER - creates a portable wheel in FOLDER, and tests it in an
# otherwise empty virtual environment with no program in the path except Python:
# the package, the command and everything they load must come from the wheel and
# the C library.
set -u
cd "$(dirname "$0")/.." || exit 2
dist=$1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
venv=$work/venv

fail() {
    echo "make_wheel.sh: $*" >&2
    exit 1
}

# Do what pip does, without pip: the backend has no requirements.
mkdir -p "$dist" || exit 2
name=$(PYTHONPATH=python/backend PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys, larder_backend
print(larder_backend.build_wheel(sys.argv[1], {"portable": "yes"}))' \
    "$dist" 2>"$work/log" >"$work/said") || {
    cat "$work/said" "$work/log" >&2
    exit 1
}
name=$(tail -n 1 "$work/said")
echo "$dist/$name"
case $name in
larder-*-py3-none-manylinux_2_*.whl) ;;
*) fail "'$name' has no manylinux tag" ;;
esac

python3 -m venv "$venv" >/dev/null 2>&1 || {
    echo 'not tried: python3 -m venv does not work (python3-venv)'
    exit 0
}
"$venv/bin/pip" install --quiet --no-index --disable-pip-version-check \
    "$dist/$name" || fail 'pip does not install it'

# bare PROGRAM...: run it with an empty environment and nothing else reachable.
bare() {
    env -i PATH="$venv/bin" HOME="$work" "$@" 2>&1
}

cd "$work" || exit 2
bare larder version >said || fail "larder version: $(cat said)"
grep -q '^larder [0-9]' said || fail "larder version said $(cat said)"
cat >listing.py <<'PYTHON'
import torch
x = torch.zeros(512, 1024, device='cuda')
print(torch.cuda.memory_allocated())
PYTHON
bare larder lab run listing.py >said || fail "a listing: $(cat said)"
grep -q '^2097152$' said || fail "a listing said $(cat said)"
bare python3 -c 'import larder.lab, larder.torch._plugin' >said ||
    fail "import: $(cat said)"
bare larder doctor >said || [ $? -eq 1 ] || fail "doctor: $(cat said)"

# Every loaded library belongs to the wheel or to the C library.
command=$(echo "$venv"/lib/python3*/site-packages/larder/_prefix/bin/larder)
LD_TRACE_LOADED_OBJECTS=1 "$command" >loaded || fail 'the command is not loaded'
grep -q 'libzstd' loaded || fail 'nothing was seen of what it loads'
grep -v -e "$venv" -e linux-vdso -e ld-linux \
    -e '^[[:space:]]*lib\(c\|m\|dl\|rt\|pthread\)\.so' loaded >foreign
[ -s foreign ] && fail "from elsewhere: $(cat foreign)"
echo "tried in a bare environment: the command, a listing, import larder"
