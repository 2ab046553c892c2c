#!/usr/bin/env python3
"""settings_strings.py [COUNT SEED] - settings strings to be recorded
(settings_recording.py), one a line: every key with numbers well and badly made,
and COUNT random ones of several keys.  Left out is what docs/FIDELITY.md says of
settings.
"""
import random
import sys

NUMBERS = ["0", "1", "2", "8", "10", "11", "12", "19", "20", "21", "40", "41",
           "64", "1000", "007", "+40", "-5", "-0", "40.5", "40k", "40 ", "4 0",
           "0x40", "40MB", "k40", "", "3000000000", "2147483647", "2147483648",
           "17592186044416", "18446744073709551615", "18446744073709551616",
           "99999999999999999999999"]
REALS = ["0", "0.0", "0.5", ".5", "5.", "5e-1", "5E-1", "50e-2x", "0.8abc",
         "1", "1.0", "1.5", "-0.5", "-0", "0.99999999999", "1e-300", "1e300",
         "1e-400", "1e400", "0x0.8", "0x1p-1", "inf", "nan", "abc", "", ".",
         "e5", "0.5.5", "+0.5", "0,5", "0.1234567890123456789"]
BOOLS = ["True", "False", "true", "1", "", "Tru e", "TrueX", "yes"]
DIVISIONS = ["0", "1", "2", "3", "4", "8k", "-4", "1073741824", "[]", "[:]",
             "[1:2]", "[1:2,4:4]", "[1:2,4:4,>:8]", "[>:4]", "[4:2,>:0]",
             "[3:2]", "[4:3]", "[4:0]", "[0:2]", "[256:1,512:2,1024:4,>:8]",
             "[65536:4]", "[131072:4,2:8]", "[8:4,2:2]", "[1:2,]",
             "[4k:2]", "[4:2.9]", "[ 4 : 2 , > : 1 ]", "[4:2,>:4,8:16]"]
KEYS = {
    "max_split_size_mb": NUMBERS,
    "max_non_split_rounding_mb": NUMBERS,
    "large_segment_size_mb": NUMBERS,
    "garbage_collection_threshold": REALS,
    "per_process_memory_fraction": REALS,
    "roundup_power2_divisions": DIVISIONS,
    "expandable_segments": BOOLS,
    "throw_on_cudamalloc_oom": BOOLS,
    "release_lock_on_cudamalloc": BOOLS,
    "pinned_use_cuda_host_register": BOOLS,
    "pinned_use_background_threads": BOOLS,
    "pinned_free_catch_all": BOOLS,
    "pinned_num_register_threads": NUMBERS,
    "pinned_reserve_segment_size_mb": NUMBERS,
    "pinned_max_round_threshold_mb": NUMBERS,
    "pinned_max_cached_size_mb": NUMBERS,
    "expandable_segments_reserve": ["0.5", "2G", "40g", "1.5", "0.5G", "1e20G"],
    "expandable_segments_reserve_by_class": ["[a:0.5]", "[a:0.5,b:2G]", "[]",
                                             "[:1]", "0.5"],
    "backend": ["native", "Native", "", "nativ e"],
}
WHOLE = ["", " ", ",", ",,", "expandable_segments:True,",
         ",expandable_segments:True", "expandable_segments",
         "expandable_segments:", "bogus:1", "bogus", "Expandable_segments:True",
         "max_split_size_mb:40,max_split_size_mb:60",
         "max_split_size_mb:25,large_segment_size_mb:30",
         "large_segment_size_mb:30,max_split_size_mb:25",
         "large_segment_size_mb:15,max_split_size_mb:16",
         "large_segment_size_mb:15,max_non_split_rounding_mb:16",
         "max_non_split_rounding_mb:50,large_segment_size_mb:40",
         "  max_split_size_mb : 40 , expandable_segments : True ",
         "max _split_size_mb:40"]


def random_string(source):
    parts = []
    for key in source.sample(sorted(KEYS), source.randrange(2, 4)):
        parts.append(f"{key}:{source.choice(KEYS[key])}")
    return ",".join(parts)


def main():
    source = random.Random(sys.argv[2] if len(sys.argv) > 2 else "0")
    strings = WHOLE + [f"{key}:{value}" for key, values in KEYS.items()
                       for value in values]
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
        strings.append(random_string(source))
    print("\n".join(dict.fromkeys(strings)))


if __name__ == "__main__":
    main()
