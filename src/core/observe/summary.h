/* summary.h - the table of a device's statistics.  Private to core. */
#ifndef LARDER_CORE_SUMMARY_H
#define LARDER_CORE_SUMMARY_H

#include "core/state/stats.h"

/* The text of memory_summary() for device number `ordinal`: at most
 * `capacity` bytes with the NUL; returns the length of the whole. */
size_t larder__summary(const larder_stats *st, int ordinal, int abbreviated,
                       char *out, size_t capacity);

#endif
