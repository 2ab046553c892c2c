#!/bin/sh
# `larder top` shows a process on a shared device, once, as JSON and live; with
# a management library and without.
# $1: the command.
. tests/cli/harness
# The processes it looks at are prompts of Python, which cannot load a library
# that wants a sanitizer loaded first.
! is_sanitized || exit 77

expect 0 top --help
stdout_has 'Usage: larder top \[OPTION...\]'
expect 2 top --sort size
stderr_has "sort 'size' is not accepted: expected held, in-use, cached, pid or"
expect 2 top --period 5
stderr_has "'5' is not a number from 100 to 60000"
expect 2 top now
stderr_has "unexpected 'now'"

# A process with 96 MiB in use and 32 MiB cached, on a separate simulated
# device.
mkfifo "$tmp/lines"
LARDER_CONF=minimum:16MiB,process_limit:1GiB "$larder" lab \
    --device "sim:8GiB,backing=none,shared=top-${tmp##*.}" \
    <"$tmp/lines" >"$tmp/lab" 2>&1 &
subject=$!
others=
exec 3>"$tmp/lines"
# One that is killed leaves the object of its device.
trap 'exec 3>&-; kill $subject $others 2>/dev/null; wait
    rm -rf "$tmp" /dev/shm/larder-sim2-*-"${tmp##*.}".0' EXIT
cat >&3 <<'LINES'
a = zeros(24, 1024, 1024, device=cuda)
b = zeros(8, 1024, 1024, device=cuda)
del b
LINES

# of PID FIELD: print the field of the process or of its device, or nothing if
# the process is gone.
of() {
    "$larder" top --json --filter "$1" | python3 -c '
import json, sys
for line in sys.stdin:
    device = json.loads(line)
    for process in device["processes"]:
        if process["pid"] == int(sys.argv[1]):
            print(dict(device, **process)[sys.argv[2]])
' "$@"
}

json() {
    of "$subject" "$1"
}

# until_is WANTED COMMAND...: wait until the command prints WANTED.
until_is() {
    wanted=$1
    shift
    tenths=600
    until [ "$("$@")" = "$wanted" ] || [ $((tenths -= 1)) -eq 0 ]; do
        sleep 0.1
    done
    is "$*" "$("$@")" "$wanted"
}

last='top --json'
until_is 134217728 json reserved_bytes
is total_bytes "$(json total_bytes)" 8589934592
is minimum_bytes "$(json minimum_bytes)" 16777216
is limit_bytes "$(json limit_bytes)" 1073741824
# It reports what it uses at its next request after it was asked.
printf 'c = zeros(1, device=cuda)\n' >&3
tenths=300
until [ "$(json cached_bytes)" -lt 40000000 ] && [ "$(json cached_bytes)" -gt 0 ] ||
    [ $((tenths -= 1)) -eq 0 ]; do
    sleep 0.1
done
is 'in use and cached' "$(($(json in_use_bytes) + $(json cached_bytes)))" \
    "$(json reserved_bytes)"

expect 0 top --once --filter "$subject"
stdout_has "^python[0-9.]*  *$subject  *13[0-9] MiB  *-  *13[0-9] MiB .* 16.0 MiB  *1.00 GiB\$"
expect 0 top --once --filter no-such-process
if grep -q "$subject" "$tmp/out"; then
    say_failed 'the filter left in what it should not'
fi

