/* pool_loan.h - when what a graph's pool has free is lent, and to whom
 * (policy_larder/lend.h).  Private to core. */
#ifndef LARDER_CORE_REQUEST_POOL_LOAN_H
#define LARDER_CORE_REQUEST_POOL_LOAN_H

#include "core/state/allocator.h"

/* The pool's graphs do not run: what it has free is lent to that stream. */
larder_result larder__pool_lend(struct allocator *a, struct private_pool *p,
                                larder_stream stream);

/* The end of it: ERR_BUSY while something lent is in use. */
larder_result larder__pool_recall(struct allocator *a, struct private_pool *p);

#endif
