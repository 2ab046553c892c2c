#!/bin/sh
# The preload library works below a program of the driver API, however the
# program finds the calls.
# $1: the command.
. tests/cli/harness
folder=$(dirname "$1")
subjects=$folder/tests/preload
if ! [ -e "$folder/liblarder_preload.so" ]; then
    echo "no preload library in this build"
    exit 77
fi
for name in CONF PRELOAD PRELOAD_STATS PRELOAD_SNAPSHOT PRELOAD_SIGNAL; do
    unset "LARDER_$name"
done

# under MODE WAY WHAT: run the program on the library: its output in $tmp/out,
# the report of the fake driver in $tmp/report, statistics in $tmp/stats.  A cache
# alone: exec would have it move memory, too.
under() {
    last="exec --preload $*"
    rm -f "$tmp/stats" "$tmp/report"
    subject=$subjects/preload_subject_plain
    [ "$2" = linked ] && subject=$subjects/preload_subject_linked
    LARDER_CONF=${LARDER_CONF:+$LARDER_CONF,}migrate:off \
        LARDER_PRELOAD_STATS=${stats:-$tmp/stats} \
        "$larder" exec --preload "$1" --sim 256MiB --json \
        --report "$tmp/report" "$subject" "$2" "$3" \
        >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    is 'exit status' "$status" "${wanted:-0}"
}

# in FILE NAME: print the number of that name in its JSON line.
in_file() {
    sed -n '1s/.*"'"$2"'":\([0-9]*\).*/\1/p' "$1"
}

# ---- nothing stays behind ------------------------------------------------------

# The ledgers that no process has open.
dead_ledgers() {
    for ledger in /dev/shm/larder-ledger1-*; do
        [ -e "$ledger" ] || continue
        grep -qsF "$ledger" /proc/[0-9]*/maps || echo "$ledger"
    done
}

# Other tests may be between opening and mapping theirs: those go.
dead_ledgers | sort >"$tmp/before"
under cache linked churn
tries=5
while dead_ledgers | sort | comm -13 "$tmp/before" - | grep -q .; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || {
        say_failed 'a ledger is left in /dev/shm'
        break
    }
    sleep 0.2
done

# ---- every entry point, cached or not ----------------------------------------

for way in linked dlsym lookup; do
    under cache $way churn
    is 'driver allocations' "$(in_file "$tmp/report" mem_alloc)" 1
    is 'driver frees' "$(in_file "$tmp/report" mem_free)" ''
    is 'broken rules' "$(in_file "$tmp/report" broken_rules)" 0
    is 'allocations' "$(in_file "$tmp/stats" allocations)" 200
    is 'frees' "$(in_file "$tmp/stats" frees)" 200
    is 'left' "$(in_file "$tmp/stats" live_bytes)" 0
    # 2 MiB hold two blocks: every second allocation waits.
    is 'waits' "$(in_file "$tmp/stats" waits)" 99

    under limit $way churn
    is 'driver allocations' "$(in_file "$tmp/report" mem_alloc)" 200
    is 'driver frees' "$(in_file "$tmp/report" mem_free)" 200
    is 'allocations' "$(in_file "$tmp/stats" allocations)" 200

    under off $way churn
    is 'driver allocations' "$(in_file "$tmp/report" mem_alloc)" 200
    is 'statistics' "$(ls "$tmp/stats" 2>/dev/null)" ''

    LARDER_CONF=limit:32MiB
    export LARDER_CONF
    under cache $way big
    is 'the answer' "$(cat "$tmp/out")" 'big 2'
    is 'refused' "$(in_file "$tmp/stats" refused)" 1
    is 'limit' "$(in_file "$tmp/stats" limit_bytes)" 33554432
    under limit $way info
    is 'the answer' "$(cat "$tmp/out")" \
        'free 33554432 total 33554432 device 33554432'
    unset LARDER_CONF

    under cache,pause $way pause
    is 'the answer' "$(cat "$tmp/out")" 'more free: 12582912'
    is 'broken rules' "$(in_file "$tmp/report" broken_rules)" 0
