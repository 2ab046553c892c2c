#!/bin/sh
# recorded_keys.sh LARDER - a snapshot is replayed under all of its settings:
# recorded under any key, every placement is the same again, or the comparison
# is refused and names the key.
. tests/cli/harness

# Sizes of all kinds, frees in no order, an emptied cache now and then.
awk 'BEGIN {
    srand(7)
    split("300 5000 70000 600000 900000 1300000 3000000 9000000 13000000 " \
          "25000000 33000000 70000000", sizes, " ")
    for (k = 0; k < 1200; k++) {
        if (count > 40 || (count > 0 && rand() < 0.45)) {
            at = 1 + int(rand() * count)
            print "f", live[at]
            live[at] = live[count--]
            if (rand() < 0.02)
                print "e"
        } else {
            print "a", next_id + 0, sizes[1 + int(rand() * 12)] + 512 * int(rand() * 400)
            live[++count] = next_id++
        }
    }
}' >"$tmp/mix.trace"

# record DEVICE CONF [POLICY]
record() {
    expect 0 replay --policy "${3:-pytorch}" --device "$1" --conf "$2" \
        --repeat 0 --snapshot "$tmp/k.pickle" "$tmp/mix.trace"
    expect 0 replay --json --repeat 0 "$tmp/k.pickle"
}

# again DEVICE CONF: it is all the same.
again() {
    record "$1" "$2"
    for wanted in '"recorded_first_difference":null' \
        '"recorded_segments_same":true' '"recorded_end_same":true'; do
        stdout_has "$wanted"
    done
    tried="$tried $2"
}

# refused DEVICE CONF NAME [POLICY]: it is not compared, and the name is told.
refused() {
    record "$1" "$2" "${4:-pytorch}"
    stdout_has "\"recorded_not_compared\":\"recorded under [a-z ]*$3"
    tried="$tried $2"
}

# Each of PyTorch's keys, as it decides, and on a card that is too small.
again sim:80GiB ''
again sim:700MiB ''
for release in 2.4 2.8 2.12 2.15; do
    again sim:80GiB "pytorch:$release"
done
again sim:80GiB backend:native
again sim:80GiB max_split_size_mb:30
again sim:80GiB max_split_size_mb:30,max_non_split_rounding_mb:64
again sim:80GiB large_segment_size_mb:64
again sim:80GiB pytorch:2.15,large_segment_size_mb:64
again sim:80GiB large_segment_size_mb:64,expandable_segments:True
again sim:80GiB roundup_power2_divisions:4
again sim:80GiB 'roundup_power2_divisions:[1:2,16:8,32:4]'
again sim:80GiB expandable_segments:True
again sim:80GiB pytorch:2.15,expandable_segments:True,expandable_segments_reserve:1.0
again sim:80GiB pytorch:2.15,expandable_segments:True,expandable_segments_reserve_by_class:[a:0.5]
again sim:800MiB per_process_memory_fraction:0.9
again sim:800MiB garbage_collection_threshold:0.5,per_process_memory_fraction:0.9
again sim:700MiB throw_on_cudamalloc_oom:True
again sim:80GiB graph_capture_record_stream_reuse:False
again sim:80GiB limit:700MiB
for key in release_lock_on_cudamalloc release_lock_on_hipmalloc \
    pinned_use_cuda_host_register pinned_use_hip_host_register \
    pinned_use_background_threads pinned_free_catch_all; do
    again sim:80GiB "$key:True"
done
# Those of pinned memory, of the history and of joining others decide nothing.
for setting in pinned_num_register_threads:4 pinned_reserve_segment_size_mb:4 \
    pinned_max_round_threshold_mb:64 pinned_max_cached_size_mb:64 \
    pinned_limit:1GiB ledger:off ledger_group:g ledger_thread:False \
    ask_budget_ms:10 history:100000 history_stacks:off \
    "dump_on_oom:$tmp/oom.pickle"; do
    again sim:80GiB "$setting"
done

# What no recording has: the clock, other processes, what was there before.
for setting in preallocate:512MiB trim_age:0.001 reclaim_budget_ms:5 \
    pending_limit:5MiB minimum:100MiB process_limit:700MiB group_limit:700MiB \
    debug:2; do
    refused sim:80GiB "$setting" "${setting%%:*}"
done
for setting in lifetimes:off defrag:eager migrate:on handle_mib:20 \
    small_kib:256; do
    refused sim:80GiB "$setting" 'the policy larder' larder
    stdout_has "\"conf\":\"$setting\""
done
refused sim:80GiB '' 'the policy direct' direct

# No key is left out.
expect 2 replay --conf unknown_key:1 "$tmp/mix.trace"
for key in $(sed -n 's/.*accepted: //p' "$tmp/err" | tr -d ,); do
    case $tried in
    *"$key:"*) ;;
    *) say_failed "no recording under $key" ;;
    esac
done

# What the settings need is what they needed: ten requests of 3 MB in a segment
# of 64 MiB do not fit on 48.
awk 'BEGIN { for (i = 0; i < 10; i++) print "a", i, 3000000 }' >"$tmp/mix.trace"
record sim:80GiB pytorch:2.15,large_segment_size_mb:64
stdout_has '"peak_reserved_bytes":67108864'
expect 1 fit --no-cache --capacity 48MiB --json "$tmp/k.pickle"
stdout_has '"min_capacity_bytes":67108864'
finish
