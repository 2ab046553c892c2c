/* snap_put.h - what the parts of the snapshot writer share. */
#ifndef LARDER_SNAPSHOT_SNAP_PUT_H
#define LARDER_SNAPSHOT_SNAP_PUT_H

#include <stdio.h>

#include "base/emit.h"
#include "snapshot/snapshot.h"

struct snap_writer {
    struct emit emit;
    const struct snapshot *s;

    /* By number.  Pickle: places of the emitter.  JSON (frames and stacks):
     * number in its list plus 1; 0: not used. */
    uint32_t *strings; /* the first are the words */
    uint32_t *frames;
    uint32_t *stacks;
    uint32_t *pools;
};

static inline void put_text(struct snap_writer *w, uint32_t string)
{
    larder__emit_string(&w->emit, snapshot_string(w->s, string),
                        snapshot_string_length(w->s, string),
                        &w->strings[string]);
}

static inline void put_string(struct snap_writer *w, enum snap_word key,
                              uint32_t string)
{
    larder__emit_word(&w->emit, key);
    put_text(w, string);
}

/* Write allocator_settings, with its key (snap_write_settings.c). */
void snap_write_settings(struct snap_writer *w);

/* Write unknown keys kept by snap_rest.h; records in them are written like
 * regular ones (snapshot_write.c). */
void snap_write_rest(struct snap_writer *w, uint32_t pairs);

#endif
