/* lifecycle.h - creates allocators.  Private to core. */
#ifndef LARDER_CORE_API_LIFECYCLE_H
#define LARDER_CORE_API_LIFECYCLE_H

#include "core/state/allocator.h"

/* Copy the caller's options, of this or another version, into ours.
 * ERR_INVALID for unknown values. */
larder_result larder__options_read(const larder_options *opt,
                                   larder_options *out);

/* Create an allocator with this policy; own->policy is ignored. */
larder_result larder__allocator_create(larder_device *dev,
                                       const struct policy *policy,
                                       const larder_options *own,
                                       larder_allocator **out);

#endif
