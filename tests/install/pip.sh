#!/bin/sh
# pip.sh SOURCE BUILD - the Python package by pip, without a network: the wheel
# is what it says, brings the command and the libraries, needs nothing of the
# source tree, and leaves nothing when it goes; so do an editable one and one
# from a source archive.  What BUILD holds is packed; tools/check_long.sh has
# pip build it.
set -u
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(command -v python3) || {
    echo 'skipped: no python3'
    exit 77
}
# Nothing is downloaded: the index URL does not respond.
export PIP_CONFIG_FILE=/dev/null PIP_INDEX_URL=http://127.0.0.1:9/
export PIP_RETRIES=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
export PYTHONDONTWRITEBYTECODE=1
unset PIP_FIND_LINKS PIP_NO_INDEX PYTHONPATH LARDER_PYTHON LARDER_PYTHON_DIR
unset LARDER_LIBRARY_DIR LD_LIBRARY_PATH PYTHONHOME PIP_TARGET PIP_USER

fail() {
    echo "pip: $*"
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

# refused TEXT PROGRAM...: the program fails and prints TEXT.
refused() {
    text=$1
    shift
    said=$("$@" 2>&1) && fail "'$*' did not fail: $said"
    case $said in
    *"$text"*) ;;
    *) fail "'$*' said '$said', not '$text'" ;;
    esac
}

"$python" -m venv "$work/venv" >"$work/log" 2>&1 || {
    echo 'skipped: python3 -m venv does not work (python3-venv)'
    exit 77
}
pip=$work/venv/bin/pip
larder=$work/venv/bin/larder
cd "$work" || exit 2

installed_files() {
    find "$work/venv" -name __pycache__ -prune -o -type f -print | LC_ALL=C sort
}

leaves_nothing() {
    quietly "$pip" uninstall -y larder
    installed_files >after
    diff before after || fail 'uninstalling left or took files'
}

# runs WHERE: the command and the package work, with the library below WHERE.
runs() {
    says "$("$build/larder" --version)" "$larder" --version
    # The first one, if it has several names: a folder may be a link.
    said=$("$work/venv/bin/python" - "$1" <<'PYTHON'
import os, sys
import larder
version = larder.__version__  # loads the libraries
loaded = {os.path.realpath(line.split()[-1]) for line in open('/proc/self/maps')
          if 'liblarder' in line}
folder = os.path.realpath(sys.argv[1]) + '/'
print(version, all(path.startswith(folder) for path in loaded),
      len(loaded))
import larder.torch._plugin
PYTHON
    ) || fail 'import larder'
    expected="$("$build/larder" --version) True 2"
    [ "larder $said" = "$expected" ] ||
        fail "import larder: '$said', expected '$expected'"
    said=$("$larder" lab run listing.py 2>panel) || fail "lab run: $said"
    [ "$said" = "2097152 $work/venv" ] || fail "the listing said '$said'"
    grep -q 'allocated  *2.00 MiB' panel || fail 'no panel after the listing'
    says 'larder.pytest_plugin' "$work/venv/bin/python" -c \
        'from importlib.metadata import distribution as d
print([e.value for e in d("larder").entry_points if e.group == "pytest11"])'
    says 'Simulated GPU 0' "$larder" exec "$build/tests/cuda/driver_subject_linked"
}

cat >listing.py <<'PYTHON'
import torch
x = torch.zeros(512, 1024, device='cuda')
import sys
print(torch.cuda.memory_allocated(), sys.prefix)
PYTHON
installed_files >before

# ---- the wheel ---------------------------------------------------------------

quietly "$pip" wheel --config-settings "build-dir=$build" -w dist "$source"
wheel=$(echo dist/*)
platform=$("$python" -c 'import sysconfig
print(sysconfig.get_platform().replace("-", "_"))')
version=$("$build/larder" --version)
[ "$wheel" = "dist/larder-${version#larder }-py3-none-$platform.whl" ] ||
    fail "the wheel's name is $wheel"

quietly "$python" - "$wheel" <<'PYTHON'
# RECORD lists every file once, with its hash and size; each library exists
# once, whatever its names.
import base64, csv, hashlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    assert wheel.testzip() is None
    names = wheel.namelist()
    assert len(set(names)) == len(names)
    record = next(name for name in names if name.endswith('/RECORD'))
    rows = list(csv.reader(wheel.read(record).decode().splitlines()))
    assert sorted(row[0] for row in rows) == sorted(names), rows
    libraries = []
    for name, digest, size in rows:
        if name == record:
            assert digest == size == '', (digest, size)
            continue
        data = wheel.read(name)
        seen = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        assert digest == 'sha256=' + seen.decode().rstrip('='), name
        assert int(size) == len(data), name
        if '.so' in name:
            libraries.append(digest)
    assert len(set(libraries)) == len(libraries) >= 3, libraries
    metadata = wheel.read(record.replace('RECORD', 'METADATA')).decode()
    assert '\nName: larder\n' in metadata
PYTHON

quietly "$pip" install "$wheel"
runs "$work/venv"
says 'What happened  It ran out of memory' "$larder" report \
    "$work/venv/share/doc/larder/examples/oom.pickle"
leaves_nothing

# ---- a source archive --------------------------------------------------------

quietly env PYTHONPATH="$source/python/backend" "$python" -c \
    'import larder_backend, sys; print(larder_backend.build_sdist("dist"))'
archive=dist/larder-${version#larder }.tar.gz
quietly tar -xzf "$archive"
tree=$work/larder-${version#larder }
quietly "$pip" wheel --no-index --no-build-isolation \
    --config-settings "build-dir=$build" -w from_archive "$tree"
cmp "$wheel" from_archive/*.whl ||
    fail 'the wheel of the source archive is another one'
# It contains the files tracked by git, whether it was made from a clone or not.
PYTHONPATH="$tree/python/backend" "$python" -c \
    'import larder_backend; larder_backend.build_sdist(".")' ||
    fail 'no source archive of a source archive'
cmp "$archive" "${archive#dist/}" ||
    fail 'the source archive of the source archive is another one'

# ---- editable ----------------------------------------------------------------

refused 'run it first' "$pip" install -e "$tree"
ln -s "$build" "$tree/build"
quietly "$pip" install -e "$tree"
runs "$build"
leaves_nothing

# ---- mistakes ----------------------------------------------------------------

refused "no config setting 'bild-dir'; there are build-dir, cmake-args, portable" \
    "$pip" wheel --config-settings bild-dir=x "$source"
refused "'/nowhere' is no folder that cmake built in" \
    "$pip" wheel --config-settings build-dir=/nowhere "$source"
refused "'maybe' is neither yes nor no" \
    "$pip" wheel --config-settings portable=maybe "$source"
refused 'portable: not of a build-dir' "$pip" wheel --config-settings \
    "build-dir=$build" --config-settings portable=yes "$source"
exit 0
