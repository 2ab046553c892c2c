#!/bin/sh
# Each command's page has the options of its table, of which --help and the
# completions are made: all of them, none besides, and each with a value or
# without one.  $1: the command.
. tests/cli/harness

# A line for each option: its name, and = where it takes a value.
of_help() { # COMMAND [PART]
    "$larder" "$@" --help | sed -n '
        /^Options:/,/^$/ {
            s/^  --*\([a-z][a-z-]*\) [^ ].*/\1=/p
            t
            s/^  --*\([a-z][a-z-]*\)\( .*\)*$/\1/p
        }' | grep -vx help
}

# Of its list, or, where that is another page's, of its synopsis.
of_page() { # PAGE
    if grep -q '^\.It Fl ' "$1"; then
        sed -n 's/^\.It Fl //p' "$1"
    else
        sed -n '/^\.Sh SYN/,/^\.Sh DES/{ s/^\.Op Fl //p; s/^\.Fl //p; }' "$1"
    fi | sed 's/ , Fl /\n/g' | sed '
        s/^-//
        s/^\([a-z][a-z-]*\) Ar.*/\1=/
        s/ .*//'
}

# Parts of a command of its own stand in its page.
parts() { # COMMAND
    [ "$1" != lab ] || printf '%s\n' list run
}

count=0
for page in man/larder-*.1; do
    name=${page#man/larder-}
    name=${name%.1}
    {
        of_help "$name"
        for part in $(parts "$name"); do
            of_help "$name" "$part"
        done
    } | sort -u >"$tmp/help"
    of_page "$page" | sort -u >"$tmp/page"
    diff "$tmp/help" "$tmp/page" >"$tmp/differ" ||
        say_failed "$page and larder $name --help differ: $(cat "$tmp/differ")"
    count=$((count + $(wc -l <"$tmp/page")))
done
[ "$count" -gt 60 ] || say_failed "only $count options were looked at"
finish
