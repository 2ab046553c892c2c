/* shortage.h - an out-of-memory event taken apart: what was asked for, what
 * there was, and which of the possible causes it was. */
#ifndef LARDER_REPORT_SHORTAGE_H
#define LARDER_REPORT_SHORTAGE_H

#include "report/moment.h"

enum shortage_cause {
    SHORTAGE_TOO_MUCH, /* in use and asked for are more than can be had */
    SHORTAGE_PIECES,   /* enough was free, but no piece was large enough */
    SHORTAGE_STREAMS,  /* a piece was, but belonged to another stream */
    SHORTAGE_POOLS,    /* ... or to another pool */
    SHORTAGE_PENDING,  /* what was freed waited for other streams */
    SHORTAGE_LIMIT,    /* the driver had enough: it was not to be asked */
    SHORTAGE_REFUSED   /* a piece was there, and a rule kept it back */
};

struct shortage {
    struct moment moment; /* right before it was given up */
    uint32_t event;
    uint64_t asked;
    uint32_t stream;
    uint32_t pool;
    bool small;           /* of the small pool */
    bool expandable;      /* segments can grow */
    bool driver_known;    /* driver_free means something */
    uint64_t driver_free; /* what the driver had left */
    uint64_t free_bytes;  /* in all segments */
    uint64_t whole_free;  /* in segments nothing of which is in use */
    uint64_t own_free;    /* in those this request may use */
    uint64_t own_largest;
    uint64_t stream_largest; /* in those of other streams */
    uint64_t pool_largest;   /* in those of its stream, but other pools */
    uint64_t attainable;     /* reserved + driver_free */
    uint64_t would_fit;      /* the largest request that would have */
    enum shortage_cause cause;
};

/* `event` is an OOM event of l.  False: no host memory.  moment_free() what is
 * in it. */
bool shortage_make(const struct lifetimes *l, uint32_t event,
                   struct shortage *out, struct tool_error *error);

/* Whether a request like this may use an area. */
bool shortage_may_use(const struct shortage *s, const struct moment_area *a);

#endif
