#!/bin/sh
# check_paths.sh SOURCE - every path of this repository that a document names in
# backquotes exists.  X stands for any name.  Prints those that do not exist;
# exits with 1 if there are any.
set -u
cd "$1" || exit 2

missing=$(
    # shellcheck disable=SC2016  # backquotes of Markdown
    grep -onE '`(adapters|bench|cli|cmake|data|docs|examples|include|lab|man|python|src|tests|tools)/[A-Za-z0-9_./-]+`' \
        README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/notes/*.md |
        tr -d '`' | while IFS=: read -r file line path; do
        case $path in
        *X*) continue ;;
        esac
        [ -e "$path" ] || echo "$file:$line: there is no $path"
    done
)
if [ -n "$missing" ]; then
    echo "$missing"
    exit 1
fi
