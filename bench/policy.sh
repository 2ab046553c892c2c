#!/bin/sh
# policy.sh COMMAND FILE... - the device size that the policy `larder` needs and
# the cost of its driver calls by the bundled price table, compared with the
# policy `pytorch` with its defaults and with expandable segments.  FILE: a trace
# or a snapshot.
#
#   need      the smallest device that works, relative to the peak of requested
#             bytes
#   tight     driver time in ms: larder on 1.02 times that peak, the others on
#             the smallest device that they need
#   beyond    the part of it that exceeds creating the peak once, in handles of
#             20 MiB
#   roomy     driver time in ms on 80 GiB
#
# A file that larder cannot run at 1.02 is marked with !.
# shellcheck source=bench/harness
. "$(dirname "$0")/harness"

# replay OPTION...: print one JSON object per line.
replay() {
    "$larder" replay --json "$@"
}

# need FILE POLICY CONF: print the smallest device of each line, in bytes.
need() {
    replay --policy "$2" --conf "$3" --min-capacity "$1" |
        field min_capacity_bytes
}

# cost FILE POLICY CONF BYTES N: print driver time and failures of line N.
cost() {
    replay --policy "$2" --conf "$3" \
        --device "sim:$(($4 / 1048576))MiB,backing=none" "$1" |
        sed -n "$5p" |
        sed 's/.*"oom_count":\([0-9]*\).*"driver_time_ns":\([0-9]*\).*/\2 \1/'
}

# nth N WORD...: print word N.
nth() {
    shift "$1"
    echo "$1"
}

roomy=85899345920
expandable=expandable_segments:True

rows() {
    for file in "$@"; do
        peaks=$(replay --policy direct --device sim:800GiB,backing=none \
            "$file" | field peak_requested_bytes)
        ours=$(need "$file" larder '')
        theirs=$(need "$file" pytorch $expandable)
        default=$(need "$file" pytorch '')
        i=0
        for peak in $peaks; do
            i=$((i + 1))
            [ "$peak" -ge 1048576 ] || continue
            # shellcheck disable=SC2086 # a word for each device
            o=$(nth $i $ours)
            # shellcheck disable=SC2086
            e=$(nth $i $theirs)
            # shellcheck disable=SC2086
            d=$(nth $i $default)
            # 1.02 times the peak, up to a whole page
            t=$(((peak * 51 / 50 + 2097151) / 2097152 * 2097152))
            big=$roomy
            [ "$big" -ge "$e" ] || big=$((e * 2))
            echo "$(basename "$file" | sed 's/\..*//') $i $peak $o $e $d" \
                "$(cost "$file" larder '' $t $i)" \
                "$(cost "$file" pytorch $expandable "$e" $i)" \
                "$(cost "$file" pytorch '' "$d" $i)" \
                "$(cost "$file" larder '' "$big" $i)" \
                "$(cost "$file" pytorch $expandable "$big" $i)" \
                "$(cost "$file" pytorch '' "$big" $i)"
        done
    done
}

rows "$@" | awk '
BEGIN {
    printf "%-26s %9s | %6s %6s %6s | %8s %8s %8s | %8s %8s | %8s %8s %8s\n",
        "", "peak", "need", "", "", "tight", "", "", "beyond", "",
        "roomy", "", ""
    printf "%-26s %9s | %6s %6s %6s | %8s %8s %8s | %8s %8s | %8s %8s %8s\n",
        "", "MiB", "larder", "expand", "deflt", "larder", "expand", "deflt",
        "larder", "expand", "larder", "expand", "deflt"
}
function ms(ns) { return ns / 1e6 }
function worse(what, value, name) {
    if (value > worst[what]) {
        worst[what] = value
        who[what] = name
    }
}
{
    name = $1 ($2 > 1 ? ":" $2 : "")
    once = int(($3 + 20971519) / 20971520) * 208000
    mark = $8 > 0 ? "!" : ""
    printf "%-26s %9.1f | %6.4f %6.4f %6.4f |%1s%8.1f %8.1f %8.1f |" \
        " %8.1f %8.1f | %8.1f %8.1f %8.1f\n",
        name, $3 / 1048576, $4 / $3, $5 / $3, $6 / $3, mark, ms($7), ms($9),
        ms($11), ms($7 - once), ms($9 - once), ms($13), ms($15), ms($17)
    if ($3 >= 1073741824)
        worse("need, of 1 GiB and more", $4 / $3, name)
    worse("tight, over expandable", $7 / $9, name)
    worse("roomy, over expandable", $13 / $15, name)
    worse("roomy, over the defaults", $13 / $17, name)
}
END {
    print ""
    for (what in worst)
        printf "worst %s: %.4f (%s)\n", what, worst[what], who[what]
}'
