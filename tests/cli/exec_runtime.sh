#!/bin/sh
# `larder exec`: programs of the CUDA runtime, and, if nvcc is installed, one
# with a kernel, linked with the runtime both ways.
# $1: the command.
. tests/cli/harness
subject=$(dirname "$1")/tests/cudart/runtime_subject
runtime=$(dirname "$1")/cudart

# run STATUS ARGUMENT...: like expect, but ignore the standard error.
run() {
    wanted=$1
    shift
    last="exec $*"
    "$larder" exec "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    is 'exit status' "$?" "$wanted"
}

# By name, and by path if the name is used by something else.
run 0 --sim 1GiB "$subject" libcudart.so.12
stderr_has '^  memory       6.00 MiB at most, of 1.00 GiB$'
run 2 --sim 4MiB "$subject" libcudart.so.13
mkdir "$tmp/wheel"
echo 'no library' >"$tmp/wheel/libcudart.so.12"
if [ -e "$runtime/liblarder_redirect.so" ]; then
    run 0 --json "$subject" "$tmp/wheel/libcudart.so.12"
    cp "$tmp/err" "$tmp/out"
    is 'held at the end' "$(field held_bytes)" 6291456
fi
run 99 --sim none "$subject" "$tmp/wheel/libcudart.so.12"

LARDER_CUDART_DIR=/nowhere
export LARDER_CUDART_DIR
run 2 true
stderr_has "LARDER_CUDART_DIR '/nowhere' does not contain libcudart.so.13"
unset LARDER_CUDART_DIR

nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)
# nvcc's programs are built without a sanitizer, which our libraries would need.
{ [ -n "$nvcc" ] && ! is_sanitized; } || finish
source=tests/cudart/subject/kernels.cu
"$nvcc" -cudart shared -o "$tmp/shared" "$source" >"$tmp/out" 2>&1 ||
    say_failed "nvcc: $(cat "$tmp/out")"
run 0 --sim 64MiB "$tmp/shared" 0x10000000
stdout_has '^capability 8.0, 64 MiB$'
stdout_has '^more: cudaErrorMemoryAllocation$'
stderr_has '^  launches     3, kernels and graphs; none ran$'
LARDER_FAKECUDA_CAPABILITY=9.0 run 0 --sim 64MiB "$tmp/shared"
stdout_has '^capability 9.0, '
LARDER_FAKECUDA_CAPABILITY=x run 99 --sim 64MiB "$tmp/shared"
stderr_has "LARDER_FAKECUDA_CAPABILITY: 'x' is not MAJOR.MINOR"

# With the runtime within it, as nvcc links by default: the same.
"$nvcc" -o "$tmp/static" "$source" >"$tmp/out" 2>&1 ||
    say_failed "nvcc: $(cat "$tmp/out")"
run 0 --sim 64MiB "$tmp/static" 0x10000000
stdout_has '^capability 8.0, 64 MiB$'
stdout_has '^more: cudaErrorMemoryAllocation$'
stderr_has '^  memory       12.0 MiB at most, of 64.0 MiB$'
stderr_has '^  launches     3, kernels and graphs; none ran$'
LARDER_FAKECUDA_CAPABILITY=9.0 run 0 --sim 64MiB "$tmp/static"
stdout_has '^capability 9.0, '
run 99 --sim none "$tmp/static"
last='run static'
"$larder" run "$tmp/static" >"$tmp/out" 2>"$tmp/err" </dev/null
is 'exit status' "$?" 0
stdout_has '^    12.00 MiB  held from the driver$'

# All that programs ask of it; two parts, whose device code is linked.
folder=tests/cudart/subject
library=
if [ -e "$(dirname "$(readlink -f "$nvcc")")/../lib64/libcublas.so" ]; then
    library='-DWITH_CUBLAS -lcublas'
fi
# shellcheck disable=SC2086  # words
"$nvcc" -std=c++17 -rdc=true -o "$tmp/within" "$folder/within.cu" \
    "$folder/within_part.cu" $library >"$tmp/out" 2>&1 ||
    say_failed "nvcc: $(cat "$tmp/out")"
for words in '' '--preload limit' '--preload cache'; do
    # shellcheck disable=SC2086  # words
    run 0 --sim 256MiB,count=2 $words "$tmp/within"
    stdout_has '^all done$'
    # It resets the first GPU before its end.
    [ "$words" = '--preload cache' ] || stderr_has '^  held at end  0 B$'
    is 'words on the standard error' "$(grep -c '^larder: ' "$tmp/err")" 0
done
finish
