/* trimmer.h - the thread behind trim_age.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Tell the thread conf.trim_age_ns; create it if that is not 0.
 * ERR_NO_HOST_MEMORY, ERR_SYSTEM: there is no thread, and nothing is
 * trimmed. */
larder_result larder__trimmer_set(struct allocator *a);

/* End the thread and wait for it.  Called without the lock. */
void larder__trimmer_end(struct allocator *a);
