/* check.h - larder_check() for the library's own use.  Private to core. */
#ifndef LARDER_CORE_API_CHECK_H
#define LARDER_CORE_API_CHECK_H

#include "core/state/allocator.h"

/* Check every structure against every rule.  All locks are held. */
larder_result larder__check_rules(struct allocator *a);

#endif
