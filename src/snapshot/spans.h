/* spans.h - which addresses are reserved while the events of a snapshot are
 * gone through: segments come and go whole, pages of expandable segments are
 * unmapped in other pieces than they were mapped in. */
#ifndef LARDER_SNAPSHOT_SPANS_H
#define LARDER_SNAPSHOT_SPANS_H

#include "snapshot/lifetimes.h"

/* All zero, but for `out`, is empty. */
struct span_set {
    struct lifetimes *out; /* where every span goes, live or ended */
    size_t capacity;       /* of out->spans */
    uint32_t *order;       /* live spans by address: numbers in out->spans */
    size_t live;
    size_t order_capacity;
};

void span_set_free(struct span_set *set);

/* A span begins at event span->start.  What lived there before is ended at
 * that event.  False: no memory. */
bool span_set_add(struct span_set *set, const struct segment_span *span);

/* Everything reserved in span's range ends at the event `end`, spans that
 * reach out of it being cut; what of the range is not known was reserved
 * before the recording began, as span says.  False: no memory. */
bool span_set_remove(struct span_set *set, const struct segment_span *span,
                     uint32_t end);

/* What of span's range is not reserved is added as being there from before
 * the recording.  False: no memory. */
bool span_set_fill(struct span_set *set, const struct segment_span *span);

#endif
