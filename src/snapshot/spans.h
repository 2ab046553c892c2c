/* spans.h - the reserved addresses while a snapshot's events are processed:
 * segments come and go as a whole, while pages of expandable segments may be
 * unmapped in other parts than they were mapped. */
#pragma once

#include "snapshot/lifetimes.h"

/* All zero, except for `arena` and `out`, is empty. */
struct span_set {
    struct arena *arena;   /* to fail */
    struct lifetimes *out; /* receives every span, live or ended */
    size_t capacity;       /* of out->spans */
    uint32_t *order;       /* live spans by address: numbers in out->spans */
    size_t live;
    size_t order_capacity;
};

void span_set_free(struct span_set *set);

/* The live span that begins at an address.  NULL: none. */
struct segment_span *span_set_at(const struct span_set *set, uint64_t address);

/* A span begins at event span->start.  Spans that were live there end at that
 * event. */
void span_set_add(struct span_set *set, const struct segment_span *span);

/* Everything reserved in span's range ends at event `end`; spans that extend
 * beyond it are cut.  Parts of the range that are not known were reserved
 * before the recording began, as described by span. */
void span_set_remove(struct span_set *set, const struct segment_span *span,
                     uint32_t end);

/* Add the parts of span's range that are not reserved as existing since before
 * the recording. */
void span_set_fill(struct span_set *set, const struct segment_span *span);
