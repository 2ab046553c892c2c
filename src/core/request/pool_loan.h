/* pool_loan.h - when free memory of a graph's pool is lent, and to which stream
 * (policy_larder/lend.h).  Private to core. */
#ifndef LARDER_CORE_REQUEST_POOL_LOAN_H
#define LARDER_CORE_REQUEST_POOL_LOAN_H

#include "core/state/allocator.h"

/* The pool's graphs do not run: lend its free memory to the stream. */
larder_result larder__pool_lend(struct allocator *a, struct private_pool *p,
                                larder_stream stream);

/* Stop lending.  ERR_BUSY while a lent block is in use. */
larder_result larder__pool_recall(struct allocator *a, struct private_pool *p);

#endif
