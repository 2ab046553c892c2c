#!/bin/sh
# Output files appear complete and in the right place, and writing them blocks
# on nobody; `larder exec` forwards signals.
# $1: the command.
. tests/cli/harness
trace=$tmp/t.trace
snapshot=tests/data/snapshots/v2.13.pickle
printf 'a 0 1000\na 1 2000\nf 0\nf 1\n' >"$trace"
printf 'p 0 0\np 1 1024\n' >"$tmp/wanted"

# file NAME: print its contents.
text() {
    cat "$tmp/$1" 2>/dev/null
}

placements() {
    timeout 20 "$larder" replay --policy pytorch --placements "$1" "$trace" \
        >"$tmp/out" 2>"$tmp/err" </dev/null
}

last='replay --placements'
placements "$tmp/p"
is 'exit status' $? 0
is 'placements' "$(text p)" "$(text wanted)"

# An existing file keeps its mode, and a symbolic link stays one.
: >"$tmp/real"
chmod 640 "$tmp/real"
ln -s real "$tmp/link"
placements "$tmp/link"
is 'exit status' $? 0
is 'placements through a link' "$(text real)" "$(text wanted)"
is 'the mode' "$(stat -c %a "$tmp/real")" 640
is 'the link' "$(readlink "$tmp/link")" real
: >"$tmp/page"
chmod 600 "$tmp/page"
ln -s page "$tmp/to_page"
"$larder" view "$snapshot" -o "$tmp/to_page"
is 'view' $? 0
is 'the mode' "$(stat -c %a "$tmp/page")" 600
is 'the link' "$(readlink "$tmp/to_page")" page

# A descriptor is written to, by each of its names; a link to it stays a link.
ln -s /proc/self/fd/3 "$tmp/three"
placements "$tmp/three" 3>"$tmp/third"
is 'exit status' $? 0
is 'placements on descriptor 3' "$(text third)" "$(text wanted)"
is 'the link' "$(readlink "$tmp/three")" /proc/self/fd/3
"$larder" view "$snapshot" -o "$tmp/three" 3>"$tmp/third"
is 'view on descriptor 3' "$?" 0
is 'the link' "$(readlink "$tmp/three")" /proc/self/fd/3
grep -q '<html' "$tmp/third" || say_failed 'the page is not on descriptor 3'

# A pipe without a reader or writer.
mkfifo "$tmp/pipe"
placements "$tmp/pipe"
is 'a pipe that nobody reads' $? 2
grep -q 'nobody reads' "$tmp/err" || say_failed 'nothing is said of the pipe'
timeout 20 "$larder" replay --device "sim:1GiB,costs=$tmp/pipe" "$trace" \
    >"$tmp/out" 2>"$tmp/err"
is 'prices that nobody writes' $? 2

# A failed replay leaves the existing file unchanged.
printf 'a 0 1000\nwrong\n' >"$tmp/bad.trace"
echo old >"$tmp/p"
"$larder" replay --placements "$tmp/p" "$tmp/bad.trace" >/dev/null 2>&1
is 'the old placements' "$(text p)" old

# Signals leave no partially written file.
mkdir "$tmp/folder"
mkfifo "$tmp/input"
for signal in TERM HUP KILL; do # a shell has INT ignored behind it
    (
        exec 3<>"$tmp/input"
        exec setsid "$larder" replay --placements "$tmp/folder/p" \
            "$tmp/input" >/dev/null 2>&1
    ) &
    sleep 0.3
    kill -s $signal $! 2>/dev/null
    wait $! 2>/dev/null
    is "files after SIG$signal" "$(ls -A "$tmp/folder")" ''
done

# Signals sent to `larder exec` are forwarded to the program, and no files
# remain.
last='exec'
TMPDIR=$tmp/exec_tmp
export TMPDIR
mkdir "$TMPDIR"
for signal in TERM HUP USR1; do
    "$larder" exec --quiet sh -c \
        "trap 'echo got >\"$tmp/got\"; exit 9' $signal
         echo ready >\"$tmp/ready\"
         while :; do sleep 0.05; done" &
    while [ ! -e "$tmp/ready" ]; do sleep 0.05; done
    kill -s $signal $!
    wait $!
    is "exit status after SIG$signal" $? 9
    is 'the trap' "$(text got)" got
    is 'what is left' "$(ls -A "$TMPDIR")" ''
    rm -f "$tmp/got" "$tmp/ready"
done
unset TMPDIR

# A set-user-ID program ignores the caller's environment.
cp "$larder" "$tmp/setuid"
if [ "$(id -u)" = 0 ] && ! is_sanitized && chown 65534 "$tmp/setuid" && chmod 4755 "$tmp/setuid"
then
    chmod 755 "$tmp"
    last='set-user-ID'
    LARDER_CONF=no_such_key:1 "$tmp/setuid" replay "$trace" >"$tmp/out" \
        2>"$tmp/err"
    is 'LARDER_CONF is not read' $? 0
    LARDER_CONF=no_such_key:1 "$larder" replay "$trace" >/dev/null 2>&1
    is 'it is by others' $? 2
fi
finish
