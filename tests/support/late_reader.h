/* late_reader.h - a kernel that runs late, and the bytes it reads. */
#pragma once

#include "rig.h"

struct late_reader {
    const unsigned char *last; /* the byte it reads */
    unsigned char seen;
};

static inline void late_reader_run(void *ctx)
{
    struct late_reader *r = ctx;

    r->seen = *r->last;
}

/* Fill `bytes` with `value` now, and queue the reader for the last of them. */
static inline void late_reader_queue(struct rig *rig, struct late_reader *r,
                                     larder_addr p, uint64_t bytes,
                                     unsigned char value, larder_stream stream)
{
    unsigned char *memory = (unsigned char *)(uintptr_t)p;

    memset(memory, value, bytes);
    *r = (struct late_reader){.last = memory + bytes - 1};
    assert_ok(larder_sim_launch(rig->dev, stream, late_reader_run, r));
}
