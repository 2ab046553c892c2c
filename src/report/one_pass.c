/* one_pass.c - tells repeated layers from iterations. */
#include "report/one_pass.h"

#include <stdlib.h>
#include <string.h>

#include "report/frame_kind.h"

/* Inner calls beyond these are of no interest. */
enum { CALLS_MAX = 256 };

/* The Python calls of a path, outermost first.  C++ frames are left out: where
 * they are among the others differs from one unwinding to the next. */
struct path {
    uint32_t frames[CALLS_MAX];
    size_t count;
};

static bool is_python(const struct snapshot *s, uint32_t frame)
{
    enum frame_kind kind = frame_kind_of(s, frame);

    return kind == FRAME_STANDARD || kind >= FRAME_TORCH;
}

static void path_of(const struct snapshot *s, uint32_t stack, struct path *out)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);

    out->count = 0;
    while (count-- > 0 && out->count < CALLS_MAX) {
        if (is_python(s, frames[count]))
            out->frames[out->count++] = frames[count];
    }
}

/* How many outer calls, of at most `max`, both paths may share: those below the
 * first that is on another line are other calls. */
static size_t common_depth(const struct snapshot *s, const struct path *a,
                           const struct path *b, size_t max)
{
    for (size_t k = 0; k < max; k++) {
        const struct snapshot_frame *x;
        const struct snapshot_frame *y;

        if (k == a->count || k == b->count)
            return k;
        x = &s->frames[a->frames[k]];
        y = &s->frames[b->frames[k]];
        if (x->name != y->name || x->filename != y->filename)
            return k;
        if (x->line != y->line)
            return k + 1;
    }
    return max;
}

/* The number of calls down to the outermost forward(); 0: there is none. */
static size_t depth_of_pass(const struct snapshot *s, const struct path *p,
                            size_t max)
{
    for (size_t k = 0; k < max; k++) {
        if (strcmp(snapshot_string(s, s->frames[p->frames[k]].name),
                   "forward") == 0)
            return k + 1;
    }
    return 0;
}

static bool is_between(const struct lifetime *a, uint32_t from, uint32_t to)
{
    return a->start >= from && a->start < to;
}

/* Mark the stacks that repeat.  Returns how many outer calls all share with
 * *first, the path of one of them. */
static size_t mark_repeated(const struct lifetimes *l, uint32_t from,
                            uint32_t to, bool *repeated, struct path *first)
{
    const struct snapshot *s = l->snapshot;
    size_t depth = SIZE_MAX;

    for (size_t i = l->before_count; i < l->alloc_count; i++) {
        uint32_t stack = l->allocs[i].stack;
        struct path p;

        if (!is_between(&l->allocs[i], from, to) || repeated[stack])
            continue;
        repeated[stack] = true;
        path_of(s, stack, &p);
        if (depth == SIZE_MAX) {
            *first = p;
            depth = p.count;
        }
        depth = common_depth(s, first, &p, depth);
    }
    return depth == SIZE_MAX ? 0 : depth;
}

bool one_pass_is(const struct lifetimes *l, uint32_t from, uint32_t to,
                 bool *is)
{
    const struct snapshot *s = l->snapshot;
    bool *repeated = calloc(s->stack_count + 1, sizeof *repeated);
    struct path first = {.count = 0};
    size_t depth;

    *is = false;
    if (repeated == NULL)
        return false;
    depth = mark_repeated(l, from, to, repeated, &first);
    depth = depth_of_pass(s, &first, depth);
    for (size_t i = l->before_count; depth > 0 && i < l->alloc_count; i++) {
        uint32_t stack = l->allocs[i].stack;
        struct path p;

        if (repeated[stack])
            continue;
        repeated[stack] = true; /* looked at */
        path_of(s, stack, &p);
        *is = *is || common_depth(s, &first, &p, depth) == depth;
    }
    free(repeated);
    return true;
}
