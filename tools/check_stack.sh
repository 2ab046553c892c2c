#!/bin/sh
# check_stack.sh BUILD - programs of the stack that people install, on simulated
# cards: `make check-stack`.
#
# Each file tests/stack/*.py or *.sh is a check.  LARDER_STACK_PYTHON is a Python
# with PyTorch for CUDA (default: python3); a check that lacks something exits 77
# and says what in its last line.  Prints N of N.
set -u
build=$(cd "$1" && pwd) || exit 2
folder=$(cd "$(dirname "$0")/../tests/stack" && pwd) || exit 2
python=${LARDER_STACK_PYTHON:-python3}
passed=0
tried=0
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT

for check in "$folder"/*; do
    name=$(basename "$check")
    case $check in
    *.py) "$python" "$check" "$build" >"$out" 2>&1 ;;
    *.sh) LARDER_STACK_PYTHON=$python sh "$check" "$build" >"$out" 2>&1 ;;
    *) continue ;;
    esac
    status=$?
    case $status in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    *) verdict=FAILED ;;
    esac
    printf '%s: %s: %s\n' "$name" "$verdict" "$(tail -n 1 "$out")"
    [ "$status" -eq 77 ] && continue
    tried=$((tried + 1))
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
    else
        sed 's/^/    /' "$out"
    fi
done
echo "$passed of $tried"
[ "$passed" -eq "$tried" ]
