/* check.h - larder_check() for the library's own use.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Check every structure against every rule.  All locks are held. */
larder_result larder__check_rules(struct allocator *a);
