/* summary.h - the table of a device's statistics.  Private to core. */
#pragma once

#include "core/state/stats.h"

/* Write the text of memory_summary() for device number `ordinal`: at most
 * `capacity` bytes including the NUL.  Returns the length of the complete
 * text. */
size_t larder__summary(const larder_stats *st, int ordinal, int abbreviated,
                       char *out, size_t capacity);
