/* path_signs.c - what the names in a call path say. */
#include "report/frame_kind.h"

#include <string.h>

struct sign {
    const char *text; /* part of a file's or function's name */
    bool in_file;
    unsigned by;
};

static const struct sign signs[] = {
    {"/optim/", true, BY_OPTIMIZER},
    {"\\optim\\", true, BY_OPTIMIZER},
    {"optimizer", true, BY_OPTIMIZER},
    {"Optimizer", false, BY_OPTIMIZER},
    {"backward", false, BY_BACKWARD},
    {"Backward", false, BY_BACKWARD},
    {"autograd::Engine", false, BY_BACKWARD},
    {"forward", false, BY_FORWARD},
    {"__init__", false, BY_SETUP},
    {"from_pretrained", false, BY_SETUP},
    {"load_state_dict", false, BY_SETUP},
    {"_apply", false, BY_SETUP},
    {"reset_parameters", false, BY_SETUP},
    {"zero_grad", false, BY_ZERO_GRAD},
};

static unsigned frame_signs(const struct snapshot *s, uint32_t frame)
{
    const char *file = frame_text(s, s->frames[frame].filename);
    const char *name = frame_text(s, s->frames[frame].name);
    unsigned found = BY_SOMEONE;

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (strstr(signs[i].in_file ? file : name, signs[i].text) != NULL)
            found |= signs[i].by;
    }
    return found;
}

/* If both passes occur in a stack the inner one counts: what is recomputed for
 * the backward pass is still an activation. */
static uint8_t of_pass(uint8_t inner, uint8_t outer)
{
    if ((inner & (BY_FORWARD | BY_BACKWARD)) != 0)
        return outer & (uint8_t) ~(BY_FORWARD | BY_BACKWARD);
    return outer;
}

const uint8_t *path_signs(struct arena *arena, const struct snapshot *s,
                          bool inner)
{
    uint8_t *of_stack = arena_take(arena, s->stack_count + 1, 1);
    const struct arena_piece *last = arena->last;
    uint8_t *of_frame = arena_take(arena, s->frame_count + 1, 1);

    for (size_t i = 0; i < s->frame_count; i++)
        of_frame[i] = (uint8_t)frame_signs(s, (uint32_t)i);
    /* Notes of the program are not frames. */
    for (uint32_t k = 0; k < s->stack_count && !s->stacks_are_notes; k++) {
        size_t count;
        const uint32_t *frames = snapshot_stack(s, k, &count);

        for (size_t i = 0; i < count; i++)
            of_stack[k] |= inner ? of_pass(of_stack[k], of_frame[frames[i]])
                                 : of_frame[frames[i]];
    }
    arena_free_since(arena, last);
    return of_stack;
}
