/* categories.c - what allocations are for.
 *
 * Frames say who asked: an optimizer, the backward pass, a module being built
 * or moved.  Lifetimes say the rest: weights and optimizer state stay,
 * activations go when the backward pass has passed them, temporaries go at
 * once. */
#include <stdlib.h>
#include <string.h>

#include "report/explain.h"

/* Freed within so many events: nothing that anyone kept on purpose. */
enum { TEMPORARY_EVENTS = 32 };

enum {
    MADE_BY_OPTIMIZER = 1,
    MADE_BY_BACKWARD = 2,
    MADE_BY_FORWARD = 4,
    MADE_BY_SETUP = 8,
    MADE_BY_SOMEONE = 16
};

struct sign {
    const char *text; /* a part of a file's name or of a function's */
    bool in_file;
    unsigned made_by;
};

static const struct sign signs[] = {
    {"/optim/", true, MADE_BY_OPTIMIZER},
    {"\\optim\\", true, MADE_BY_OPTIMIZER},
    {"optimizer", true, MADE_BY_OPTIMIZER},
    {"Optimizer", false, MADE_BY_OPTIMIZER},
    {"backward", false, MADE_BY_BACKWARD},
    {"Backward", false, MADE_BY_BACKWARD},
    {"autograd::Engine", false, MADE_BY_BACKWARD},
    {"forward", false, MADE_BY_FORWARD},
    {"__init__", false, MADE_BY_SETUP},
    {"from_pretrained", false, MADE_BY_SETUP},
    {"load_state_dict", false, MADE_BY_SETUP},
    {"_apply", false, MADE_BY_SETUP},
    {"reset_parameters", false, MADE_BY_SETUP},
};

const char *report_category_name(enum report_category category)
{
    static const char *const names[] = {
        [REPORT_UNKNOWN] = "unknown",
        [REPORT_WEIGHTS] = "weights",
        [REPORT_GRADIENTS] = "gradients",
        [REPORT_OPTIMIZER] = "optimizer state",
        [REPORT_ACTIVATIONS] = "activations",
        [REPORT_TEMPORARIES] = "temporaries",
        [REPORT_OTHER] = "long-lived",
    };

    return category < REPORT_CATEGORIES ? names[category] : NULL;
}

static unsigned frame_signs(const struct snapshot *s, uint32_t frame)
{
    const char *file = snapshot_string(s, s->frames[frame].filename);
    const char *name = snapshot_string(s, s->frames[frame].name);
    unsigned found = MADE_BY_SOMEONE;
    size_t i;

    for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (strstr(signs[i].in_file ? file : name, signs[i].text) != NULL)
            found |= signs[i].made_by;
    }
    return found;
}

/* Of the two passes the inner counts: what is computed again for the backward
 * pass is an activation all the same. */
static uint8_t of_pass(uint8_t inner, uint8_t outer)
{
    if ((inner & (MADE_BY_FORWARD | MADE_BY_BACKWARD)) != 0)
        return outer & (uint8_t) ~(MADE_BY_FORWARD | MADE_BY_BACKWARD);
    return outer;
}

/* For each stack what its frames say; NULL: no host memory. */
static uint8_t *stack_signs(const struct snapshot *s)
{
    uint8_t *of_frame = malloc(s->frame_count + 1);
    uint8_t *of_stack = calloc(s->stack_count + 1, 1);
    uint32_t stack;
    size_t i;

    if (of_frame == NULL || of_stack == NULL) {
        free(of_frame);
        free(of_stack);
        return NULL;
    }
    for (i = 0; i < s->frame_count; i++)
        of_frame[i] = (uint8_t)frame_signs(s, (uint32_t)i);
    /* What a program says in its notes is no frame to go by. */
    for (stack = 0; stack < s->stack_count && !s->stacks_are_notes; stack++) {
        size_t count;
        const uint32_t *frames = snapshot_stack(s, stack, &count);

        for (i = 0; i < count; i++)
            of_stack[stack] |= of_pass(of_stack[stack], of_frame[frames[i]]);
    }
    free(of_frame);
    return of_stack;
}

static bool lives_long(const struct lifetimes *l, const struct lifetime *a)
{
    uint32_t start = a->start == LIFETIME_BEFORE ? 0 : a->start;

    return a->end == l->event_count ||
           (a->end != LIFETIME_BEFORE && a->end - start > l->event_count / 2);
}

/* What nobody freed lives for nobody knows how long. */
static bool lives_short(const struct lifetimes *l, const struct lifetime *a)
{
    return a->end == LIFETIME_BEFORE ||
           (a->start != LIFETIME_BEFORE && a->end < l->event_count &&
            a->end - a->start <= TEMPORARY_EVENTS);
}

static enum report_category of_long(const struct lifetime *a, unsigned by)
{
    if ((by & MADE_BY_OPTIMIZER) != 0)
        return REPORT_OPTIMIZER;
    if ((by & MADE_BY_BACKWARD) != 0)
        return REPORT_GRADIENTS;
    if ((by & MADE_BY_SETUP) != 0 && (by & MADE_BY_FORWARD) == 0)
        return REPORT_WEIGHTS;
    /* The recording ended, as it does where memory runs out, before the
     * backward pass could free it. */
    if ((by & MADE_BY_FORWARD) != 0 && a->start != LIFETIME_BEFORE)
        return REPORT_ACTIVATIONS;
    /* There before anyone looked, and still there: what a program begins
     * with. */
    if (by == 0 && a->start == LIFETIME_BEFORE)
        return REPORT_WEIGHTS;
    return REPORT_OTHER;
}

static enum report_category category_of(const struct lifetimes *l,
                                        const struct lifetime *a, unsigned by)
{
    if (l->event_count == 0)
        return REPORT_UNKNOWN;
    if (lives_short(l, a))
        return REPORT_TEMPORARIES;
    if (lives_long(l, a))
        return of_long(a, by);
    if ((by & MADE_BY_BACKWARD) != 0)
        return REPORT_GRADIENTS;
    if ((by & MADE_BY_OPTIMIZER) != 0)
        return REPORT_OPTIMIZER;
    return REPORT_ACTIVATIONS;
}

bool report_categorize(const struct lifetimes *l, uint8_t *categories,
                       struct tool_error *error)
{
    uint8_t *by = stack_signs(l->snapshot);
    size_t i;

    if (by == NULL)
        return tool_fail(error, "not enough host memory for the categories");
    for (i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        categories[i] = (uint8_t)category_of(l, a, by[a->stack]);
    }
    free(by);
    return true;
}
