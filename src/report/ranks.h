/* ranks.h - the ranks of one job side by side: which is worst, how far they lie
 * apart, which stand out, what they have in common.
 *
 * Of each device of each snapshot a few figures are kept, so that any number of
 * snapshots can be read one after the other. */
#pragma once

#include <stdio.h>

#include "report/report_words.h"

enum { RANK_HOLDERS = 8 };

struct report_holder {
    uint64_t bytes;
    uint64_t count; /* of allocations */
    char frame[REPORT_FRAME];
};

/* Up to `max` holders at the peak of a device, largest first; *count is their
 * number.  False: no host memory. */
bool report_holders(const struct snapshot *s, size_t device, size_t max,
                    struct report_holder *out, size_t *count,
                    struct tool_error *error);

struct report_rank {
    char *file; /* malloc'd */
    size_t device;
    uint64_t events;
    uint64_t peak_allocated;
    uint64_t peak_reserved;
    uint64_t asked;    /* by the last request that failed; 0: none did */
    const char *cause; /* of that; static, NULL without */
    char requester[REPORT_REQUESTER];
    struct report_holder holders[RANK_HOLDERS]; /* at the peak */
    size_t holder_count;
};

struct report_ranks {
    struct report_rank *items;
    size_t count;
    size_t capacity;
};

struct report_spread {
    uint64_t min;
    uint64_t median; /* the lower one of two */
    uint64_t max;
};

/* How a rank differs from the median one. */
struct report_outlier {
    size_t rank;
    bool over;         /* it holds more than the median */
    uint64_t by;       /* so many bytes */
    const char *frame; /* the line that accounts for most of it, or NULL */
    uint64_t frame_by; /* with at least so many */
};

/* What most ranks share; count 0: nothing. */
struct report_common {
    size_t rank; /* one that has it */
    size_t count;
};

/* Add the devices of a snapshot; *out begins zeroed.  The snapshot is not needed
 * after that. */
bool report_ranks_add(struct report_ranks *out, const char *file,
                      const struct snapshot *s, struct tool_error *error);
/* One more, of which only the name is set.  NULL: no host memory. */
struct report_rank *report_ranks_new(struct report_ranks *out, const char *file,
                                     struct tool_error *error);
/* Add what report_ranks_write_json() wrote; *are_ranks is false, and nothing was
 * added, if the file is something else. */
bool report_ranks_read(struct report_ranks *out, const char *path,
                       bool *are_ranks, struct tool_error *error);
void report_ranks_free(struct report_ranks *ranks);

/* The cause of that name, or NULL. */
const char *report_rank_cause(const char *name);

/* There has to be one for each of these. */

/* The one that ran out of memory, or else that holds most. */
size_t report_ranks_worst(const struct report_ranks *ranks);
struct report_spread report_ranks_allocated(const struct report_ranks *ranks);
struct report_spread report_ranks_reserved(const struct report_ranks *ranks);
size_t report_ranks_failed(const struct report_ranks *ranks);

/* The rank with the median of allocated bytes, and the median of the others'
 * distances from it. */
struct report_middle {
    const struct report_rank *rank;
    uint64_t usual;
};
struct report_middle report_ranks_middle(const struct report_ranks *ranks);

/* Whether a rank lies further from the middle than three times what is usual,
 * and by a twentieth of it. */
bool report_ranks_outlier(const struct report_ranks *ranks,
                          const struct report_middle *middle, size_t rank,
                          struct report_outlier *out);

/* The cause and requester of most failures, the largest holder of most ranks. */
struct report_common report_ranks_cause(const struct report_ranks *ranks);
struct report_common report_ranks_holder(const struct report_ranks *ranks);

/* Write one JSON object on one line. */
bool report_ranks_write_json(FILE *out, const struct report_ranks *ranks,
                             struct tool_error *error);
