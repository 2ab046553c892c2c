/* replay_hints.c - the hints that a program which knew all lifetimes would
 * give: computed from the trace before it is replayed. */
#include <stdlib.h>

#include <larder/hint.h>

#include "replay/replay_session.h"

/* Mark allocations that are followed by enough others before they are freed or
 * the trace ends. */
static void mark_outlived(struct replay_hints *h, const struct trace *t,
                          uint64_t *born)
{
    uint64_t now = 0;

    for (size_t i = 0; i < t->op_count; i++) {
        const struct trace_op *op = &t->ops[i];

        if (op->kind == TRACE_ALLOC)
            born[op->id] = ++now;
        else if (op->kind == TRACE_FREE && born[op->id] != 0) {
            h->is_long[op->id] = now - born[op->id] >= h->after;
            born[op->id] = 0;
        }
    }
    for (size_t id = 0; id < t->id_count; id++) {
        if (born[id] != 0)
            h->is_long[id] = now - born[id] >= h->after;
    }
}

bool replay_hints_make(const struct trace *t, uint64_t after,
                       struct replay_hints *out, struct tool_error *error)
{
    uint64_t *born;

    *out = (struct replay_hints){.after = after};
    if (after == 0)
        return true;
    born = calloc(t->id_count + 1, sizeof *born);
    out->is_long = calloc(t->id_count + 1, sizeof *out->is_long);
    if (born == NULL || out->is_long == NULL) {
        free(born);
        replay_hints_free(out);
        return tool_fail(error, "out of host memory");
    }
    mark_outlived(out, t, born);
    free(born);
    return true;
}

void replay_hints_free(struct replay_hints *h)
{
    free(h->is_long);
    *h = (struct replay_hints){.after = 0};
}

larder_result replay_alloc_hinted(struct replay_session *s,
                                  const struct trace_op *op)
{
    larder_hint hint =
        s->hints.is_long[op->id] ? LARDER_HINT_LONG : LARDER_HINT_SHORT;

    return larder_alloc_hinted(s->allocator, op->bytes, op->stream, hint,
                               &s->addrs[op->id]);
}
