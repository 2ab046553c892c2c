/* capturing.h - what cannot be done during a capture.  Private to core. */
#ifndef LARDER_CORE_CAPTURING_H
#define LARDER_CORE_CAPTURING_H

#include "core/state/allocator.h"

/* LARDER_ERR_CAPTURING, if something is or may be captured; `what` begins the
 * words: "memory cannot be released". */
larder_result larder__capturing_forbids(const struct allocator *a,
                                        const char *what);

#endif
