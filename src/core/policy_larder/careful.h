/* careful.h - the careful path: hits and frees while a tag, a route, a piece or a
 * history exists.  Private to core.
 *
 * These close the fast path to requests, because each request may belong to a
 * private pool, meet a part of a piece, or has to be recorded.  The careful path
 * finds that out under the lock of the request's stream, so that other streams
 * do not wait.  What threads share there, the filters of private pools and the
 * history, is used under one more lock, shards.common; a thread that holds all
 * other locks needs it not, as it excludes every shard. */
#pragma once

#include "core/state/allocator.h"

/* Serve a request of `bytes` > 0 from its stream's own free blocks, or free the
 * block at addr into them.  `caller` is the return address of the public
 * function, for the history.  The caller holds no lock.  False: nothing was
 * done; take the slow path. */
bool larder__careful_alloc(struct allocator *a, uint64_t bytes,
                           larder_stream stream, larder_addr *out,
                           const void *caller);
bool larder__careful_free(struct allocator *a, larder_addr addr,
                          const void *caller);
