#!/bin/sh
# `larder report` of several snapshots, or of a folder: the ranks of one job.
# $1: the command.
. tests/cli/harness
mib=1048576

# rank NAME MIB: a rank that holds 100 MiB at the mark "model" and so many at
# "batch".
rank() {
    printf 'm model\na 0 %d\nm batch\na 1 %d\nf 1\n' $((100 * mib)) \
        $(($2 * mib)) >"$tmp/ranks/$1.trace"
}
mkdir "$tmp/ranks"
rank r0 40
rank r1 42
rank r2 41
rank r3 240
rank r4 43

expect 0 report "$tmp/ranks"
stdout_has "^Worst          $tmp/ranks/r3.trace\$"
stdout_has '^What happened  It did not run out of memory'
stdout_has '^Allocated      140 MiB to 340 MiB, median 142 MiB$'
stdout_has "^Outliers       $tmp/ranks/r3.trace: 198 MiB more than the median; 198 MiB more from batch\$"
stdout_has '^In common      4 of 5 hold most from model$'
is 'outliers' "$(grep -c 'than the median' "$tmp/out")" 1
is 'the table' "$(sed -n 's/.*\(r[0-9]\)\.trace .* - .*/\1/p' "$tmp/out" | tr '\n' ' ')" \
    'r3 r4 r1 r2 r0 '

# A rank that holds less, and is no worse for that.
rank r3 0
expect 0 report "$tmp/ranks"
stdout_has "^Worst          $tmp/ranks/r4.trace\$"
stdout_has "r3.trace: 41.0 MiB less than the median; 41.0 MiB less from batch\$"
# Neither close ranks nor evenly spread ones stand out.
rank r3 47
expect 0 report "$tmp/ranks"
stdout_has '^Outliers       none$'
rank r0 80
rank r1 100
rank r2 120
rank r3 140
rank r4 170
expect 0 report "$tmp/ranks"
stdout_has '^Outliers       none$'

# A page shows the worst rank and the median one.
expect 0 view "$tmp/ranks" -o "$tmp/page.html"
is 'the title' "$(grep -o '<title>[^<]*' "$tmp/page.html")" \
    '<title>r4.trace and r2.trace'
expect 0 view "$tmp/ranks/r0.trace" "$tmp/ranks/r4.trace" -o "$tmp/page.html"
is 'two are shown' "$(grep -o '<title>[^<]*' "$tmp/page.html")" \
    '<title>r0.trace and r4.trace'
expect 2 view "$tmp/ranks" -o "$tmp/ranks/r1.trace"

# One that ran out of memory is the worst, however little it holds.
cp tests/data/snapshots/v2.8.pickle "$tmp/ranks/oom.pickle"
expect 0 report "$tmp/ranks"
stdout_has "^Worst          $tmp/ranks/oom.pickle\$"
stdout_has '^What happened  It ran out of memory on a request for 3.00 GiB'
is 'the first row' "$(sed -n '/^rank /{n;s/.*ranks.\([a-z0-9]*\).*/\1/p}' "$tmp/out")" oom
stdout_has '^In common      1 of 6 ran out of memory: not enough memory, requested by layers.py:847 softmax$'
cp "$tmp/ranks/oom.pickle" "$tmp/ranks/oom2.pickle"
cp tests/data/snapshots/v2.0.pickle "$tmp/ranks/oom3.pickle"
expect 0 report "$tmp/ranks"
stdout_has '^In common      3 of 8 ran out of memory, 2 of them for the same reason: not'
expect 0 report "$tmp/ranks/oom.pickle" "$tmp/ranks/oom3.pickle"
stdout_has '^In common      2 of 2 ran out of memory, each for a different reason$'

expect 0 report --json "$tmp/ranks/r0.trace" "$tmp/ranks/oom.pickle"
stdout_has '"failed":1,"worst":1,"allocated_bytes":{"min":94518784,"median":94518784,"max":188743680}'
stdout_has '"asked_bytes":3221225472,"cause":"not enough memory","requester":"by layers.py:847 softmax"'
stdout_has '"common":{"cause":"not enough memory",.*"cause_ranks":1,"frame":".*","frame_ranks":1}}$'

# Devices of one file are ranks, too.
expect 0 report tests/data/snapshots/two_devices.pickle "$tmp/ranks/r0.trace"
stdout_has '^tests/data/snapshots/two_devices.pickle, device 1 '

# A long table is cut, unless it is asked for.
expect 0 report --top 2 "$tmp/ranks"
stdout_has '^and 6 more (--all has all)$'
expect 0 report --all --top 2 "$tmp/ranks"
is 'rows' "$(grep -c '^.*ranks/[a-z0-9]*\.[a-z]*  ' "$tmp/out")" 8

# What another report found stands for its snapshots, which may be elsewhere.
mkdir "$tmp/parts"
expect 0 report --json "$tmp/ranks"
cp "$tmp/out" "$tmp/whole"
for file in "$tmp"/ranks/*; do
    expect 0 report --ranks --json "$file"
    cp "$tmp/out" "$tmp/parts/$(basename "$file").json"
done
expect 0 report --json "$tmp/parts"
is 'the merged ranks' "$(cat "$tmp/out")" "$(cat "$tmp/whole")"
expect 0 report "$tmp/parts"
stdout_has '^What happened  It ran out of memory'
sed 's|"file":"[^"]*oom|"file":"s3://there/oom|' "$tmp/whole" >"$tmp/far.json"
expect 0 report --ranks "$tmp/far.json"
stdout_has '^Worst          s3://there/oom'
stdout_has '^Its snapshot is not here: no verdict.$'
stdout_has '^In common      3 of 8 ran out of memory, 2 of them for the same reason: not'
for change in 's/"asked_bytes":[0-9]*/"asked_bytes":-1/' 's/"cause":"[^"]*"/"cause":"x"/' \
    's/"top":\[{"bytes"/"top":[{"bits"/' 's/"device":[0-9]*/"device":70000/' \
    's/"file":/"fil":/' 's/}$//'; do
    sed "$change" "$tmp/whole" >"$tmp/far.json"
    expect 2 report --ranks "$tmp/far.json"
    stderr_has 'far.json'
done
sed 's/"requester":"by /&\\u001b[31m/g' "$tmp/whole" >"$tmp/far.json"
expect 0 report --ranks "$tmp/far.json"
is 'no control character' "$(tr -d '\n -~\200-\377' <"$tmp/out")" ''
echo '{"ranks":[]}' >"$tmp/far.json"
expect 2 report --ranks "$tmp/far.json"
stderr_has 'no ranks'

expect 2 report --tree "$tmp/ranks"
stderr_has 'are for one snapshot, not for ranks'
mkdir "$tmp/none"
expect 2 report "$tmp/none"
stderr_has 'a folder without traces or snapshots'
echo nonsense >"$tmp/ranks/bad.pickle"
expect 2 report "$tmp/ranks"
stderr_has 'bad.pickle'
finish
