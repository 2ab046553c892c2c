/* oom.h - explains and reports a failed request.  Private to core. */
#pragma once

#include "base/text.h"
#include "core/state/allocator.h"

/* Count the failure, call the observers, and return ERR_OUT_OF_MEMORY with the
 * explanation; with `is_explained` the last error is that already.  Drops and
 * retakes the locks. */
larder_result larder__out_of_memory(struct allocator *a,
                                    const struct request *q, bool is_explained);

/* Run the reclaim callbacks without the lock.  Returns whether one of them
 * freed something. */
bool larder__run_reclaims(struct allocator *a);

/* ---- why a request failed (shortfall.c) ---------------------------------- */

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

/* A size as PyTorch's format_size() writes it, in the buffer, which is returned;
 * SIZE_TEXT() brings one that lasts as long as the block. */
enum { SIZE_TEXT_MAX = 32 };
const char *larder__size_text(uint64_t bytes, char out[SIZE_TEXT_MAX]);
#define SIZE_TEXT(bytes) larder__size_text((bytes), (char[SIZE_TEXT_MAX]){0})
