#!/bin/sh
# The lists of options in the manual pages come from the tables that --help is
# generated from (tools/make_manuals.py), and the two agree.
# $1: the command.
. tests/cli/harness

maker=$PWD/tools/make_manuals.py
larder=$(realpath "$larder")

# Work on a copy of the pages, in which the tests below plant errors.
cp -r man "$tmp/man"
cd "$tmp" || exit 1

# Run make_manuals.py on the pages: returns its exit status; output in
# $tmp/said.
check() { # STATUS WHAT
    status=0
    "$maker" "$larder" --check >"$tmp/said" 2>&1 || status=$?
    [ "$status" -eq "$1" ] ||
        say_failed "$2: exit status $status, not $1: $(cat "$tmp/said")"
}

check 0 'the pages are not as the tables have them; make manuals'

sed -i 's/^\.It Fl -jobs Ar n$/.It Fl -jobs/' man/larder-tune.1
check 1 'a value that is not there'
grep -qx man/larder-tune.1 "$tmp/said" || say_failed 'the page is not named'

sed -i '/^\.It Fl -by /,/^Group /d' man/larder-report.1
check 1 'an option that is not there'
grep -qx man/larder-report.1 "$tmp/said" || say_failed 'the page is not named'

"$maker" "$larder" >"$tmp/said" || say_failed 'the pages could not be made'
check 0 'the pages as they were just made'
grep -q 'without the frames of' man/larder-report.1 ||
    say_failed 'what a page says beyond the table is gone'

sed -i 's/^\.Op Fl -tree$/.Op Fl -forest/' man/larder-report.1
check 2 'an option in the synopsis that there is not'
grep -q 'larder-report.1: the synopsis has --forest' "$tmp/said" ||
    say_failed "it does not say what is wrong: $(cat "$tmp/said")"
sed -i '/^\.Op Fl -forest$/d' man/larder-report.1
check 2 'an option that the synopsis does not have'
grep -q 'larder-report.1: the synopsis lacks --tree' "$tmp/said" ||
    say_failed "it does not say what is missing: $(cat "$tmp/said")"
finish
