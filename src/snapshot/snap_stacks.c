/* snap_stacks.c - resolves stacks by number: "frames" and "stacks" of the
 * outermost dict, and the references to them. */
#include <inttypes.h>
#include <string.h>

#include "snapshot/snap_builder.h"

TOOL_NO_RETURN static void wrong(struct snap_builder *b,
                                 const struct snap_value *v)
{
    snap_fail_at(b, v->at,
                 "\"stacks\" is %s; expected a list of lists of numbers of "
                 "frames",
                 snap_kind_name(b, v));
}

/* The list of frames was converted to a stack already. */
static void take_frames(struct snap_builder *b, const struct snap_value *v)
{
    struct snap_numbers *n = &b->file_frames;
    const uint32_t *frames;

    if (v->kind == SNAP_EMPTY_LIST)
        return;
    if (v->kind != SNAP_STACK)
        snap_fail_at(b, v->at, "\"frames\" is %s; expected a list of frames",
                     snap_kind_name(b, v));
    frames = snapshot_stack(b->s, (uint32_t)v->bits, &n->count);
    SNAP_ROOM(b, n->at, n->capacity, n->count);
    memcpy(n->at, frames, n->count * sizeof *frames);
}

/* Convert the frame numbers of a stack to our own. */
static uint32_t take_stack(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    const struct snap_numbers *frames = &b->file_frames;

    if (v->kind == SNAP_EMPTY_LIST)
        return 0;
    if (o == NULL || o->range != SNAP_UNSET)
        wrong(b, v);
    SNAP_ROOM(b, b->ids, b->id_capacity, o->count);
    for (size_t i = 0; i < o->count; i++) {
        const struct snap_value *n = &o->items[i];

        if (n->kind != SNAP_INT || n->bits >= frames->count)
            snap_fail_at(
                b, v->at,
                "a stack contains something that is not the number of a frame; "
                "expected integers below %zu",
                frames->count);
        b->ids[i] = frames->at[n->bits];
    }
    return snap_intern_stack(b, b->ids, o->count);
}

/* Number 0 is none; what the file numbers from 0 follows. */
static void take_stacks(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    struct snap_numbers *stacks = &b->file_stacks;

    if (v->kind != SNAP_EMPTY_LIST && (o == NULL || o->range != SNAP_UNSET))
        wrong(b, v);
    SNAP_ADD(b, stacks->at, stacks->count, stacks->capacity, 0);
    for (size_t i = 0; o != NULL && i < o->count; i++) {
        uint32_t stack = take_stack(b, &o->items[i]);

        SNAP_ADD(b, stacks->at, stacks->count, stacks->capacity, stack);
    }
}

static void resolve(struct snap_builder *b, uint32_t at, uint32_t *stack)
{
    const struct snap_numbers *stacks = &b->file_stacks;

    if (*stack >= stacks->count)
        snap_fail_at(b, at,
                     "there is a reference to stack %" PRIu32
                     "; expected a number below %zu",
                     *stack - 1, stacks->count - 1);
    *stack = stacks->at[*stack];
}

static void resolve_all(struct snap_builder *b, uint32_t at)
{
    struct snapshot *s = b->s;

    for (size_t i = 0; i < s->event_end; i++)
        resolve(b, at, &s->events[i].stack);
    for (size_t i = 0; i < s->segment_end; i++)
        resolve(b, at, &s->segments[i].stack);
    for (size_t i = 0; i < s->block_end; i++)
        resolve(b, at, &s->blocks[i].stack);
    for (size_t i = 0; i < s->history_count; i++)
        resolve(b, at, &s->histories[i].stack);
}

/* The list of all frames was read as a stack.  Remove it, unless it happens to
 * be one; nothing is interned any more. */
static void drop_list(struct snap_builder *b, uint32_t list)
{
    struct snapshot *s = b->s;
    struct snap_numbers *stacks = &b->file_stacks;
    uint64_t begin = s->stack_begins[list];
    uint64_t length = s->stack_begins[list + 1] - begin;

    for (size_t i = 0; i < stacks->count; i++) {
        if (stacks->at[i] == list)
            return;
    }
    memmove(s->stack_frames + begin, s->stack_frames + begin + length,
            (size_t)(s->stack_begins[s->stack_count] - begin - length) *
                sizeof *s->stack_frames);
    s->stack_count--;
    for (size_t i = list; i <= s->stack_count; i++)
        s->stack_begins[i] = s->stack_begins[i + 1] - length;
    for (size_t i = 0; i < stacks->count; i++)
        stacks->at[i] -= stacks->at[i] > list;
}

void snap_resolve_stacks(struct snap_builder *b, const struct snap_value *root,
                         const struct snap_value *frames,
                         const struct snap_value *stacks)
{
    if (b->stack_lists)
        snap_fail_at(b, root->at,
                     "\"frames\" of some is a number and of others a list; "
                     "expected one or the other");
    if (frames == NULL || stacks == NULL)
        snap_fail_at(b, root->at,
                     "\"frames\" of events are numbers, but there is no key "
                     "\"%s\"",
                     frames == NULL ? "frames" : "stacks");
    take_frames(b, frames);
    take_stacks(b, stacks);
    if (frames->kind == SNAP_STACK)
        drop_list(b, (uint32_t)frames->bits);
    resolve_all(b, stacks->at);
}
