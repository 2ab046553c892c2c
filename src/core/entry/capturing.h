/* capturing.h - refuses operations that a capture forbids.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* LARDER_ERR_CAPTURING if a stream is or may be being captured.  `what` begins
 * the message: "memory cannot be released". */
larder_result larder__capturing_forbids(const struct allocator *a,
                                        const char *what);
