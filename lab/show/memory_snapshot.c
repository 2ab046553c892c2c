/* memory_snapshot.c - the allocator's snapshot, into the caller's buffer. */
#include <larder/history.h>

#include "tensor/writer.h"
#include "tensor/tensor.h"

static int write_piece(void *ctx, const void *bytes, size_t count)
{
    lab__write_text(ctx, bytes, count);
    return 0;
}

/* Without the history: writing a snapshot is an event in it, so the text would
 * be longer than the length computed first. */
size_t lab_snapshot_json(lab *l, char *buf, size_t cap)
{
    struct lab__writer w;
    larder_snapshot_options opt;

    lab__writer_init(&w, buf, cap);
    larder_snapshot_options_init(&opt);
    opt.format = LARDER_SNAPSHOT_JSON;
    opt.no_history = 1;
    if (larder_snapshot_write_to(l->allocator, write_piece, &w, &opt) !=
        LARDER_OK)
        lab__write_text(&w, "{}", 2);
    return w.length;
}
