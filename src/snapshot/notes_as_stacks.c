/* notes_as_stacks.c - see notes_as_stacks.h. */
#include "snapshot/notes_as_stacks.h"

#include "trace/arena.h"
#include "trace/array_room.h"

/* Number the texts that are in use, from 1, like the stacks made from them. */
static uint32_t number_texts(const struct snapshot *s, uint32_t *stack_of)
{
    uint32_t count = 0;

    for (size_t i = 0; i < s->event_count; i++) {
        uint32_t text = s->events[i].user_metadata;

        if (text != 0 && stack_of[text] == 0)
            stack_of[text] = ++count;
    }
    for (size_t i = 0; i < s->block_count; i++) {
        uint32_t text = s->blocks[i].user_metadata;

        if (text != 0 && stack_of[text] == 0)
            stack_of[text] = ++count;
    }
    return count;
}

/* Make room for `count` more frames, and as many stacks of one frame. */
static bool notes_as_stacks_make_room(struct snapshot *s, size_t count)
{
    return array_resize(&s->frames, s->frame_count + count,
                        sizeof *s->frames) &&
           array_resize(&s->stack_begins, s->stack_count + 1 + count,
                        sizeof *s->stack_begins) &&
           array_resize(&s->stack_frames, count, sizeof *s->stack_frames);
}

static void add_stacks(struct snapshot *s, const uint32_t *stack_of,
                       uint32_t count)
{
    size_t first = s->frame_count;

    for (size_t text = 1; text < s->string_count; text++) {
        if (stack_of[text] != 0)
            s->frames[first + stack_of[text] - 1] =
                (struct snapshot_frame){.name = (uint32_t)text};
    }
    for (uint32_t n = 0; n < count; n++) {
        s->stack_frames[n] = (uint32_t)first + n;
        s->stack_begins[n + 2] = n + 1;
    }
    s->frame_count += count;
    s->stack_count += count;
}

static void use_stacks(struct snapshot *s, const uint32_t *stack_of)
{
    for (size_t i = 0; i < s->event_count; i++)
        s->events[i].stack = stack_of[s->events[i].user_metadata];
    for (size_t i = 0; i < s->block_count; i++)
        s->blocks[i].stack = stack_of[s->blocks[i].user_metadata];
    s->stacks_are_notes = true;
}

bool snapshot_notes_as_stacks(struct snapshot *s, struct tool_error *error)
{
    struct arena arena = {.error = error,
                          .words = "not enough host memory for the snapshot"};
    uint32_t *stack_of;
    uint32_t count;

    /* Stack 0 is empty. */
    if (s->stack_count != 1)
        return true;
    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    stack_of = arena_take(&arena, s->string_count + 1, sizeof *stack_of);
    count = number_texts(s, stack_of);
    if (count > 0) {
        arena_need(&arena, notes_as_stacks_make_room(s, count));
        add_stacks(s, stack_of, count);
        use_stacks(s, stack_of);
    }
    return arena_end(&arena, true);
}
