/* remedy.c - changes of a program, and how much lower the peak of the whole run
 * would be with each. */
#include "report/remedy.h"

#include <string.h>

#include "report/frame_kind.h"
#include "report/report_words.h"

enum { PIECES = 8 };

/* By how much it makes each allocation smaller: of one category, or of some
 * stacks. */
static const struct kind {
    const char *name;
    enum report_category category; /* REPORT_CATEGORIES: not of one */
    unsigned less;
    unsigned of;
} kinds[REMEDIES] = {
    [REMEDY_NONE] = {"none", REPORT_CATEGORIES, 0, 1},
    [REMEDY_ATTENTION] = {"fused attention", REPORT_CATEGORIES, 1, 1},
    [REMEDY_LOSS] = {"loss in pieces", REPORT_CATEGORIES, PIECES - 1, PIECES},
    [REMEDY_ACTIVATIONS] = {"activations", REPORT_ACTIVATIONS, 1, 2},
    [REMEDY_TEMPORARIES] = {"temporaries", REPORT_TEMPORARIES, 1, 2},
    [REMEDY_OPTIMIZER] = {"optimizer state", REPORT_OPTIMIZER, 3, 4},
    [REMEDY_WEIGHTS] = {"weights", REPORT_WEIGHTS, 1, 2},
    [REMEDY_LEAK] = {"leak", REPORT_CATEGORIES, 0, 1},
};

const char *remedy_name(enum remedy remedy)
{
    return kinds[remedy].name;
}

static uint64_t part_of(enum remedy remedy, uint64_t bytes)
{
    return bytes / kinds[remedy].of * kinds[remedy].less;
}

bool remedy_has_line(const struct run_summary *r)
{
    return r->main_temporaries != UINT32_MAX &&
           frame_kind_of(r->lifetimes->snapshot, r->main_temporaries) >=
               FRAME_TORCH;
}

/* ---- stacks ------------------------------------------------------------- */

enum { OF_SOFTMAX = 1, OF_LOSS = 2, OF_FUSED = 4 };

static bool has_any(const char *name, const char *const *parts)
{
    while (*parts != NULL && strstr(name, *parts) == NULL)
        parts++;
    return *parts != NULL;
}

static unsigned frame_marks(const struct snapshot *s, uint32_t frame)
{
    static const char *const losses[] = {
        "cross_entropy", "CrossEntropy", "nll_loss", "NllLoss",
        "log_softmax",   "LogSoftmax",   NULL};
    static const char *const softmaxes[] = {"softmax", "Softmax", NULL};
    static const char *const fused[] = {"scaled_dot_product", NULL};
    static const char *const python[] = {".py", NULL};
    const char *name = frame_text(s, s->frames[frame].name);
    const char *file = frame_text(s, s->frames[frame].filename);

    if (has_any(name, losses))
        return OF_LOSS;
    /* A program's own function of that name is not fused. */
    if (has_any(name, fused) && !has_any(file, python))
        return OF_FUSED;
    return has_any(name, softmaxes) ? OF_SOFTMAX : 0;
}

static unsigned stack_marks(const struct snapshot *s, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);
    unsigned marks = 0;

    for (size_t i = 0; i < count && !s->stacks_are_notes; i++)
        marks |= frame_marks(s, frames[i]);
    return marks;
}

uint64_t remedy_of_stack(const struct snapshot *s, enum remedy remedy,
                         uint32_t stack, uint64_t bytes)
{
    unsigned marks = stack_marks(s, stack);
    bool is_of =
        remedy == REMEDY_LOSS ? (marks & OF_LOSS) != 0 : marks == OF_SOFTMAX;

    return is_of ? part_of(remedy, bytes) : 0;
}

/* Whether the remedy is about each stack. */
static const bool *stacks_for(struct arena *arena, const struct snapshot *s,
                              enum remedy remedy)
{
    bool *out = arena_take(arena, s->stack_count + 1, sizeof *out);

    for (uint32_t i = 0; i < s->stack_count; i++)
        out[i] = remedy_of_stack(s, remedy, i, PIECES) > 0;
    return out;
}

/* ---- bytes -------------------------------------------------------------- */

struct measuring {
    const struct run_summary *r;
    enum remedy remedy;
    const bool *stacks; /* by stack, if the remedy is about some */
    int64_t *less; /* by state: how much more is gone than in the one before */
};

