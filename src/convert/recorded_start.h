/* recorded_start.h - the state before a recording, built by public calls. */
#ifndef LARDER_CONVERT_RECORDED_START_H
#define LARDER_CONVERT_RECORDED_START_H

#include "convert/recorded_device.h"

/* A recording that is told to an allocator. */
struct retelling {
    const struct story *story;
    const struct lifetimes *l;
    struct recorded_device *device;
    larder_allocator *allocator;
    uint64_t *got;   /* by allocation: its address; 0: none */
    uint64_t *waits; /* by allocation: the stream its free waits for; 0 */
    uint64_t next_wait;
};

/* Ask for memory in the private pool of a snapshot's number, or the default.
 */
larder_result retelling_ask(struct retelling *r, uint64_t bytes,
                            uint32_t stream, uint32_t pool, larder_addr *out);

/* Give allocation `number` back, after recording the stream it waits for. */
larder_result retelling_free(struct retelling *r, uint32_t number);

/* Build it: memory for every segment first, all of it in use, so that no
 * request finds any other; then, segment by segment, blocks in the order of
 * their addresses; what was free is released last.  False: it cannot be
 * built; `reason` has RECORDED_TEXT_MAX bytes. */
bool recorded_start_build(struct retelling *r, char *reason);

#endif
