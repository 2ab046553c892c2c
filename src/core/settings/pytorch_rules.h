/* pytorch_rules.h - how the allocators of PyTorch's releases differ: one row
 * for each release, one field for each rule.  Private to core.
 *
 * No other code tests for a version.  Each field was verified with that
 * release's own library (docs/FIDELITY.md). */
#pragma once

#include <stdbool.h>

/* Which of two free blocks of one size is taken.  PYTORCH_NEW_BLOCKS numbers
 * every new header, PYTORCH_NEW_SEGMENTS only memory from the device; the lower
 * number is taken first. */
enum pytorch_order {
    PYTORCH_ADDRESSES,
    PYTORCH_NEW_BLOCKS,
    PYTORCH_NEW_SEGMENTS
};

/* When memory runs out, whether free blocks of pools that lend are tried:
 * never, after everything else failed, or before anything is released. */
enum pytorch_lending {
    PYTORCH_LENDS_NEVER,
    PYTORCH_LENDS_LAST,
    PYTORCH_LENDS_FIRST
};

/* X(type, field, description of the rule, the setting that restores the older
 * behaviour, or ""): the order of a row's values. */
#define PYTORCH_RULE_MAP(X)                                                    \
    X(enum pytorch_order, free_order, "order of the free blocks of one size",  \
      "")                                                                      \
    X(bool, newest_scope_first,                                                \
      "of several begun pools the last one is tried first", "")                \
    X(bool, expandable_private, "private pools have expandable segments",      \
      "expandable_segments:False")                                             \
    X(bool, whole_pools, "a pool can be set never to split blocks", "")        \
    X(enum pytorch_lending, lending,                                           \
      "when pools lend to others that run out of memory", "")                  \
    X(bool, slack_follows_segment,                                             \
      "settings reset max_non_split_rounding_mb to large_segment_size_mb",     \
      "max_non_split_rounding_mb:20 in each settings string")                  \
    X(bool, scope_is_no_capture,                                               \
      "a begun pool holds nothing back: only captures do", "")                 \
    X(bool, whole_is_no_limit, "a fraction of 1.0 is no limit",                \
      "per_process_memory_fraction just below 1")                              \
    X(bool, roundup_rest_is_exclusive,                                         \
      "`>` of roundup_power2_divisions leaves the last class named alone",     \
      "every class of roundup_power2_divisions named, none by `>`")            \
    X(bool, split_at_segment,                                                  \
      "max_split_size_mb can be as small as large_segment_size_mb",            \
      "max_split_size_mb:21")                                                  \
    X(bool, slack_above_segment,                                               \
      "max_non_split_rounding_mb must exceed large_segment_size_mb",           \
      "max_non_split_rounding_mb:21")                                          \
    X(bool, lends_as_set,                                                      \
      "lent memory may be in pages, and is split like pages, if "              \
      "expandable_segments is on",                                             \
      "expandable_segments:False")                                             \
    X(bool, empties_unused,                                                    \
      "empty_cache releases pools without users even while memory is held "    \
      "back",                                                                  \
      "")                                                                      \
    X(bool, fraction_at_start,                                                 \
      "per_process_memory_fraction counts only if set at the start", "")       \
    X(bool, numbers_are_int, "numbers in settings must be below 2^31", "")

struct pytorch_rules {
    const char *version;
#define X(type, field, words, restored) type field;
    PYTORCH_RULE_MAP(X)
#undef X
};

/* The release whose rules apply if none is named: the first recordings are of
 * this one. */
#define PYTORCH_DEFAULT "2.4"
#define PYTORCH_EXPECTED                                                       \
    "a release of PyTorch from 2.4 to 2.15, the newest known"

/* Oldest first; ends with an entry without a version. */
extern const struct pytorch_rules larder__pytorch_releases[];

/* NULL: no such release. */
const struct pytorch_rules *larder__pytorch_rules(const char *version);
