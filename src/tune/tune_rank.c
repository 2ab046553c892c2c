/* tune_rank.c - decides which of two settings is better. */
#include "tune/tune.h"

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool tune_fits_now(const struct tune *t)
{
    return t->candidates[0].worst.fits;
}

bool tune_ended(const struct tune *t)
{
    for (size_t i = 0; i < t->inputs->count; i++) {
        if (t->inputs->items[i].card.found)
            return false;
    }
    return true;
}

/* Whether the next step, which was not recorded, may need more than there is. */
static bool next_may_fail(const struct tune *t, const struct tune_candidate *c)
{
    for (size_t i = 0; i < t->inputs->count; i++) {
        const struct tune_input *in = &t->inputs->items[i];

        if (!in->card.found && in->scope.next_bytes != 0 &&
            c->cells[i].min_capacity_bytes + in->scope.next_bytes >
                tune_capacity(t, in))
            return true;
    }
    return false;
}

enum tune_verdict tune_verdict(const struct tune *t,
                               const struct tune_candidate *c)
{
    if (t->by_beginning && !c->is_base)
        return TUNE_NO_VERDICT;
    if (!c->worst.fits)
        return TUNE_DOES_NOT_FIT;
    return !tune_has_capacity(t) || next_may_fail(t, c) ? TUNE_NO_VERDICT
                                                        : TUNE_FITS;
}

const char *tune_verdict_name(enum tune_verdict verdict)
{
    static const char *const names[] = {"fits", "does not fit", "no verdict"};

    return names[verdict];
}

struct tune_scope tune_scope(const struct tune *t)
{
    struct tune_scope all = t->inputs->items[0].scope;

    for (size_t i = 1; i < t->inputs->count; i++) {
        const struct tune_scope *s = &t->inputs->items[i].scope;

        all.steps = s->steps < all.steps ? s->steps : all.steps;
        all.grows_bytes_per_step =
            higher(all.grows_bytes_per_step, s->grows_bytes_per_step);
        all.next_bytes = higher(all.next_bytes, s->next_bytes);
        all.after = higher(all.after, s->after);
    }
    return all;
}

static uint64_t missing(const struct tune_cell *cell, uint64_t capacity)
{
    if (cell->fits)
        return 0;
    if (cell->min_capacity_bytes == 0)
        return TUNE_ENDLESS;
    if (capacity == 0)
        return 0;
    return cell->min_capacity_bytes > capacity
               ? cell->min_capacity_bytes - capacity
               : (uint64_t)2 << 20;
}

uint64_t tune_short_bytes(const struct tune *t, const struct tune_candidate *c)
{
    uint64_t max = 0;

    for (size_t i = 0; i < t->inputs->count; i++) {
        const struct tune_input *in = &t->inputs->items[i];
        uint64_t bytes = missing(&c->cells[i], tune_capacity(t, in));

        if (c->is_base && t->by_beginning && in->card.found &&
            bytes < in->card.missing && !c->cells[i].fits)
            bytes = in->card.missing;
        max = bytes > max ? bytes : max;
    }
    return max;
}

/* Leave a hundredth of each capacity free: recordings always differ a
 * little. */
static bool has_room(const struct tune *t, const struct tune_candidate *c)
{
    for (size_t i = 0; i < t->inputs->count; i++) {
        uint64_t capacity = tune_capacity(t, &t->inputs->items[i]);

        if (capacity != 0 &&
            c->cells[i].min_capacity_bytes > capacity - capacity / 100)
            return false;
    }
    return true;
}

static int by(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

#define CHEAP_NS ((uint64_t)10000000)

/* This time is spent once, when memory is first acquired: a difference that is
 * small, or less than a factor of two, is ignored. */
static int by_time(uint64_t a, uint64_t b)
{
    uint64_t more = a > b ? a : b;
    uint64_t less = a > b ? b : a;

    return more - less <= CHEAP_NS || more - less <= less ? 0 : by(a, b);
}

/* Sizes that differ by less than half a hundredth are equal; none is the
 * worst. */
static int by_size(uint64_t a, uint64_t b)
{
    uint64_t more = a > b ? a : b;
    uint64_t less = a > b ? b : a;

    if (less == 0)
        return more == 0 ? 0 : by(b, a);
    return more - less <= more / 200 ? 0 : by(a, b);
}

static int is_larder(const struct tune_candidate *c)
{
    return !c->is_base && c->setting.policy == LARDER_POLICY_LARDER;
}

/* Negative: a is better. */
static int tune_rank_compare(const struct tune *t,
                             const struct tune_candidate *a,
                             const struct tune_candidate *b)
{
    bool cost_counts = a->worst.fits && b->worst.fits && !tune_fits_now(t);
    int order = (int)b->worst.fits - (int)a->worst.fits;

    if (order == 0)
        order = is_larder(a) - is_larder(b);
    if (order == 0 && cost_counts)
        order = (int)has_room(t, b) - (int)has_room(t, a);
    if (order == 0 && cost_counts)
        order = by_time(a->worst.driver_time_ns, b->worst.driver_time_ns);
    if (order == 0)
        order =
            by_size(a->worst.min_capacity_bytes, b->worst.min_capacity_bytes);
    if (order == 0)
        order = by(replay_setting_keys(&a->setting),
                   replay_setting_keys(&b->setting));
    if (order == 0)
        order = by(a->worst.driver_time_ns, b->worst.driver_time_ns);
    return order != 0 ? order : (a > b) - (a < b); /* as added */
}

void tune_ranking(const struct tune *t,
                  const struct tune_candidate *order[TUNE_CANDIDATES_MAX])
{
    /* Insertion sort: tune_rank_compare() treats similar values as equal, so it
     * is not the strict order that qsort() requires. */
    for (size_t i = 1; i < t->count; i++) {
        size_t at = i - 1;

        for (; at > 0 &&
               tune_rank_compare(t, &t->candidates[i], order[at - 1]) < 0;
             at--)
            order[at] = order[at - 1];
        order[at] = &t->candidates[i];
    }
}

/* Whether it needs at least a hundredth less. */
static bool needs_less(const struct tune_candidate *c,
                       const struct tune_candidate *base)
{
    uint64_t now = base->worst.min_capacity_bytes;

    return c->worst.min_capacity_bytes != 0 &&
           (now == 0 || c->worst.min_capacity_bytes <= now - now / 100);
}

static bool helps(const struct tune *t, const struct tune_candidate *c)
{
    if (!tune_fits_now(t))
        return c->worst.fits;
    return c->worst.fits && needs_less(c, &t->candidates[0]);
}

const struct tune_candidate *tune_best(const struct tune *t)
{
    const struct tune_candidate *order[TUNE_CANDIDATES_MAX];

    if (t->by_beginning)
        return NULL;
    tune_ranking(t, order);
    for (size_t i = 0; i + 1 < t->count; i++) {
        if (helps(t, order[i]))
            return order[i];
    }
    return NULL;
}
