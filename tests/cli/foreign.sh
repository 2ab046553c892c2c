#!/bin/sh
# Files that are neither a trace nor a snapshot are identified in the error.
# $1: the command.
. tests/cli/harness

# foreign NAME BYTES WORDS: every command that reads input reports it.
foreign() {
    printf '%b' "$2" >"$tmp/$1"
    for command in report replay tune; do
        expect 2 $command "$tmp/$1"
        stderr_has "$1: this is $3; expected"
    done
    expect 2 convert "$tmp/$1" "$tmp/out.trace"
    stderr_has "$1: this is $3; expected"
}

foreign a.gz '\0037\0213\0010\0000' 'compressed with gzip'
foreign gzip.pickle '\0037\0213\0010\0000' 'compressed with gzip'
foreign model.pt 'PK\0003\0004\0024\0000' 'a zip archive, as torch.save() writes'
foreign old.pt '\0200\0002\0212\0012l\0374\0234\0106\0371' 'a file of torch.save()'
foreign report.sqlite 'SQLite format 3\0000' 'a database of SQLite.*'
foreign weights.safetensors '\0100\0000\0000\0000\0000\0000\0000\0000{"a":1}' \
    'a file of safetensors'
foreign notes.txt 'Step 1 of 3\n' "text that begins with 'Step 1 of 3'"
foreign log.json 'INFO start\n' "text that begins with 'INFO start'"

# A file named like a trace is read as one, and the error names its line.
printf 'hello\n' >"$tmp/bad.trace"
expect 2 replay "$tmp/bad.trace"
stderr_has "bad.trace:1: unknown operation 'hello'"
# A real trace is read whatever its name.
printf 'a 0 512\n' >"$tmp/t.txt"
expect 0 replay --repeat 0 "$tmp/t.txt"
finish
