#!/bin/sh
# mutants.sh SOURCE BUILD - where tools/mutants.py plants a bug, and where it
# plants none because the bug would change nothing: each line of
# tools/mutants.equal names a place of today's sources.
source=$1

[ -f "$source/tools/mutants.py" ] || exit 77
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

cat >"$folder/places.c" <<'END'
static int larger(int a, int b)
{
    return a > b ? a : b; /* either */
}

static unsigned above(unsigned a, unsigned b)
{
    if (a > b)
        b = a;
    return b < a ? a - b : 0;
}

static int counts(int a, int b, int c)
{
    larder__assert(a < b);
    a = *(int *)calloc(1, sizeof a);
    a = *(int *)calloc(b + 1, sizeof a);
    if (c + a > b)
        a = b;
    call(a);
    snap_reserve(m, &a, &b, c + 1, 1);
    capacity = capacity * 2 + 4;
    return a > b ? b - 1 : b;
}
END

PYTHONDONTWRITEBYTECODE=1 python3 - "$source" "$folder" >"$folder/got" <<'END'
import sys

sys.path.insert(0, sys.argv[1] + "/tools")
import mutants

for mutant in mutants.mutants_of(sys.argv[2], "places.c"):
    print("%d %s %s" % (mutant.line, mutant.kind, mutant.old))
END
cat >"$folder/wanted" <<'END'
10 sum -
10 number 0
9 statement b = a;
18 bound >
23 bound >
17 sum +
18 sum +
21 sum +
22 sum +
23 sum -
21 number 1
23 number 1
16 statement a = *(int *)calloc(1, sizeof a);
17 statement a = *(int *)calloc(b + 1, sizeof a);
19 statement a = b;
20 statement call(a);
21 statement snap_reserve(m, &a, &b, c + 1, 1);
22 statement capacity = capacity * 2 + 4;
END
diff "$folder/wanted" "$folder/got" || exit 1

PYTHONDONTWRITEBYTECODE=1 python3 - "$source" <<'END'
import collections
import os
import sys

sys.path.insert(0, sys.argv[1] + "/tools")
import mutants

root = sys.argv[1]
by_path = collections.defaultdict(set)
for key in mutants.equal_keys(root):
    by_path[key.split("|")[0]].add(key)
status = 0
for path, keys in sorted(by_path.items()):
    if os.path.exists(os.path.join(root, path)):
        keys -= {mutant.key() for mutant in mutants.mutants_of(root, path)}
    for key in sorted(keys):
        print("tools/mutants.equal names no place of the sources:", key)
        status = 1
sys.exit(status)
END
