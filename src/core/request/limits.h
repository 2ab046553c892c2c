/* limits.h - the limits of private pools and tags.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Whether the limit of the request's pool allows it to grow.  A tag at its
 * limit first releases what it has cached; if that is not enough the refusal is
 * counted (tag_limit.c). */
bool larder__usage_allows(struct allocator *a, const struct request *q);