done

under cache linked next
is 'the answer' "$(cat "$tmp/out")" next
wanted=99 under cache dlsym pause

# A fraction of the device is a limit; the last value applies.
LARDER_CONF='per_process_memory_fraction: 0.25, limit:1GiB, limit: 128 MiB'
export LARDER_CONF
under limit dlsym info
is 'the answer' "$(cat "$tmp/out")" \
    'free 67108864 total 67108864 device 67108864'
unset LARDER_CONF

# A limit of the whole process is enforced by the ledger, which it joins.
for mode in cache limit; do
    for size in 32MiB 64MiB; do
        last="exec --preload $mode --limit $size"
        "$larder" exec --preload $mode --limit $size --sim 256MiB --quiet \
            "$subjects/preload_subject_linked" linked big >"$tmp/out" 2>&1
        is 'exit status' "$?" 0
        wanted='big 0'
        [ $size = 32MiB ] && wanted='big 2'
        is 'the answer' "$(cat "$tmp/out")" "$wanted"
    done
done
unset wanted

# Memory cached by one program is available to another while the first is idle;
# without moving, because pages to move may hold what is cached and what is not.
mkfifo "$tmp/tell" "$tmp/said"
for thread in False True; do
    LARDER_CONF=ledger_thread:$thread,migrate:off
    export LARDER_CONF
    "$larder" exec --preload cache --sim "64MiB,shared=preload-${tmp##*.}" --quiet \
        "$subjects/preload_subject_plain" lookup cache \
        <"$tmp/tell" >"$tmp/said" &
    program=$!
    exec 3>"$tmp/tell"
    read -r word <"$tmp/said"
    is 'the first' "$word" held
    last="exec, beside a cache, ledger_thread:$thread"
    LARDER_CONF=ask_budget_ms:100
    answer='big 2'
    if [ $thread = True ]; then
        LARDER_CONF=ask_budget_ms:60000
        answer='big 0'
    fi
    "$larder" exec --preload cache --sim "64MiB,shared=preload-${tmp##*.}" --quiet \
        "$subjects/preload_subject_linked" linked big >"$tmp/out" 2>&1
    is 'the answer' "$(cat "$tmp/out")" "$answer"
    unset LARDER_CONF
    echo >&3
    exec 3>&-
    wait $program
    is 'exit status' "$?" 0
done

rm -f "/dev/shm/larder-sim2-preload-${tmp##*.}.0"

# ---- output ---------------------------------------------------------------------

stats=- under cache dlsym churn
stderr_has '^Larder, GPU 0 (cache): 200 allocations and 200 frees by 1 and 0 '

# A forked child writes nothing, and each process writes its own line.
under cache dlsym fork
is 'lines' "$(wc -l <"$tmp/stats")" 1
stats=$tmp/of-%p under cache dlsym churn
is 'files' "$(cat "$tmp"/of-[0-9]* | wc -l)" 1

LARDER_PRELOAD_SNAPSHOT=$tmp/end.pickle
export LARDER_PRELOAD_SNAPSHOT
under cache linked churn
unset LARDER_PRELOAD_SNAPSHOT
expect 0 report --json "$tmp/end.pickle"
is 'peak' "$(field peak_allocated_bytes)" 2097152
is 'reserved' "$(field peak_reserved_bytes)" 2097152

# Statistics are written on a signal, while the program is idle.
mkfifo "$tmp/line"
LARDER_PRELOAD_SNAPSHOT=$tmp/now.json LARDER_PRELOAD_SIGNAL=USR2 \
    LARDER_PRELOAD=cache LARDER_FAKECUDA=sim:256MiB \
    LD_LIBRARY_PATH=$folder/fakecuda \
    LD_PRELOAD=$folder/liblarder_preload.so \
    "$subjects/preload_subject_plain" lookup wait <"$tmp/line" >"$tmp/held" &
