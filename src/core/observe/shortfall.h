/* shortfall.h - why a request failed, from the state of now.  Private to
 * core. */
#ifndef LARDER_CORE_SHORTFALL_H
#define LARDER_CORE_SHORTFALL_H

#include "base/text.h"
#include "core/state/allocator.h"

/* Add sentences in the words of `larder report`: what is held, who holds it,
 * what stood in the way, and what would have fitted.  `device_free` is what
 * the device says it has.  O(blocks). */
void larder__shortfall_say(struct allocator *a, const struct request *q,
                           uint64_t device_free, struct text *t);

/* Add the sentence for a request that the limit of its private pool forbade, or
 * one of the ledger: causes that PyTorch knows nothing of.  False: neither did.
 * O(blocks). */
bool larder__shortfall_say_limit(struct allocator *a, const struct request *q,
                                 struct text *t);

/* As PyTorch's format_size(). */
void larder__text_add_bytes(struct text *t, uint64_t bytes);

#endif
