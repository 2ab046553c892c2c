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

/* Convert the frame numbers of a stack to our own; `all` is the stack that the
 * list of all frames was read as. */
static uint32_t take_stack(struct snap_builder *b, const struct snap_value *v,
                           uint32_t all)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    size_t count;
    const uint32_t *frames = snapshot_stack(b->s, all, &count);

    if (v->kind == SNAP_EMPTY_LIST)
        return 0;
    if (o == NULL || o->range != SNAP_UNSET)
        wrong(b, v);
    SNAP_ROOM(b, b->ids, b->id_capacity, o->count);
    for (size_t i = 0; i < o->count; i++) {
        const struct snap_value *n = &o->items[i];

        if (n->kind != SNAP_INT || n->bits >= count)
            snap_fail_at(
                b, v->at,
                "a stack contains something that is not the number of a frame; "
                "expected integers below %zu",
                count);
        b->ids[i] = frames[n->bits];
    }
    return snap_intern_stack(b, b->ids, o->count);
}

static void add_stack(struct snap_builder *b, uint32_t stack)
{
    SNAP_ADD(b, b->file_stacks, b->file_stack_count, b->file_stack_capacity,
             stack);
}

/* Number 0 is none; what the file numbers from 0 follows. */
static void take_stacks(struct snap_builder *b, const struct snap_value *v,
                        uint32_t frames)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);

    if (v->kind != SNAP_EMPTY_LIST && (o == NULL || o->range != SNAP_UNSET))
        wrong(b, v);
    add_stack(b, 0);
    for (size_t i = 0; o != NULL && i < o->count; i++)
        add_stack(b, take_stack(b, &o->items[i], frames));
}

static void resolve(struct snap_builder *b, uint32_t at, uint32_t *stack)
{
    if (*stack >= b->file_stack_count)
        snap_fail_at(b, at,
                     "there is a reference to stack %" PRIu32
                     "; expected a number below %zu",
                     *stack - 1, b->file_stack_count - 1);
    *stack = b->file_stacks[*stack];
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
    uint64_t begin = s->stack_begins[list];
    uint64_t length = s->stack_begins[list + 1] - begin;

    for (size_t i = 0; i < b->file_stack_count; i++) {
        if (b->file_stacks[i] == list)
            return;
    }
    memmove(s->stack_frames + begin, s->stack_frames + begin + length,
            (size_t)(s->stack_begins[s->stack_count] - begin - length) *
                sizeof *s->stack_frames);
    s->stack_count--;
    for (size_t i = list; i <= s->stack_count; i++)
        s->stack_begins[i] = s->stack_begins[i + 1] - length;
    for (size_t i = 0; i < b->file_stack_count; i++)
        b->file_stacks[i] -= b->file_stacks[i] > list;
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
    if (frames->kind != SNAP_STACK && frames->kind != SNAP_EMPTY_LIST)
        snap_fail_at(b, frames->at,
                     "\"frames\" is %s; expected a list of frames",
                     snap_kind_name(b, frames));
    /* An empty list is the empty stack, 0. */
    take_stacks(b, stacks, (uint32_t)frames->bits);
    if (frames->kind == SNAP_STACK)
        drop_list(b, (uint32_t)frames->bits);
    resolve_all(b, stacks->at);
}