program=$!
exec 3>"$tmp/line"
tries=0
while ! [ -s "$tmp/held" ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -USR2 $program
while ! [ -s "$tmp/now.json" ] && [ $tries -lt 200 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
cp "$tmp/now.json" "$tmp/kept.json"
echo >&3
exec 3>&-
wait $program
is 'exit status' "$?" 0
expect 0 report --json "$tmp/kept.json"
is 'held at the signal' "$(field peak_allocated_bytes)" 3145728

# ---- the first call ------------------------------------------------------------

# A constructor and a thread may be the first at once.
last='exec --preload cache preload_first'
timeout 20 "$larder" exec --preload cache --sim 256MiB \
    "$subjects/preload_first" "$subjects/preload_first_library.so" \
    >"$tmp/out" 2>"$tmp/err" </dev/null
is 'exit status' "$?" 0
stdout_has '^found$'

# ---- invalid settings -------------------------------------------------------------

# The command knows the words; the library has to where it is alone.
wanted=99
last='exec --preload cache sh -c LARDER_PRELOAD=cache,fast ...'
# shellcheck disable=SC2016
LARDER_PRELOAD_STATS=$tmp/stats "$larder" exec --preload cache --sim 256MiB \
    sh -c 'LARDER_PRELOAD=cache,fast exec "$0" dlsym churn' \
    "$subjects/preload_subject_plain" >"$tmp/out" 2>"$tmp/err" </dev/null
is 'exit status' "$?" 99
stderr_has "LARDER_PRELOAD: 'cache,fast' is not one of cache, limit, gate, off, and"
stdout_has 'gave 800'
LARDER_CONF=limit:lots
export LARDER_CONF
under cache dlsym churn
stderr_has "liblarder_preload: LARDER_CONF: .*limit"
unset LARDER_CONF
LARDER_PRELOAD_SIGNAL=KILL
export LARDER_PRELOAD_SIGNAL
under cache dlsym churn
stderr_has "LARDER_PRELOAD_SIGNAL: 'KILL' is not one of USR1, USR2, HUP"
LARDER_PRELOAD_SIGNAL=USR1
under cache dlsym churn
stderr_has "is not useful without LARDER_PRELOAD_SNAPSHOT"
unset LARDER_PRELOAD_SIGNAL
wanted=0
stats=/nowhere/stats under cache dlsym churn
stderr_has "^liblarder_preload: /nowhere/stats: "

# Every word of the library's is one of exec's, which has a list of its own.
sed -n 's/.*word_is(at, length, "\([a-z]*\)").*/\1/p' \
    adapters/preload/settings.c >"$tmp/words"
[ "$(wc -l <"$tmp/words")" -ge 5 ] || say_failed 'the library has few words'
while read -r word; do
    expect 0 exec --preload "$word" --sim 64MiB --quiet true
done <"$tmp/words"

# exec has a cache move live memory, unless the settings or its words say not.
# shellcheck disable=SC2016
mode_of() {
    LARDER_CONF=$1 "$larder" exec --preload "$2" --sim 64MiB --quiet \
        sh -c 'echo "$LARDER_PRELOAD"'
}
is 'a cache' "$(mode_of '' cache)" cache,migrate
is 'a cache' "$(mode_of 'limit:32MiB, migrate : on' cache)" cache,migrate
is 'a cache' "$(mode_of 'migrate:off,limit:32MiB' cache)" cache
is 'a cache' "$(mode_of 'migrate:on , migrate: off' cache)" cache
is 'a cache' "$(mode_of '' cache,pause)" cache,pause
is 'a limit' "$(mode_of '' limit)" limit

LARDER_PRELOAD_LIBRARY=/nowhere.so
export LARDER_PRELOAD_LIBRARY
expect 2 exec --preload cache true
stderr_has "LARDER_PRELOAD_LIBRARY '/nowhere.so' cannot be read"
finish
