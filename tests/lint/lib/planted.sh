# shellcheck shell=sh
# planted.sh - for tests of checks: what shows that a check can fail.
# Sourced; $source is the source folder.
: "${source:?}"

planted_copy=$(mktemp -d)
trap 'rm -rf "$planted_copy"' EXIT

# Make a fresh copy of the checked files in $planted_copy.
plant() {
    rm -rf "${planted_copy:?}"/*
    cp -r "$source/include" "$source/src" "$source/lab" "$source/cli" \
        "$source/adapters" "$source/man" \
        "$planted_copy"
}

# must_find TEXT COMMAND...: the command must exit with status 1 and print TEXT.
must_find() {
    text=$1
    shift
    said=$("$@" 2>&1)
    status=$?
    case $status-$said in
    1-*"$text"*) ;;
    *)
        echo "planted: '$text' was not found (status $status); said:"
        echo "$said"
        exit 1
        ;;
    esac
}
