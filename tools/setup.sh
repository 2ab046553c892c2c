#!/bin/sh
# setup.sh [--optional | --tests] - ensures that everything the build needs is
# installed.
#
# --optional lists what else is useful, and for what, and installs nothing.
# --tests installs Chromium, which the tests of the viewer use if available, and
# pytest, for those of its plugin: only by root, and a failure is no error.
#
# It looks for the things themselves, not for packages, so that any system that
# has them will do.  Missing ones are installed if this is root on a system with
# apt-get; otherwise they are listed, and the exit status is 2.
set -u

missing=

# need PACKAGE COMMAND...: PACKAGE is missing unless COMMAND succeeds.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

# Called through need().
# shellcheck disable=SC2317
has_libc_headers() {
    echo '#include <stdlib.h>' | "${CC:-cc}" -E -
}

check() {
    missing=
    need gcc command -v "${CC:-cc}"
    need libc6-dev has_libc_headers
    need cmake command -v cmake
    need pkg-config command -v pkg-config
    need libcmocka-dev pkg-config --exists cmocka
    need libzstd-dev pkg-config --exists libzstd
    need libjansson-dev pkg-config --exists jansson
    need libncurses-dev pkg-config --exists ncursesw
    need python3 python3 -c 'import ctypes, json'
}

can_install() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null
}

install_missing() {
    echo "installing:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || return
    # The names are separate words.
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# use PACKAGE PURPOSE COMMAND...: the same for an optional package.
use() {
    package=$1
    purpose=$2
    shift 2
    "$@" >/dev/null 2>&1 || printf '%-14s %s\n' "$package" "$purpose"
}

# Called through need() and use().
# shellcheck disable=SC2317
has_browser() {
    command -v chromium || command -v chromium-browser ||
        command -v google-chrome
}

# Debian's package is for Debian's Python.
# shellcheck disable=SC2317
has_pytest() {
    python3 -c 'import pytest' || [ "$(command -v python3)" != /usr/bin/python3 ]
}

check_tests() {
    missing=
    need chromium has_browser
    need python3-pytest has_pytest
    [ -n "$missing" ] || return
    if can_install && install_missing; then
        return
    fi
    echo "setup.sh: without$missing some tests are skipped"
}

name_optional() {
    use python3-venv 'pip, for the Python package' python3 -c 'import ensurepip'
    use g++ 'tests in C++' command -v "${CXX:-c++}"
    use chromium 'tests of the viewer' has_browser
    use emscripten 'make app, make site' command -v emcmake
    use python3-pytest 'tests of the plugin for pytest' python3 -c 'import pytest'
    use clang-format 'make format, make lint' command -v clang-format
    use clang-tidy 'make lint' command -v clang-tidy
    use cppcheck 'make lint' command -v cppcheck
    use shellcheck 'make lint' command -v shellcheck
}

if [ "${1-}" = --optional ]; then
    name_optional
    exit 0
fi
if [ "${1-}" = --tests ]; then
    check_tests
    exit 0
fi

check
[ -n "$missing" ] || exit 0
if can_install; then
    install_missing && check
    [ -n "$missing" ] || exit 0
    echo "setup.sh: still missing:$missing" >&2
    exit 2
fi
echo "setup.sh: some packages are missing; on Debian or Ubuntu, run" >&2
echo "    sudo apt-get install$missing" >&2
exit 2
