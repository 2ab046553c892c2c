/* dump.h - writes a snapshot when memory runs out.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Write the snapshot that the setting dump_on_oom asks for, if any: once, or
 * each time if its path contains %n.  The caller holds the lock, which is
 * dropped while the file is written.  Errors are counted; they may replace the
 * last error's message, so the caller must save it. */
void larder__dump_on_oom(struct allocator *a);
