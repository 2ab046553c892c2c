/* trace_write.c - writes a trace as text, an operation a line. */
#include "trace/trace.h"

#include <inttypes.h>

static int write_op(const struct trace *t, const struct trace_op *op, FILE *out)
{
    switch ((enum trace_kind)op->kind) {
    case TRACE_ALLOC:
        return fprintf(out, "a %" PRIu32 " %" PRIu64 " %u\n", op->id, op->bytes,
                       op->stream);
    case TRACE_FREE:
        return fprintf(out, "f %" PRIu32 "\n", op->id);
    case TRACE_RECORD:
        return fprintf(out, "r %" PRIu32 " %u\n", op->id, op->stream);
    case TRACE_COMPLETE:
        return fprintf(out, "c %u\n", op->stream);
    case TRACE_EMPTY_CACHE:
        return fprintf(out, "e\n");
    case TRACE_MARK:
        return fprintf(out, "m %s\n", trace_label(t, op));
    }
    return 0;
}

bool trace_write(const struct trace *t, FILE *out)
{
    for (size_t i = 0; i < t->op_count; i++) {
        if (write_op(t, &t->ops[i], out) < 0)
            return false;
    }
    return fflush(out) == 0;
}
