/* categories.c - determines what allocations are for.
 *
 * What PyTorch itself says has priority.  Otherwise frames tell who allocated
 * (an optimizer, the backward pass, a module being built or moved) and who
 * freed.  Lifetimes decide the rest: weights and optimizer state stay,
 * activations are freed when the backward pass has used them, temporaries are
 * freed at once. */
#include <string.h>
#include <strings.h>

#include "report/explain.h"
#include "report/frame_kind.h"

/* An allocation freed within this many events was not kept on purpose. */
enum { TEMPORARY_EVENTS = 32 };

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

/* ---- PyTorch's categories ----------------------------------------------- */

struct told {
    const char *word;
    enum report_category category;
};

/* The names of PyTorch's memory profiler. */
static const struct told words[] = {
    {"parameter", REPORT_WEIGHTS},
    {"parameters", REPORT_WEIGHTS},
    {"weight", REPORT_WEIGHTS},
    {"weights", REPORT_WEIGHTS},
    {"gradient", REPORT_GRADIENTS},
    {"gradients", REPORT_GRADIENTS},
    {"optimizer_state", REPORT_OPTIMIZER},
    {"optimizer", REPORT_OPTIMIZER},
    {"optimizer state", REPORT_OPTIMIZER},
    {"activation", REPORT_ACTIVATIONS},
    {"activations", REPORT_ACTIVATIONS},
    {"autograd_detail", REPORT_ACTIVATIONS},
    {"temporary", REPORT_TEMPORARIES},
    {"temporaries", REPORT_TEMPORARIES},
    {"input", REPORT_OTHER},
};

bool report_category_told(const struct snapshot *s, uint32_t user_metadata,
                          enum report_category *out)
{
    const char *text = snapshot_string(s, user_metadata);

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text[0] != '\0' && strcasecmp(text, words[i].word) == 0) {
            *out = words[i].category;
            return true;
        }
    }
    return false;
}

/* ---- by lifetimes ------------------------------------------------------- */

struct sorting {
    const struct lifetimes *l;
    const uint8_t *by; /* by stack */
};

static bool lives_long(const struct lifetimes *l, const struct lifetime *a)
{
    uint32_t start = a->start == LIFETIME_BEFORE ? 0 : a->start;

    return a->end == l->event_count ||
           (a->end != LIFETIME_BEFORE && a->end - start > l->event_count / 2);
}

/* The lifetime of an allocation that was not freed is unknown. */
static bool lives_short(const struct lifetimes *l, const struct lifetime *a)
{
    return a->end == LIFETIME_BEFORE ||
           (a->start != LIFETIME_BEFORE && a->end < l->event_count &&
            a->end - a->start <= TEMPORARY_EVENTS);
}

/* The signs of the code that freed it; 0: it was not freed, or this was not
 * recorded. */
static unsigned freed_by(const struct sorting *s, const struct lifetime *a)
{
    return a->end < s->l->event_count ? s->by[s->l->events[a->end].stack] : 0;
}

/* Whether the optimizer's step that freed it allocated an equal one: this is
 * how state is replaced. */
static bool is_remade(const struct sorting *s, const struct lifetime *a)
{
    uint32_t end = a->end + TEMPORARY_EVENTS;
    uint32_t begin = a->end > TEMPORARY_EVENTS ? a->end - TEMPORARY_EVENTS : 0;

    for (uint32_t i = begin; i < end && i < s->l->event_count; i++) {
        const struct snapshot_event *e = &s->l->events[i];

        if (e->action == SNAPSHOT_ALLOC && e->size == a->requested &&
            (s->by[e->stack] & BY_OPTIMIZER) != 0)
            return true;
    }
    return false;
}

/* Allocated before the recording, without a stack: its end decides. */
static enum report_category of_old(const struct sorting *s,
                                   const struct lifetime *a)
{
    unsigned freed = freed_by(s, a);

    if ((freed & BY_ZERO_GRAD) != 0)
        return REPORT_GRADIENTS;
    /* Gradients that the step no longer needs. */
    if ((freed & BY_OPTIMIZER) != 0)
        return is_remade(s, a) ? REPORT_OPTIMIZER : REPORT_GRADIENTS;
    if ((freed & BY_BACKWARD) != 0)
        return REPORT_ACTIVATIONS;
    /* Allocated before the recording, and long-lived: weights. */
    return lives_long(s->l, a) ? REPORT_WEIGHTS : REPORT_ACTIVATIONS;
}

static enum report_category of_long(const struct lifetime *a, unsigned by)
{
    if ((by & BY_OPTIMIZER) != 0)
        return REPORT_OPTIMIZER;
    if ((by & BY_BACKWARD) != 0)
        return REPORT_GRADIENTS;
    if ((by & BY_SETUP) != 0 && (by & BY_FORWARD) == 0)
        return REPORT_WEIGHTS;
    /* The recording ended before the backward pass could free it, as when
     * memory runs out. */
    if ((by & BY_FORWARD) != 0 && a->start != LIFETIME_BEFORE)
        return REPORT_ACTIVATIONS;
    return REPORT_OTHER;
}

/* Gradients stay until the optimizer runs: what the backward pass itself frees
 * is a temporary. */
static enum report_category of_backward(unsigned freed)
{
    bool within = (freed & BY_BACKWARD) != 0 &&
                  (freed & (BY_ZERO_GRAD | BY_OPTIMIZER)) == 0;

    return within ? REPORT_TEMPORARIES : REPORT_GRADIENTS;
}

static enum report_category category_of(const struct sorting *s,
                                        const struct lifetime *a)
{
    const struct lifetimes *l = s->l;
    enum report_category told;
    unsigned by = s->by[a->stack];

    if (report_category_told(l->snapshot, a->user_metadata, &told))
        return told;
    if (l->event_count == 0)
        return REPORT_UNKNOWN;
    if (lives_short(l, a))
        return REPORT_TEMPORARIES;
    if (by == 0 && a->start == LIFETIME_BEFORE)
        return of_old(s, a);
    if (lives_long(l, a))
        return of_long(a, by);
    if ((by & BY_BACKWARD) != 0)
        return of_backward(freed_by(s, a));
    if ((by & BY_OPTIMIZER) != 0)
        return REPORT_OPTIMIZER;
    return REPORT_ACTIVATIONS;
}

/* Whether it belongs to a training step, as far as its allocating code is
 * known. */
static bool is_of_training(const struct sorting *s, const struct lifetime *a)
{
    unsigned by = s->by[a->stack];

    return a->start != LIFETIME_BEFORE &&
           (by == 0 || (by & (BY_BACKWARD | BY_OPTIMIZER)) != 0);
}

uint8_t *report_categorize(struct arena *arena, const struct lifetimes *l,
                           bool *trains)
{
    uint8_t *categories = arena_take(arena, l->alloc_count + 1, 1);
    const struct arena_piece *last = arena->last;
    const struct sorting s = {l, path_signs(arena, l->snapshot, true)};

    *trains = false;
    for (size_t i = 0; i < l->alloc_count; i++) {
        categories[i] = (uint8_t)category_of(&s, &l->allocs[i]);
        *trains = *trains || is_of_training(&s, &l->allocs[i]);
    }
    arena_free_since(arena, last);
    return categories;
}
