#!/bin/sh
# lint.sh [--fast] BUILD - runs the static checks of tools other than compilers
# on the sources; BUILD is a configured build folder.  A tool that is not
# installed is skipped and named.  --fast leaves out clang-tidy and cppcheck.
# Exits with 1 if anything needs to be fixed.
# shellcheck disable=SC2317  # functions are called by name, through run()
set -u
cd "$(dirname "$0")/.." || exit 2
fast=no
if [ "${1:-}" = --fast ]; then
    fast=yes
    shift
fi
build=${1:-build}
jobs=$(nproc 2>/dev/null || echo 2)
status=0

# run TOOL COMMAND...: COMMAND must succeed, if TOOL is installed.
run() {
    tool=$1
    shift
    if ! command -v "$tool" >/dev/null; then
        echo "lint: $tool is not installed: skipped"
        return
    fi
    echo "lint: $tool"
    "$@" || status=1
}

shell_scripts() {
    find .ci tools tests bench -name '*.sh' -o -path '.ci/*' -type f |
        LC_ALL=C sort
}

layout() {
    tools/list_sources.sh | xargs clang-format --dry-run -Werror
}

# One process per file: with several files, version 14 reports va_start()
# wrongly.
tidy() {
    find src lab cli adapters -name '*.c' | LC_ALL=C sort |
        xargs -P "$jobs" -n 1 clang-tidy -p "$build" --extra-arg=-UNDEBUG --quiet 2>"$build/tidy.log"
    result=$?
    grep -v 'warnings generated\|^Suppressed\|^Use -header' "$build/tidy.log"
    return "$result"
}

# It follows calls without considering the conditions around them.
check_c() {
    cppcheck --quiet --std=c11 --language=c -j "$jobs" --error-exitcode=1 \
        --enable=warning,portability,performance --inline-suppr \
        --suppress=missingIncludeSystem --suppress=ctunullpointer \
        --suppress=ctuuninitvar -D_GNU_SOURCE -Iinclude -Isrc \
        -Ilab/include -Ilab -Icli -Iadapters -Iadapters/torch/include -Iadapters/preload \
        -Iadapters/preload/include -Iadapters/functions/include \
        src lab cli adapters
}

check_shell() {
    shell_scripts | xargs shellcheck -x
}

run clang-format layout
run shellcheck check_shell
if [ $fast = no ]; then
    run clang-tidy tidy
    run cppcheck check_c
fi
exit $status
