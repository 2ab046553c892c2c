#!/bin/sh
# browser.sh LARDER - the page that `larder view` makes works in a browser: it
# loads, draws, zooms, scrubs, finds.  Needs Chromium; skipped without it.
larder=$1
chromium=$(command -v chromium || command -v chromium-browser) || exit 77
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failures=0

# The page with the driver at its end, run; what the driver wrote.
drive() { # PAGE
    page=$1
    {
        sed '/^<\/body>$/,$d' "$page"
        echo '<script>'
        cat tests/view/drive_page.js
        echo '</script></body></html>'
    } >"$tmp/driven.html"
    timeout 100 "$chromium" --headless --no-sandbox --disable-gpu \
        --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync \
        --user-data-dir="$tmp/profile" --window-size=1400,1000 \
        --timeout=60000 --dump-dom "file://$tmp/driven.html" \
        >"$tmp/dom" 2>"$tmp/chromium.err"
    sed -n '/^BEGIN$/,/^END$/p' "$tmp/dom"
}

see() { # NAME FILE...
    name=$1
    shift
    "$larder" view "$@" -o "$tmp/page.html" || {
        failures=$((failures + 1))
        return
    }
    said=$(drive "$tmp/page.html")
    case $said in
    BEGIN*FAILED*)
        echo "$name:"
        echo "$said" | grep FAILED
        failures=$((failures + 1))
        ;;
    BEGIN*END) ;;
    *)
        echo "$name: the page did not come to its end"
        tail -n 5 "$tmp/chromium.err"
        failures=$((failures + 1))
        ;;
    esac
}

# A page of something absurd comes up all the same.
loads() { # FILE
    "$larder" view "$1" -o "$tmp/page.html" || failures=$((failures + 1))
    said=$(drive "$tmp/page.html")
    grep -q '<html[^>]*data-ready="yes"' "$tmp/dom" && return
    echo "$1: the page did not come up: $said"
    failures=$((failures + 1))
}

for file in huge_sizes overlaps words; do
    loads "tests/fuzz/corpus/report/$file.json"
done
for file in tests/data/snapshots/*.pickle; do
    see "$file" "$file"
done
awk 'BEGIN {
    print "m first(1, 2)\na 0 30000000\nm second"
    for (i = 1; i < 99; i++) print "a " i " " i * 100000 "\nf " i
}' >"$tmp/noted.trace"
see 'annotations alone' "$tmp/noted.trace"
set -- tests/data/snapshots/*.pickle
first=$1
see 'two runs' "$first" "$file"
exit $((failures > 0))
