/* limits.h - what the limits of private pools and tags let a request have.
 * Private to core. */
#ifndef LARDER_CORE_LIMITS_H
#define LARDER_CORE_LIMITS_H

#include "core/state/allocator.h"

/* Whether the limit of the request's pool lets it grow: for a tag once what it
 * has cached was released, else the refusal is counted (tag_limit.c). */
bool larder__usage_allows(struct allocator *a, const struct request *q);

#endif
