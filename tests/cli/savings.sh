#!/bin/sh
# savings.sh LARDER - what `larder report` offers as a saving is what the whole run
# would need less, within a hundredth, as a program of its own adds it up; and
# whatever `fit` and `tune` say fits does, replayed whole on what they name.  Of
# every snapshot at hand: ours, made-up ones, and real ones beside the source.
. tests/cli/harness

for options in '--events 3000 --seed 1' '--events 6000 --seed 2 --stacks 60' \
    '--events 6000 --seed 3 --version 2.4 --layers 6' \
    '--events 4000 --seed 4 --oom --stacks 30' \
    '--events 4000 --seed 5 --streams 3 --depth 12'; do
    made=$((made + 1))
    # shellcheck disable=SC2086  # several options
    python3 tools/make_snapshot.py $options "$tmp/made$made.pickle" ||
        say_failed "no snapshot: $options"
done
set -- "$tmp"/made*.pickle tests/data/snapshots/*
for real in ../shared/snapshots/*.pickle; do
    [ -f "$real" ] && set -- "$@" "$real"
done

last='the savings'
python3 tests/report/savings.py "$larder" "$@" >"$tmp/out" ||
    say_failed "$(cat "$tmp/out")"
grep -q '^[1-9][0-9]* savings checked, 0 wrong$' "$tmp/out" ||
    say_failed "$(cat "$tmp/out")"

# holds POLICY CONF SIZE FILE: nothing fails there.
holds() {
    expect 0 replay --repeat 0 --json --policy "$1" --conf "$2" \
        --device "sim:$3" "$4"
    is "$4 under '$2' on $3" "$(field oom_count)" 0
}

# A capacity as it is printed, for the command.
printed() {
    sed -n "s/.*$1\([0-9.]*\) \([KMGT]iB\)$2.*/\1\2/p" "$tmp/out" | head -n 1
}

# A device of several is not named on its own by the command.
for file; do
    "$larder" tune --json --no-cache "$file" >"$tmp/out" 2>/dev/null || continue
    [ "$(grep -o '"file":' "$tmp/out" | wc -l)" = 1 ] || continue
    need=$(sed 's/^.*"now":{\([^}]*\)}.*/\1/' "$tmp/out" |
        sed -n 's/.*"min_capacity_bytes":\([0-9]*\).*/\1/p')
    conf=$(sed 's/^.*"inputs":\[{//; s/^.*"conf":"\([^"]*\)".*/\1/' "$tmp/out")
    policy=$(sed 's/^.*"now":{"policy":"\([a-z]*\)".*/\1/' "$tmp/out")
    best=$(sed 's/^.*"best":{\([^}]*\)}.*/\1/' "$tmp/out")
    [ -n "$need" ] || continue
    holds "$policy" "$conf" "$need" "$file"
    case $best in
    *'"conf":null'*) ;;
    *)
        holds "$(echo "$best" | sed 's/"policy":"\([a-z]*\)".*/\1/')" \
            "$(echo "$best" | sed 's/.*"conf":"\([^"]*\)".*/\1/')" \
            "$(echo "$best" | sed 's/.*"min_capacity_bytes":\([0-9]*\).*/\1/')" \
            "$file"
        ;;
    esac
    # What is printed is rounded, and enough all the same.
    "$larder" fit --no-cache --capacity "$need" "$file" >"$tmp/out"
    size=$(printed 'it needs ' '\.')
    [ -n "$size" ] || size=$(printed 'it needs at least ' '\.')
    [ -n "$size" ] && holds "$policy" "$conf" "$size" "$file"
    # After a failure nothing is said to fit.
    if "$larder" report --json "$file" | grep -q '"oom_events":[1-9]' &&
        grep -q ' fits ' "$tmp/out"; then
        say_failed "$file: ends at a failure, and fits: $(cat "$tmp/out")"
    fi
    looked=$((looked + 1))
done
[ "$looked" -gt 5 ] || say_failed "only $looked snapshots were looked at"
finish
