#!/bin/sh
# doctor.sh LARDER - `larder doctor` finds what is installed and what is wrong:
# the driver, limits, versions, harmful settings.
. tests/cli/harness
unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF PYTORCH_ALLOC_CONF
unset PYTORCH_NO_CUDA_MEMORY_CACHING CUDA_VISIBLE_DEVICES LARDER_PYTHON
fakecuda=$(dirname "$larder")/fakecuda

# doctor STATUS ASSIGNMENT...: run it in that environment, with JSON output.  On
# some machines it finds other problems, and the status is always 1.
doctor() {
    wanted=$1
    shift
    last="doctor --json ($*)"
    env "$@" "$larder" doctor --json >"$tmp/out" 2>"$tmp/err"
    status=$?
    [ -s "$tmp/err" ] && say_failed "said $(cat "$tmp/err")"
    if [ "$status" -ne "$wanted" ] && [ "$own_problems" -eq 0 ]; then
        say_failed "exit status $status, expected $wanted"
    fi
}

# finding NAME GRADE TEXT: there is a finding of that name and grade whose text
# or advice contains TEXT.
finding() {
    python3 - "$tmp/out" "$1" "$2" "$3" <<'PYTHON' || say_failed "no $2 '$1' with '$3'"
import json, sys
path, name, grade, text = sys.argv[1:]
found = [f for f in json.load(open(path))["findings"] if f["name"] == name
         and f["grade"] == grade and text in f["said"] + str(f["advice"])]
sys.exit(not found)
PYTHON
}

own_problems=1
doctor 0
own_problems=$(field problems)

finding larder ok "$("$larder" version | sed 's/larder //')"
finding kernel ok "$(uname -r)"
finding Python ok "$(python3 -c 'import sys; print(sys.version.split()[0])')"
expect "$status" doctor
stdout_has '^driver$'
stdout_has '^  ok       larder: '

# ---- the driver --------------------------------------------------------------

doctor 0 LD_LIBRARY_PATH="$tmp"
[ -e /dev/nvidiactl ] || {
    finding cuda note "libcuda.so.1: cannot open shared object file"
    finding cuda note "LD_LIBRARY_PATH ($tmp)"
    finding cuda note 'the simulated one (sim:SIZE) works'
}

last='exec doctor'
"$larder" exec --quiet --sim 24GiB,count=2 "$larder" doctor --json >"$tmp/out"
finding cuda ok "$(realpath "$fakecuda")/libcuda.so.1, 2 GPUs"
finding GPU ok 'cuda:1 is simulated GPU, 24.0 GiB; virtual memory in pages of 2.00 MiB'
"$larder" exec --quiet --sim 24GiB,vmm=off "$larder" doctor --json >"$tmp/out"
finding GPU note 'no virtual memory'

printf 'not a library' >"$tmp/libcuda.so.1"
doctor 0 LD_LIBRARY_PATH="$tmp"
[ -e /dev/nvidiactl ] || finding cuda note 'file too short'

# ---- limits ------------------------------------------------------------------

last='doctor under limits'
# shellcheck disable=SC3045  # dash, bash and busybox have both
(
    ulimit -n 64
    is_sanitized || ulimit -v 4194304
    "$larder" doctor --json >"$tmp/out"
)
is 'exit status under limits' "$?" 1
finding 'open files' problem '64 (RLIMIT_NOFILE)'
is_sanitized || finding 'address space' problem 'limited to 4.00 GiB'

# ---- versions ----------------------------------------------------------------

# Create a Python with PyTorch of that version.
with_pytorch() {
    printf '#!/bin/sh\necho 3.12.1\necho %s\n' "$1" >"$tmp/python"
    chmod +x "$tmp/python"
}
doctor 0 LARDER_PYTHON="$tmp/nonesuch"
finding Python note "$tmp/nonesuch cannot be started"
with_pytorch 2.12.0+cu128
doctor 0 LARDER_PYTHON="$tmp/python"
finding Python ok 3.12.1
finding PyTorch ok 2.12.0+cu128

# ---- settings ----------------------------------------------------------------

doctor 1 LARDER_CONF=nonesuch:1
finding LARDER_CONF problem nonesuch
doctor 1 LARDER_CONF="$(printf 'nonesuch\377:1')"
finding LARDER_CONF problem nonesuch
doctor 0 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
finding PYTORCH_CUDA_ALLOC_CONF ok expandable_segments:True

pinned=PYTORCH_CUDA_ALLOC_CONF=pinned_max_round_threshold_mb:64
doctor 0 "$pinned" LARDER_PYTHON="$tmp/python" # 2.12
grep -q overrun "$tmp/out" && say_failed 'warns of a release without the fault'
with_pytorch 2.15.0
doctor 0 "$pinned" LARDER_PYTHON="$tmp/python"
grep -q overrun "$tmp/out" && say_failed 'warns of a release without the fault'
with_pytorch 2.13.1
doctor 1 "$pinned" LARDER_PYTHON="$tmp/python"
finding 'pinned memory' problem 'pytorch#192722'

both='PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64'
doctor 1 "$both" PYTORCH_ALLOC_CONF=expandable_segments:True
finding PYTORCH_ALLOC_CONF problem 'PYTORCH_CUDA_ALLOC_CONF is set, too'
with_pytorch 2.9.1+cu126
doctor 1 PYTORCH_ALLOC_CONF=expandable_segments:True LARDER_PYTHON="$tmp/python"
finding 'expandable segments' problem 'ignores expandable_segments'
doctor 0 PYTORCH_NO_CUDA_MEMORY_CACHING=1
finding PYTORCH_NO_CUDA_MEMORY_CACHING note 'every tensor'

expect 2 doctor --jsno
stderr_has "did you mean '--json'?"
expect 2 doctor please
stderr_has "unexpected 'please'"
finish
