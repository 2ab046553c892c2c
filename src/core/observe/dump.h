/* dump.h - a snapshot when memory runs out.  Private to core. */
#ifndef LARDER_CORE_DUMP_H
#define LARDER_CORE_DUMP_H

#include "core/state/allocator.h"

/* Write the snapshot that the setting dump_on_oom asks for, if any: once, or
 * each time if its path has %n.  The lock is held; it is dropped while the
 * file is written.  What fails is counted; the words of the last error are
 * the caller's to keep. */
void larder__dump_on_oom(struct allocator *a);

#endif
