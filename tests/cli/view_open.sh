#!/bin/sh
# view_open.sh LARDER - `larder view --open` and `--app`: the file with which a
# browser is started, and the message if none can be.
. tests/cli/harness

snapshot=tests/data/snapshots/v2.13.pickle
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/asked.part"\nmv "%s/asked.part" "%s/asked"\n' \
    "$tmp" "$tmp" "$tmp" >"$tmp/browser"
chmod +x "$tmp/browser"
export BROWSER="$tmp/browser" TMPDIR="$tmp"

# The arguments that the browser was started with; it is not waited for.
asked() {
    tenths=300
    until [ -f "$tmp/asked" ] || [ $((tenths -= 1)) -eq 0 ]; do
        sleep 0.1
    done
    cat "$tmp/asked" 2>/dev/null
    rm -f "$tmp/asked"
}

expect 0 view "$snapshot" --open -o "$tmp/page.html"
[ "$(asked)" = "$tmp/page.html" ] || say_failed 'the browser got another file'
[ -s "$tmp/out" ] && say_failed 'said something'

expect 0 view "$snapshot" --open
page=$(cat "$tmp/out")
[ "$(asked)" = "$page" ] || say_failed 'the browser got another file'
case $page in
"$tmp"/larder-view.*.html) grep -q larder-data "$page" ||
    say_failed 'the temporary page is empty' ;;
*) say_failed "printed $page" ;;
esac

# The page for browsers is beside the command, or among its data.
mkdir -p "$tmp/own/bin" "$tmp/own/share/larder"
cp "$larder" "$tmp/own/bin/larder"
built=$larder
larder=$tmp/own/bin/larder
expect 2 view --app -o "$tmp/app.html"
stderr_has 'lacks the browser page: expected app.html, which'
[ ! -e "$tmp/app.html" ] || say_failed 'half a page was left'
echo '<html>shared</html>' >"$tmp/own/share/larder/app.html"
expect 0 view --app --open -o "$tmp/app.html"
[ "$(asked)" = "$tmp/app.html" ] || say_failed 'the browser got another file'
is 'the page' "$(cat "$tmp/app.html")" '<html>shared</html>'
echo '<html>beside</html>' >"$tmp/own/bin/app.html"
expect 0 view --app -o -
is 'the page' "$(cat "$tmp/out")" '<html>beside</html>'
larder=$built

BROWSER=$tmp/nonesuch
expect 2 view "$snapshot" --open -o "$tmp/page.html"
stderr_has 'page.html: no browser could be started; expected one in BROWSER'

rm -f "$tmp"/larder-view.*
expect 2 view "$tmp/missing.pickle" --open
[ -z "$(find "$tmp" -name 'larder-view.*')" ] || say_failed 'left a page behind'

# Without --open or -o the page is beside its snapshot, and its place is said.
cp "$snapshot" "$tmp/beside.pickle"
expect 0 view "$tmp/beside.pickle"
is 'where it is' "$(cat "$tmp/out")" "$tmp/beside.html"
grep -q '<html' "$tmp/beside.html" || say_failed 'no page beside the snapshot'
expect 2 view - </dev/null
stderr_has 'no output; expected -o FILE, or --open'
expect 2 view --app
stderr_has 'no output; expected -o FILE, or --open'
expect 2 view --app "$snapshot" -o "$tmp/page.html"
stderr_has '--app takes no SNAPSHOT'
expect 2 view --app --title x -o "$tmp/page.html"
stderr_has '--app takes no --title'
expect 2 view "$snapshot" --open -o -
stderr_has '--open with the standard output'
expect 2 view -o "$tmp/page.html"
stderr_has 'no input; expected a SNAPSHOT, or --app'

finish
