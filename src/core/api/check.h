/* check.h - larder_check() for the library itself.  Private to core. */
#ifndef LARDER_CORE_API_CHECK_H
#define LARDER_CORE_API_CHECK_H

#include "core/state/allocator.h"

/* Walk every structure, by every rule.  All locks are held. */
larder_result larder__check_rules(struct allocator *a);

#endif
