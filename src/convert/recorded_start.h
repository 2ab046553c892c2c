/* recorded_start.h - builds the state before a recording by public calls. */
#pragma once

#include <setjmp.h>

#include "convert/recorded.h"
#include "convert/recorded_device.h"

/* A recording that is repeated with an allocator. */
struct playback {
    struct arena arena;
    const struct story *story;
    const struct lifetimes *l;
    struct recorded_device *device;
    larder_allocator *allocator;
    uint64_t *got;   /* by allocation: its address; 0: none */
    uint64_t *waits; /* by allocation: the stream its free waits for; 0 */
    uint64_t next_wait;
    struct recorded_result *out;
    jmp_buf stopped; /* out->reason says why */
};

/* Note the reason, and jump to `stopped`. */
TOOL_NO_RETURN __attribute__((format(printf, 2, 3))) void playback_stop(
    struct playback *r, const char *format, ...);

/* Allocate in the private pool with this number in the snapshot, or in the
 * default pool. */
larder_result playback_alloc(struct playback *r, uint64_t bytes,
                             uint32_t stream, uint32_t pool, larder_addr *out);

/* Free allocation `number`, after recording the stream that it waits for. */
larder_result playback_free(struct playback *r, uint32_t number);

/* Build the state: first memory for every segment, all of it in use so that
 * requests cannot find any other; then, segment by segment, the blocks in order
 * of address.  What was free is released last. */
void recorded_start_build(struct playback *r);
