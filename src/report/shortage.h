/* shortage.h - analyses an out-of-memory event: the request, what was
 * available, and which of the possible causes it was. */
#pragma once

#include "report/moment.h"

enum shortage_cause {
    SHORTAGE_TOO_MUCH, /* use and request exceed what is available */
    SHORTAGE_PIECES,   /* enough was free, but not in one block */
    SHORTAGE_STREAMS,  /* a block was, but of another stream */
    SHORTAGE_POOLS,    /* ... or of another pool */
    SHORTAGE_PENDING,  /* freed memory waited for other streams */
    SHORTAGE_LIMIT,    /* the driver had enough; a limit refused */
    SHORTAGE_REFUSED,  /* a block was free, but a rule kept it back */
    SHORTAGE_CAUSES
};

/* What is said of a cause; NULL where it takes more than one figure.  Each %s is
 * shortage_figure(). */
struct shortage_words {
    const char *name;
    const char *why;
    const char *remedy;
    const char *advice;
};
extern const struct shortage_words shortage_words[SHORTAGE_CAUSES];

struct shortage {
    struct moment moment; /* just before the failure */
    uint32_t event;
    uint64_t asked;
    uint64_t segment_bytes; /* what the driver would have to have for it */
    const struct snapshot_event *request;
    bool small;           /* the request is for the small pool */
    bool expandable;      /* segments can grow */
    bool driver_known;    /* driver_free is valid */
    uint64_t driver_free; /* what the driver had left */
    uint64_t free_bytes;  /* in all segments */
    uint64_t whole_free;  /* in segments that are wholly free */
    uint64_t own_free;    /* in segments this request may use */
    uint64_t own_largest;
    uint64_t stream_largest; /* in segments of other streams */
    uint64_t pool_largest;   /* in segments of its stream, but other pools */
    uint64_t attainable;     /* reserved + driver_free */
    uint64_t would_fit;      /* largest request that would have fitted */
    enum shortage_cause cause;
};

/* `event` is an OOM event of l. */
void shortage_make(struct arena *arena, const struct lifetimes *l,
                   uint32_t event, struct shortage *out);

/* What was asked for and in use, and by how much that is more than there was;
 * of what would have fitted, the request. */
uint64_t shortage_needed(const struct shortage *s);
uint64_t shortage_missing(const struct shortage *s);

/* What scales with the batch size, by estimate: activations, temporaries and the
 * request. */
uint64_t shortage_passing(const struct shortage *s, const uint8_t *categories);

/* Whether the request fails under every setting: what was asked for and in use,
 * without any rounding, is more than there was. */
bool shortage_of_all(const struct shortage *s);

/* The bytes that the cause is about. */
uint64_t shortage_figure(const struct shortage *s);

/* Whether such a request may use an area. */
bool shortage_may_use(const struct shortage *s, const struct moment_area *a);
