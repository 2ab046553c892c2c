/* groups.h - the holders of memory at a moment, with sums. */
#pragma once

#include "report/moment.h"

enum group_by { GROUP_BY_LINE, GROUP_BY_PATH, GROUP_BY_CATEGORY };

struct report_group {
    uint32_t key;   /* frame (UINT32_MAX: none), stack or category */
    uint64_t bytes; /* allocated */
    uint64_t requested;
    uint64_t count;
    uint64_t older;   /* of these, older than the recording */
    uint32_t largest; /* number of the largest allocation */
};

/* Largest first. */
struct report_groups {
    const struct report_group *items;
    size_t count;
};

/* Group what is in use. `categories` may be NULL unless they are needed. */
struct report_groups report_groups_make(struct arena *arena,
                                        const struct moment *m,
                                        enum group_by by,
                                        const uint8_t *categories);

/* For qsort: largest first. */
int report_groups_by_bytes(const void *a, const void *b);

/* The line that holds most of one category; UINT32_MAX: unknown. */
uint32_t report_main_line(struct arena *arena, const struct moment *m,
                          const uint8_t *categories, uint8_t category);
