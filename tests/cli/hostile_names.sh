#!/bin/sh
# File names may contain anything: no command prints a control sequence that a
# terminal would obey.
# $1: the command.
. tests/cli/harness

# Escape sequences for a colour and a title, a bell, a line end, C1's
# introducer, and what turns the direction of text around.
odd=$(printf 'a\033[31m\033]0;t\007b\nc\302\233d\342\200\256e\342\201\246f')
folder=$tmp/$odd
mkdir "$folder"
printf 'a 0 1000\nf 0\n' >"$folder/good.trace"
printf 'a 0 1099511627776\n' >"$folder/huge.trace"
printf 'junk %s\n' "$odd" >"$folder/bad.trace"
cp "$folder/bad.trace" "$folder/bad.pickle"
cp tests/data/snapshots/v2.13.pickle "$folder/good.pickle"
none=$folder/none

# tells NAME ARGUMENT...: NAME is printed, and the output is only lines of text.
tells() {
    name=$1
    shift
    last=$*
    "$larder" "$@" >"$tmp/out" 2>&1 </dev/null
    grep -q "c?d.*$name" "$tmp/out" ||
        say_failed "does not tell $name: $(cat -v "$tmp/out")"
    is_plain "$tmp/out"
}

# is_plain FILE: it has neither control characters nor marks of direction.
is_plain() {
    if LC_ALL=C tr -d '\n\040-\176\200-\377' <"$1" | grep -q . ||
        LC_ALL=C grep -qa -e "$(printf '\302[\200-\237]')" \
            -e "$(printf '\330\234')" -e "$(printf '\342\200[\216\217\250-\256]')" \
            -e "$(printf '\342\201[\246-\251]')" "$1"; then
        say_failed "a terminal would obey: $(cat -v "$1")"
    fi
}

for verb in replay report tune; do
    tells none "$verb" "$none"
    tells bad.pickle "$verb" "$folder/bad.pickle"
done
tells none diff "$none" "$folder/good.pickle"
tells bad.pickle diff "$folder/bad.pickle" "$folder/good.pickle"
tells none view -o "$tmp/page" "$none"
tells bad.pickle view -o "$tmp/page" "$folder/bad.pickle"
tells bad.trace replay "$folder/bad.trace"
tells none convert "$none" "$tmp/out.json"
tells bad.pickle convert "$folder/bad.pickle" "$tmp/out.json"
tells none.x convert "$folder/good.pickle" "$none.x"
tells none/p.json convert "$folder/good.pickle" "$none/p.json"
tells none/p.html view "$folder/good.pickle" -o "$none/p.html"
tells none/p replay --placements "$none/p" "$folder/good.trace"
tells none/s replay --stats "$none/s" --stats-every 1 "$folder/good.trace"
tells none/s.json replay --snapshot "$none/s.json" "$folder/good.trace"
tells none replay --device "sim:1GiB,costs=$none" "$folder/good.trace"
tells none replay --device "$none" "$folder/good.trace"
tells none replay --conf "$none" "$folder/good.trace"
tells good replay --summary "$folder/good.trace"
tells huge replay --device sim:1GiB "$folder/huge.trace"
tells none replay "--$none"
tells none "$none"
tells none lab "$none"
tells none lab run "$none"
tells none.py lab run "$none.py"
tells none exec "$none"
for folder_of in FAKECUDA CUDART; do
    export "LARDER_${folder_of}_DIR=$none"
    tells 'none.* does not contain' exec true
    unset "LARDER_${folder_of}_DIR"
done
tells good.pickle convert "$folder/good.pickle" "$tmp/out.trace"
tells good.pickle report "$folder/good.pickle"

# What is in a snapshot: each text of it, printed by every verb.
python3 tests/cli/hostile_snapshot.py "$tmp"
for file in evil.pickle evil.json settings.pickle; do
    for verb in report 'report --json' 'report --all' 'report --top 50' \
        'report --by module' tune 'tune --json' 'fit --capacity 1GiB' \
        'fit --capacity 64MiB --json' replay 'replay --json' \
        'replay --summary' 'replay --policy pytorch' 'replay --min-capacity'; do
        last="$verb $file"
        # shellcheck disable=SC2086 # options
        "$larder" $verb "$tmp/$file" >"$tmp/out" 2>&1 </dev/null
        [ -s "$tmp/out" ] || say_failed 'prints nothing'
        is_plain "$tmp/out"
    done
    for end in trace perfetto.json speedscope.json folded txt csv; do
        last="convert $file to $end"
        rm -f "$tmp/made.$end"
        "$larder" convert "$tmp/$file" "$tmp/made.$end" >"$tmp/out" 2>&1
        is_plain "$tmp/out"
        [ ! -e "$tmp/made.$end" ] || is_plain "$tmp/made.$end"
    done
    last="diff $file"
    for json in '' --json; do
        # shellcheck disable=SC2086 # perhaps none
        "$larder" diff $json "$tmp/$file" tests/data/snapshots/v2.13.pickle \
            >"$tmp/out" 2>&1
        is_plain "$tmp/out"
    done
done
# It was read, and replayed.
expect 0 report --json "$tmp/evil.pickle"
stdout_has 'turned?'
expect 0 replay "$tmp/evil.pickle"
stdout_has '^  of 16 allocations'
finish
