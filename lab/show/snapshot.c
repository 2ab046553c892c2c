/* snapshot.c - segments and blocks in the form of PyTorch's _snapshot(), as
 * JSON.  All of it is numbers and fixed words: nothing needs escaping. */
#include <inttypes.h>

#include "show/writer.h"
#include "tensor/tensor.h"

struct snapshot {
    struct lab__writer w;
    size_t segments;
    size_t blocks; /* of the segment being written */
};

static int write_segment(void *ctx, const larder_segment_info *s)
{
    struct snapshot *snap = ctx;
    struct lab__writer *w = &snap->w;

    lab__write(w, "%s\n  {\"device\": 0, \"address\": %" PRIu64,
               snap->segments > 0 ? "]}," : "", s->addr);
    lab__write(w, ", \"total_size\": %" PRIu64 ", \"allocated_size\": %" PRIu64,
               s->bytes, s->allocated_bytes);
    lab__write(w,
               ", \"active_size\": %" PRIu64 ", \"requested_size\": %" PRIu64,
               s->active_bytes, s->requested_bytes);
    lab__write(w, ", \"stream\": %" PRIu64 ", \"segment_type\": \"%s\"",
               s->stream, s->is_large ? "large" : "small");
    lab__write(w, ", \"segment_pool_id\": [%" PRIu64 ", %" PRIu64 "]",
               s->pool.first, s->pool.second);
    lab__write(w, ", \"is_expandable\": %s, \"frames\": [], \"blocks\": [",
               s->is_expandable ? "true" : "false");
    snap->segments++;
    snap->blocks = 0;
    return 0;
}

static const char *state_name(larder_block_state state)
{
    switch (state) {
    case LARDER_BLOCK_ALLOCATED:
        return "active_allocated";
    case LARDER_BLOCK_PENDING:
        return "active_pending_free";
    case LARDER_BLOCK_FREE:
        break;
    }
    return "inactive";
}

static int write_block(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *b)
{
    struct snapshot *snap = ctx;

    (void)segment;
    lab__write(&snap->w,
               "%s\n    {\"address\": %" PRIu64 ", \"size\": %" PRIu64,
               snap->blocks > 0 ? "," : "", b->addr, b->bytes);
    lab__write(&snap->w,
               ", \"requested_size\": %" PRIu64
               ", \"state\": \"%s\", \"frames\": []}",
               b->requested_bytes, state_name(b->state));
    snap->blocks++;
    return 0;
}

size_t lab_snapshot_json(lab *l, char *buf, size_t cap)
{
    struct snapshot snap = {.segments = 0};
    larder_stats st;

    lab__writer_init(&snap.w, buf, cap);
    larder_stats_init(&st);
    if (larder_stats_get(lab_allocator(l), &st) != LARDER_OK)
        return 0;
    lab__write(&snap.w, "{\"segments\": [");
    if (larder_walk(lab_allocator(l), write_segment, write_block, &snap) !=
        LARDER_OK) {
        lab__writer_init(&snap.w, buf, cap);
        return 0;
    }
    lab__write(&snap.w, "%s],\n \"device_traces\": [[]],\n",
               snap.segments > 0 ? "]}" : "");
    lab__write(&snap.w,
               " \"allocator_settings\": {\"max_split_size\": %" PRId64,
               st.max_split_size);
    lab__write(&snap.w, "}}\n");
    return snap.w.length;
}