static bool is_of_line(const struct measuring *m, const struct lifetime *a)
{
    return !remedy_has_line(m->r) ||
           report_own_frame(m->r->lifetimes->snapshot, a->stack) ==
               m->r->main_temporaries;
}

/* By how much an allocation would be smaller. */
static uint64_t less_of(const struct measuring *m, uint32_t number)
{
    const struct lifetime *a = &m->r->lifetimes->allocs[number];
    bool is_of = m->stacks != NULL
                     ? m->stacks[a->stack]
                     : m->r->categories[number] == kinds[m->remedy].category;

    if (!is_of || (m->remedy == REMEDY_TEMPORARIES && !is_of_line(m, a)))
        return 0;
    return part_of(m->remedy, a->rounded);
}

static uint32_t first_state(const struct lifetime *a)
{
    return a->start == LIFETIME_BEFORE ? 0 : a->start + 1;
}

/* From state `begin` on, as long as it is in use. */
static void subtract(struct measuring *m, const struct lifetime *a,
                     uint32_t begin, uint64_t bytes)
{
    const struct lifetimes *l = m->r->lifetimes;

    if (a->end == LIFETIME_BEFORE || begin > a->end)
        return;
    m->less[begin] += (int64_t)bytes;
    if (a->end < l->event_count)
        m->less[a->end + 1] -= (int64_t)bytes;
}

static void subtract_all(struct measuring *m, struct remedy_worth *out)
{
    const struct lifetimes *l = m->r->lifetimes;
    uint64_t max = 0;

    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];
        uint64_t bytes = less_of(m, (uint32_t)i);

        if (bytes == 0)
            continue;
        subtract(m, a, first_state(a), bytes);
        if (!lifetime_in_use(a, m->r->peak_state))
            continue;
        out->at_peak += a->rounded;
        if (a->rounded > max) {
            max = a->rounded;
            out->largest = (uint32_t)i;
        }
    }
}

/* What an iteration leaves behind is freed where it ends. */
static void subtract_leak(struct measuring *m, struct remedy_worth *out)
{
    const struct lifetimes *l = m->r->lifetimes;
    const struct iterations *it = &m->r->iterations;
    size_t number = l->before_count;

    /* What layers keep is not left behind. */
    if (!m->r->are_iterations || finding_leak(m->r, &out->largest) == 0)
        return;
    for (size_t i = 1; i + 1 < it->count; i++) {
        while (number < l->alloc_count &&
               l->allocs[number].start < it->begin[i])
            number++;
        for (; number < l->alloc_count &&
               l->allocs[number].start < it->begin[i + 1];
             number++) {
            const struct lifetime *a = &l->allocs[number];

            if (!finding_is_left(m->r, (uint32_t)number))
                continue;
            subtract(m, a, it->begin[i + 1], a->rounded);
            out->at_peak +=
                lifetime_in_use(a, m->r->peak_state) ? a->rounded : 0;
        }
    }
}

/* ---- the peak of the run ------------------------------------------------ */

static uint64_t find_peak(struct arena *arena, const struct measuring *m)
{
    const struct lifetimes *l = m->r->lifetimes;
    uint64_t *curve =
        arena_take(arena, (size_t)l->event_count + 1, sizeof *curve);
    int64_t less = 0;
    uint64_t peak = 0;

    lifetimes_curve(l, CURVE_ALLOCATED, curve);
    for (uint32_t k = 0; k <= l->event_count; k++) {
        less += m->less[k];
        if (curve[k] - (uint64_t)less > peak)
            peak = curve[k] - (uint64_t)less;
    }
    return peak;
}

struct remedy_worth remedy_measure(struct arena *arena,
                                   const struct run_summary *r,
                                   enum remedy remedy)
{
    const struct lifetimes *l = r->lifetimes;
    const struct arena_piece *last = arena->last;
    struct measuring m = {.r = r, .remedy = remedy};
    struct remedy_worth worth = {0, 0, UINT32_MAX};

    m.less = arena_take(arena, (size_t)l->event_count + 2, sizeof *m.less);
    if (remedy == REMEDY_ATTENTION || remedy == REMEDY_LOSS)
        m.stacks = stacks_for(arena, l->snapshot, remedy);
    if (remedy == REMEDY_LEAK)
        subtract_leak(&m, &worth);
    else
        subtract_all(&m, &worth);
    if (worth.at_peak > 0)
        worth.bytes = r->peak_allocated - find_peak(arena, &m);
    arena_free_since(arena, last);
    return worth;
}