# A management library with a GPU and a process that does not use Larder.
if command -v "${CC:-cc}" >/dev/null; then
    cat >"$tmp/nvml.c" <<'SOURCE'
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned pid; unsigned long long used; unsigned more[2]; } process;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { (void)i; *h = h; return 0; }
int nvmlDeviceGetName(void *h, char *s, unsigned n)
{ (void)h; (void)n; strcpy(s, "A GPU of the test"); return 0; }
int nvmlDeviceGetUUID(void *h, char *s, unsigned n)
{ (void)h; (void)n; strcpy(s, "GPU-00112233-4455-6677-8899-aabbccddeeff"); return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory *m)
{ (void)h; *m = (memory){8ull << 30, 5ull << 30, 3ull << 30}; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, process *p)
{ (void)h; *n = 1; p[0] = (process){.pid = (unsigned)atoi(getenv("NVML_PID")), .used = 2ull << 30}; return 0; }
SOURCE
    "${CC:-cc}" -shared -fPIC -o "$tmp/libnvidia-ml.so.1" "$tmp/nvml.c" || exit 1
    LD_LIBRARY_PATH=$tmp${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    NVML_PID=$$
    export LD_LIBRARY_PATH NVML_PID
    expect 0 top --once --filter $$
    stdout_has '^A GPU of the test: 3.00 GiB of 8.00 GiB in use$'
    stdout_has "^[^ ]*  *$$  *2.00 GiB  *-  *-  *-  *-  *-  *-\$"
    # A filter matches the number of a process only as a whole.
    NVML_PID=1$subject
    expect 0 top --once --filter "$NVML_PID"
    stdout_has " $NVML_PID "
    expect 0 top --once --filter "$subject"
    stdout_has " $subject "
    if grep -q "$NVML_PID" "$tmp/out"; then
        say_failed 'the filter left in a number that has it in it'
    fi
    unset LD_LIBRARY_PATH NVML_PID
else
    echo 'no compiler: the management library is left out'
fi
expect 0 top --once
stdout_has 'processes without Larder are not shown: there is no NVIDIA driver here'

# Live, if terminals are available: sort, filter, limit, ask for a release.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    TERM=xterm LC_ALL=C.UTF-8
    export TERM LC_ALL
    # shellcheck disable=SC2317  # a command of until_is
    shows() {
        grep -aqF -e "$1" "$tmp/live" && echo yes
    }
    # live_begin FILTER: run it on a terminal, with descriptor 6 as the keyboard.
    live_begin() {
        rm -f "$tmp/keys"
        mkfifo "$tmp/keys"
        : >"$tmp/live" # what an earlier one showed is not this one's
        timeout 300 script -qefc "stty cols 140 rows 40; \
            exec $larder top --period 200 --filter $1" /dev/null \
            <"$tmp/keys" >"$tmp/live" 2>&1 3>&- 4>&- 5>&- &
        live=$!
        others="$others $live"
        exec 6>"$tmp/keys"
        until_is yes shows 'by held'
    }
    live_end() {
        printf q >&6
        wait $live
        is 'the status' $? 0
        exec 6>&-
    }

    last='top, live'
    live_begin "$subject"
    is 'the device is shown' "$(shows 'simulated GPU')" yes
    is 'the process is shown' "$(shows "$subject")" yes
    until_is yes shows 'arrows select  s sort  / filter  t release '
    printf 's/%s\nl' "$subject" >&6
    until_is yes shows "limit of $subject (8GiB, 0 for none)"
    printf '2GiB\n' >&6
    until_is yes shows 'is held to that limit from its'
    printf t >&6
    until_is yes shows 'releases it at its next'
    live_end
    printf 'd = zeros(1, device=cuda)\n' >&3
    tenths=300
    until [ "$(json reserved_bytes)" -lt 134217728 ] ||
        [ $((tenths -= 1)) -eq 0 ]; do
        sleep 0.1
    done
    [ "$(json reserved_bytes)" -lt 134217728 ] ||
        say_failed 'the process gave nothing back'
    is limit_bytes "$(json limit_bytes)" 1073741824

    # Only these two processes have this name; the first one holds less, so that
    # numbers and sizes sort differently.
    name=p$$_
    ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$tmp/$name"
    # hold FIFO: run one of them, until it has read all lines.
    hold() {
        mkfifo "$tmp/$1"
        LARDER_PYTHON="$tmp/$name" "$larder" lab --device "sim:8GiB,backing=none,shared=pick-${tmp##*.}" \
            <"$tmp/$1" >"$tmp/lab.$1" 2>&1 3>&- 4>&- &
    }
    hold less
    less=$!
    exec 4>"$tmp/less"
    hold more
    more=$!
    exec 5>"$tmp/more"
    others="$others $less $more"
    printf 'a = zeros(4, 1024, 1024, device=cuda)\n' >&4
    printf 'a = zeros(64, 1024, 1024, device=cuda)\n' >&5
    until_is 268435456 of "$more" reserved_bytes
    until_is 16777216 of "$less" reserved_bytes

    # What is live is not offered, nor asked for.
    is 'what is cached' "$(of "$more" cached_bytes)" 0
    live_begin "$name"
    until_is yes shows 'arrows select  s sort  / filter  l limit  q quit'
    printf t >&6
    until_is yes shows "$more has no cached memory: all it holds is in use"
    # The selected process stays selected when it moves in another order.
    printf 'sssl3GiB\n' >&6
    until_is 3221225472 of "$more" limit_bytes
    is 'the other limit' "$(of "$less" limit_bytes)" None
    # The other process ends while its limit is typed: the limit applies to
    # none.
    if [ "$less" -lt "$more" ]; then
        printf '\033OA' >&6
    else
        printf '\033OB' >&6
    fi
    printf l >&6
    until_is yes shows "limit of $less (8GiB, 0 for none): "
    exec 4>&-
    wait "$less"
    until_is '' of "$less" pid
    printf '1GiB\n' >&6
    until_is yes shows 'no longer shown'
    is 'the limit of its neighbour' "$(of "$more" limit_bytes)" 3221225472
    # Print the selected process.
    printf 'l2GiB\n' >&6
    until_is 2147483648 of "$more" limit_bytes
    live_end
    exec 5>&-
    wait "$more"
fi

# A terminal that nobody knows: not even tried.  ncurses loses what it made for
# such a one, which is not ours to find.
TERM=nonsense ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS} python3 -c 'import os, pty, sys
sys.exit(os.WEXITSTATUS(pty.spawn(sys.argv[1:])))' "$larder" top \
    </dev/null >"$tmp/out" 2>&1
status=$?
last='top, a terminal that is not known'
is status $status 2
stdout_has "unknown terminal 'nonsense' (TERM)"
finish
