/* recorded_card.h - how much of its card a process could have when a request
 * failed: what it had reserved, and what the driver had left.  The rest was
 * other processes', and the driver's own. */
#ifndef LARDER_CONVERT_RECORDED_CARD_H
#define LARDER_CONVERT_RECORDED_CARD_H

#include "snapshot/lifetimes.h"

struct recorded_card {
    bool found;           /* the device has a request that failed: */
    uint32_t event;       /* the last */
    uint64_t asked;       /* bytes */
    uint64_t reserved;    /* by the process when it was given up */
    uint64_t driver_free; /* left then; 0 where that was not recorded */
    uint64_t bytes;       /* what the process could have, in all */
    uint64_t missing;     /* with so much more the driver would have served
                           * it, at that moment */
};

/* Where the driver had enough and a limit of the process's own kept it from
 * asking, `bytes` is the most that the limit may have been.
 * False: no host memory. */
bool recorded_card_find(const struct lifetimes *l, struct recorded_card *out,
                        struct tool_error *error);

#endif
