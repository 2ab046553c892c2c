/* lifecycle.h - creates allocators.  Private to core. */
#pragma once

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

/* Change the locked allocator's settings by `text`, except the history. */
larder_result larder__configure(struct allocator *a, const char *text);

/* Turn the history on or off, if the settings just parsed say so. */
larder_result larder__configure_history(struct allocator *a);

/* ---- larder_check() for the library (check.c) ---------------------------- */

/* Check every structure against every rule.  All locks are held. */
larder_result larder__check_rules(struct allocator *a);
