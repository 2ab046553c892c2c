#!/bin/sh
# writers.sh SOURCE BUILD - every file is written through the one writer, and
# the check detects other ways.
source=$1
check="$source/tools/check_writers.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

# A LINE at the end of FILE is found.
must_refuse_line() {
    plant
    mkdir -p "$planted_copy/python"
    cp -r "$source/python/larder" "$planted_copy/python"
    echo "$2" >>"$planted_copy/$1"
    must_find "$1:" "$check" "$planted_copy"
}

must_refuse_line src/tune/tune_cache.c 'FILE *f = fopen(part, "we");'
must_refuse_line src/base/text.c 'int fd = open(path, O_WRONLY | O_CREAT, 0666);'
must_refuse_line cli/main.c 'return rename(part, path);'
must_refuse_line adapters/torch/torch_pools.h 'int fd = mkstemp(path);'
must_refuse_line python/larder/fit/ledger.py 'f = open(path, "w", encoding="utf-8")'
must_refuse_line python/larder/lab/saving.py "f = open(path, 'ab')"
must_refuse_line python/larder/_files.py 'os.replace(part, path)'
