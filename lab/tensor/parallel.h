/* parallel.h - loops on all cores.
 *
 * A pool's threads start with the first loop that is long enough.  If threads
 * cannot be created, and in a forked child, loops run on the calling thread
 * alone. */
#pragma once

#include "tensor/tensor.h"

/* Minimum number of elements for which splitting a simple loop pays off. */
#define LAB__GRAIN 65536

/* threads: 0 for one for each CPU.  NULL: no host memory. */
struct lab__pool *lab__pool_new(unsigned threads);
/* Ends the threads.  NULL is a no-op. */
void lab__pool_destroy(struct lab__pool *pool);

/* Call fn(context, begin, end) for pieces of [0, count) on the session's
 * threads, none smaller than `grain`; returns when all are done.  A nested call
 * runs on its own thread alone. */
void lab__parallel(lab *l, int64_t count, int64_t grain,
                   void (*fn)(void *context, int64_t begin, int64_t end),
                   void *context);

/* Call fn(context, i) for each i of [0, count), in pieces of `grain` or more. */
void lab__parallel_each(lab *l, int64_t count, int64_t grain,
                        void (*fn)(void *context, int64_t i), void *context);

/* A grain: how many items of `each` elements have `elements` in all; 1 or
 * more. */
static inline int64_t lab__grain(int64_t elements, int64_t each)
{
    return each > 0 && each < elements ? elements / each : 1;
}

/* How many pieces can run at once; 1 or more. */
unsigned lab__threads(const lab *l);
