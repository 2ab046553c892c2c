/* snapshot_frames.h - writes stacks with their functions' names.  Private to
 * core. */
#pragma once

#include "core/observe/snapshot_state.h"

/* What has already been written and looked up. */
struct frames {
    const struct snapshot *snapshot;
    struct known_frame *known; /* cache of frames */
    uint32_t *lists;           /* places of the emitter, for each stack */
};

/* ERR_NO_HOST_MEMORY.  Call larder__frames_free() in any case. */
larder_result larder__frames_init(struct frames *f, const struct snapshot *s);
void larder__frames_free(struct frames *f);

/* Write the frames of a stack as a list; number 0: an empty one. */
void larder__frames_emit(struct frames *f, struct emit *e, uint32_t stack);
