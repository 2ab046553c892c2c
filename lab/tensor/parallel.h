/* parallel.h - loops on all cores.
 *
 * A pool's threads start with the first loop that is long enough to need
 * them.  Where none can be had, and in a child process of the one that
 * started them, loops run on the calling thread alone. */
#ifndef LAB_TENSOR_PARALLEL_H
#define LAB_TENSOR_PARALLEL_H

#include "tensor/tensor.h"

/* Elements below which cutting up a simple loop does not pay. */
#define LAB__GRAIN 65536

/* threads: 0 for one each processor.  NULL when there is no host memory. */
struct lab__pool *lab__pool_new(unsigned threads);
/* Ends the threads.  NULL is a no-op. */
void lab__pool_destroy(struct lab__pool *pool);

/* fn(context, begin, end) over pieces of [0, count), none smaller than
 * `grain`, on the session's threads; returns when all are done.  Called from
 * such a piece it runs on that thread. */
void lab__parallel(lab *l, int64_t count, int64_t grain,
                   void (*fn)(void *context, int64_t begin, int64_t end),
                   void *context);

/* How many pieces can run at once; 1 or more. */
unsigned lab__threads(const lab *l);

#endif
