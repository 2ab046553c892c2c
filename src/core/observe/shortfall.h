/* shortfall.h - explains from the current state why a request failed.  Private
 * to core. */
#ifndef LARDER_CORE_OBSERVE_SHORTFALL_H
#define LARDER_CORE_OBSERVE_SHORTFALL_H

#include "base/text.h"
#include "core/state/allocator.h"

/* Add sentences in the terms of `larder report`: what is held and by whom, what
 * prevented the request, and what would have fitted. `device_free` is the
 * device's own figure.  O(blocks). */
void larder__shortfall_add(struct allocator *a, const struct request *q,
                           uint64_t device_free, struct text *t);

/* Add a sentence if the limit of a private pool or of the ledger refused the
 * request: causes that PyTorch does not have.  False: neither did.
 * O(blocks). */
bool larder__shortfall_add_limit(struct allocator *a, const struct request *q,
                                 struct text *t);

/* Formats like PyTorch's format_size(). */
void larder__text_add_bytes(struct text *t, uint64_t bytes);

#endif
