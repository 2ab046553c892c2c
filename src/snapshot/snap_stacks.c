/* snap_stacks.c - resolves stacks by number: "frames" and "stacks" of the
 * outermost dict, and the references to them. */
#include <inttypes.h>
#include <string.h>

#include "snapshot/snap_builder.h"

struct resolving {
    struct snap_builder *b;
    uint32_t *frames; /* by number in the file */
    size_t frame_count;
    size_t frame_capacity;
    uint32_t *stacks; /* by number in the file plus 1; [0]: none */
    size_t stack_count;
    size_t stack_capacity;
};

static bool wrong(struct resolving *r, const struct snap_value *v,
                  const char *name, const char *expected)
{
    return snap_fail_at(r->b, v->at, "\"%s\" is %s; expected %s", name,
                        snap_kind_name(r->b, v), expected);
}

/* The list of frames was converted to a stack already. */
static bool take_frames(struct resolving *r, const struct snap_value *v)
{
    const uint32_t *frames;

    if (v->kind == SNAP_EMPTY_LIST)
        return true;
    if (v->kind != SNAP_STACK)
        return wrong(r, v, "frames", "a list of frames");
    frames = snapshot_stack(r->b->s, (uint32_t)v->bits, &r->frame_count);
    if (!snap_reserve(&r->b->memory, &r->frames, &r->frame_capacity,
                      r->frame_count, sizeof *r->frames))
        return snap_no_memory(r->b);
    memcpy(r->frames, frames, r->frame_count * sizeof *frames);
    return true;
}

/* Convert the frame numbers of a stack to our own, in b->ids. */
static bool take_numbers(struct resolving *r, const struct snap_value *v,
                         const struct snap_object *o)
{
    struct snap_builder *b = r->b;

    if (!snap_reserve(&b->memory, &b->ids, &b->id_capacity, o->count,
                      sizeof *b->ids))
        return snap_no_memory(b);
    for (size_t i = 0; i < o->count; i++) {
        const struct snap_value *n = &o->items[i];

        if (n->kind != SNAP_INT || n->bits >= r->frame_count)
            return snap_fail_at(
                b, v->at,
                "a stack contains something that is not the number of a frame; "
                "expected integers below %zu",
                r->frame_count);
        b->ids[i] = r->frames[n->bits];
    }
    return true;
}

static bool take_stack(struct resolving *r, const struct snap_value *v,
                       uint32_t *out)
{
    const struct snap_object *o = snap_object_of(r->b, v, SNAP_LIST);

    *out = 0;
    if (v->kind == SNAP_EMPTY_LIST)
        return true;
    if (o == NULL || o->range != SNAP_UNSET)
        return wrong(r, v, "stacks", "a list of lists of numbers of frames");
    if (!take_numbers(r, v, o))
        return false;
    *out = snap_intern_stack(&r->b->intern, r->b->ids, o->count);
    return *out != SNAP_NONE || snap_no_memory(r->b);
}

static bool take_stacks(struct resolving *r, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(r->b, v, SNAP_LIST);
    size_t count = o != NULL ? o->count : 0;

    if (v->kind != SNAP_EMPTY_LIST && (o == NULL || o->range != SNAP_UNSET))
        return wrong(r, v, "stacks", "a list of lists of numbers of frames");
    if (!snap_reserve(&r->b->memory, &r->stacks, &r->stack_capacity, count + 1,
                      sizeof *r->stacks))
        return snap_no_memory(r->b);
    r->stacks[0] = 0;
    r->stack_count = count + 1;
    for (size_t i = 0; i < count; i++) {
        if (!take_stack(r, &o->items[i], &r->stacks[i + 1]))
            return false;
    }
    return true;
}

static bool resolve(struct resolving *r, uint32_t at, uint32_t *stack)
{
    if (*stack >= r->stack_count)
        return snap_fail_at(r->b, at,
                            "there is a reference to stack %" PRIu32
                            "; expected a number below %zu",
                            *stack - 1, r->stack_count - 1);
    *stack = r->stacks[*stack];
    return true;
}

static bool resolve_all(struct resolving *r, uint32_t at)
{
    struct snapshot *s = r->b->s;
    bool ok = true;

    for (size_t i = 0; ok && i < s->event_end; i++)
        ok = resolve(r, at, &s->events[i].stack);
    for (size_t i = 0; ok && i < s->segment_end; i++)
        ok = resolve(r, at, &s->segments[i].stack);
    for (size_t i = 0; ok && i < s->block_end; i++)
        ok = resolve(r, at, &s->blocks[i].stack);
    for (size_t i = 0; ok && i < s->history_count; i++)
        ok = resolve(r, at, &s->histories[i].stack);
    return ok;
}

/* The list of all frames was read as a stack.  Remove it, unless it happens to
 * be one; nothing is interned any more. */
static void drop_list(struct resolving *r, const struct snap_value *frames)
{
    struct snapshot *s = r->b->s;
    uint32_t list = (uint32_t)frames->bits;
    uint64_t begin = s->stack_begins[list];
    uint64_t length = s->stack_begins[list + 1] - begin;

    for (size_t i = 0; i < r->stack_count; i++) {
        if (r->stacks[i] == list)
            return;
    }
    memmove(s->stack_frames + begin, s->stack_frames + begin + length,
            (size_t)(s->stack_begins[s->stack_count] - begin - length) *
                sizeof *s->stack_frames);
    s->stack_count--;
    for (size_t i = list; i <= s->stack_count; i++)
        s->stack_begins[i] = s->stack_begins[i + 1] - length;
    for (size_t i = 0; i < r->stack_count; i++)
        r->stacks[i] -= r->stacks[i] > list;
}

bool snap_resolve_stacks(struct snap_builder *b, const struct snap_value *root,
                         const struct snap_value *frames,
                         const struct snap_value *stacks)
{
    struct resolving r = {.b = b};
    bool ok;

    if (b->stack_lists)
        return snap_fail_at(b, root->at,
                            "\"frames\" of some is a number and of others a "
                            "list; expected one or the other");
    if (frames == NULL || stacks == NULL)
        return snap_fail_at(b, root->at,
                            "\"frames\" of events are numbers, but there is no "
                            "key \"%s\"",
                            frames == NULL ? "frames" : "stacks");
    ok = take_frames(&r, frames) && take_stacks(&r, stacks);
    if (ok && frames->kind == SNAP_STACK)
        drop_list(&r, frames);
    ok = ok && resolve_all(&r, stacks->at);
    snap_release(&b->memory, r.frames, r.frame_capacity * sizeof *r.frames);
    snap_release(&b->memory, r.stacks, r.stack_capacity * sizeof *r.stacks);
    return ok;
}
