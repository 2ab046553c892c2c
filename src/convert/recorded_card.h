/* recorded_card.h - how much of its card a process could use when a request
 * failed: what it had reserved, and what the driver had left.  The rest
 * belonged to other processes and to the driver. */
#pragma once

#include "snapshot/lifetimes.h"

struct recorded_card {
    bool found;           /* the device has a failed request: */
    uint32_t event;       /* its event; the last one */
    uint64_t asked;       /* bytes */
    uint64_t reserved;    /* by the process at that time */
    uint64_t driver_free; /* left then; 0 if not recorded */
    uint64_t bytes;       /* total that the process could use */
    /* The card of which the recorded per_process_memory_fraction is that;
     * `bytes` without such a setting. */
    uint64_t device_bytes;
    /* How much more memory the driver would have needed to serve it at that
     * moment. */
    uint64_t missing;
};

/* Under the settings `conf` (snapshot_conf()).  If the driver had enough and the
 * process's own limit refused, `bytes` is the maximum that the limit can have
 * been.  False: no host memory, or unusable settings. */
bool recorded_card_find(const struct lifetimes *l, const char *conf,
                        struct recorded_card *out, struct tool_error *error);
