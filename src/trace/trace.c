/* trace.c - an allocation trace in memory: a compact array of operations. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "trace/array_room.h"

void trace_init(struct trace *t)
{
    memset(t, 0, sizeof *t);
}

void trace_free(struct trace *t)
{
    free(t->ops);
    free(t->labels);
    trace_init(t);
}

bool trace_append(struct trace *t, const struct trace_op *op)
{
    if (!ARRAY_ROOM(t->ops, t->op_capacity, t->op_count + 1))
        return false;
    t->ops[t->op_count++] = *op;
    t->counted_ops++;
    if (op->kind == TRACE_ALLOC)
        t->id_count++;
    if (op->kind == TRACE_RECORD || op->kind == TRACE_COMPLETE)
        t->orders_work = true;
    return true;
}

bool trace_append_mark(struct trace *t, const char *label, size_t length)
{
    struct trace_op op = {.bytes = t->label_bytes, .kind = TRACE_MARK};

    if (!ARRAY_ROOM(t->ops, t->op_capacity, t->op_count + 1) ||
        !ARRAY_ROOM(t->labels, t->label_capacity, t->label_bytes + length + 1))
        return false;
    memcpy(t->labels + t->label_bytes, label, length);
    t->labels[t->label_bytes + length] = '\0';
    t->label_bytes += length + 1;
    t->ops[t->op_count++] = op;
    t->mark_count++;
    return true;
}

const char *trace_label(const struct trace *t, const struct trace_op *op)
{
    return t->labels + op->bytes;
}

/* Sums saturate instead of wrapping around: a trace may request more than any
 * machine has. */
static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool trace_peak_requested(const struct trace *t, uint64_t *out)
{
    uint64_t *bytes = calloc(t->id_count + 1, sizeof *bytes);
    uint64_t live = 0;
    uint64_t peak = 0;

    if (bytes == NULL)
        return false;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct trace_op *op = &t->ops[i];

        if (op->kind == TRACE_ALLOC) {
            uint64_t sum = add_capped(live, op->bytes);

            bytes[op->id] = sum - live;
            live = sum;
        } else if (op->kind == TRACE_FREE) {
            live -= bytes[op->id];
        }
        if (live > peak)
            peak = live;
    }
    free(bytes);
    *out = peak;
    return true;
}
