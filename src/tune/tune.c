/* tune.c - what a job needs under other settings than its own: which settings
 * fit, and which is best. */
#include "tune/tune.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replay/crew.h"

/* ---- settings ----------------------------------------------------------- */

const char *tune_conf(const struct tune_candidate *c,
                      const struct tune_input *i, char out[REPLAY_CONF_MAX])
{
    return c->is_base ? i->conf
                      : replay_setting_conf(&c->setting, i->conf, out);
}

larder_policy tune_policy(const struct tune_candidate *c,
                          const struct tune_input *i)
{
    return c->is_base ? i->policy : c->setting.policy;
}

uint64_t tune_capacity(const struct tune *t, const struct tune_input *i)
{
    if (t->options->capacity != 0)
        return t->options->capacity;
    return i->card.found ? i->card.device_bytes : 0;
}

bool tune_has_capacity(const struct tune *t)
{
    for (size_t i = 0; i < t->inputs->count; i++) {
        if (tune_capacity(t, &t->inputs->items[i]) != 0)
            return true;
    }
    return false;
}

/* Whether every input uses this setting now. */
static bool is_base_setting(const struct tune *t,
                            const struct replay_setting *s)
{
    char conf[REPLAY_CONF_MAX];

    for (size_t i = 0; i < t->inputs->count; i++) {
        const struct tune_input *in = &t->inputs->items[i];

        /* cppcheck-suppress nullPointer; a base is not compared with one */
        if (s->policy != in->policy ||
            strcmp(replay_setting_conf(s, in->conf, conf), in->conf) != 0)
            return false;
    }
    return true;
}

/* Add a candidate unless it is there already.  False: no host memory. */
static bool tune_add(struct tune *t, const struct replay_setting *s,
                     bool is_base)
{
    struct tune_candidate *c = &t->candidates[t->count];

    if (t->count == TUNE_CANDIDATES_MAX || (!is_base && is_base_setting(t, s)))
        return true;
    for (size_t i = 1; i < t->count; i++) {
        if (replay_setting_same(&t->candidates[i].setting, s))
            return true;
    }
    *c = (struct tune_candidate){.is_base = is_base};
    if (!is_base)
        c->setting = *s;
    c->cells = calloc(t->inputs->count, sizeof *c->cells);
    t->count += c->cells != NULL;
    return c->cells != NULL;
}

/* ---- measuring ---------------------------------------------------------- */

/* Candidates from `first` on, each with every input. */
struct measuring {
    struct tune *tune;
    size_t first;
    _Atomic uint64_t ops;
};

/* The cell of an input and a candidate: read, or measured and kept. */
static bool find_cell(struct measuring *m, const struct tune_input *in,
                      const struct tune_candidate *c, struct tune_cell *cell,
                      struct tool_error *error)
{
    struct tune *t = m->tune;
    char conf[REPLAY_CONF_MAX];
    struct tune_question q = {in, tune_policy(c, in), tune_conf(c, in, conf),
                              tune_capacity(t, in), t->options->context_bytes};
    struct tool_error why;
    uint64_t ops = 0;

    if (tune_cell_read(t->options->cache, &q, cell))
        return true;
    if (!tune_cell_measure(&q, cell, &ops, &why))
        return tool_fail(error, "%s: %s", in->name, why.text);
    atomic_fetch_add(&m->ops, ops);
    tune_cell_write(t->options->cache, &q, cell);
    return true;
}

static bool measure(void *ctx, size_t number, struct tool_error *error)
{
    struct measuring *m = ctx;
    const struct tune_options *o = m->tune->options;
    const struct tune_inputs *inputs = m->tune->inputs;
    size_t input = number % inputs->count;
    struct tune_candidate *c =
        &m->tune->candidates[m->first + number / inputs->count];
    bool ok = find_cell(m, &inputs->items[input], c, &c->cells[input], error);

    if (o->progress != NULL)
        o->progress(o->progress_ctx, 0, 1);
    return ok;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void sum_up(const struct tune *t, struct tune_candidate *c)
{
    struct tune_cell *worst = &c->worst;
    bool none = false;

    *worst = (struct tune_cell){.fits = true};
    for (size_t i = 0; i < t->inputs->count; i++) {
        const struct tune_cell *cell = &c->cells[i];

        worst->fits = worst->fits && cell->fits;
        worst->peak_allocated_bytes =
            higher(worst->peak_allocated_bytes, cell->peak_allocated_bytes);
        worst->peak_reserved_bytes =
            higher(worst->peak_reserved_bytes, cell->peak_reserved_bytes);
        worst->min_capacity_bytes =
            higher(worst->min_capacity_bytes, cell->min_capacity_bytes);
        worst->driver_calls += cell->driver_calls;
        worst->driver_time_ns += cell->driver_time_ns;
        none = none || cell->min_capacity_bytes == 0;
    }
    if (none)
        worst->min_capacity_bytes = 0;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Measure the candidates from `first` on. */
static bool measure_from(struct tune *t, size_t first, struct tool_error *error)
{
    struct measuring m = {.tune = t, .first = first};
    uint64_t begin = now_ns();
    bool ok = crew_run(measure, &m, (t->count - first) * t->inputs->count,
                       t->options->threads, error);

    t->ops += m.ops;
    t->elapsed_ns += now_ns() - begin;
    for (size_t i = first; i < t->count; i++)
        sum_up(t, &t->candidates[i]);
    return ok;
}

/* ---- progress ----------------------------------------------------------- */

enum { ROUNDS = 3, NEAR = 5 };

static void tell(const struct tune *t, uint64_t to_do, uint64_t done)
{
    const struct tune_options *o = t->options;

    if (o->progress != NULL)
        o->progress(o->progress_ctx, to_do * t->inputs->count,
                    done * t->inputs->count);
}

/* All candidates that there can be are to be done from the beginning, so that
 * the work ends where the bar does; those that there are not are done at once. */
static void tell_beginning(const struct tune *t)
{
    tell(t, 1 + replay_setting_count + ROUNDS * NEAR, 0);
}

static void tell_left_out(const struct tune *t, size_t expected,
                          size_t measured)
{
    tell(t, 0, expected > measured ? expected - measured : 0);
}

/* ---- the baseline ------------------------------------------------------- */

/* Whether an input fails on its own card, as it did when recorded.  If it was
 * not required to fit there, nothing can be said. */
static bool fails_as_recorded(const struct tune *t, size_t number)
{
    const struct tune_input *in = &t->inputs->items[number];
    const struct tune_cell *cell = &t->candidates[0].cells[number];

    return !in->card.found || cell->min_capacity_bytes == 0 ||
           cell->min_capacity_bytes > in->card.device_bytes;
}

bool tune_base(struct tune *t, const struct tune_inputs *inputs,
               const struct tune_options *options, struct tool_error *error)
{
    memset(t, 0, sizeof *t);
    t->inputs = inputs;
    t->options = options;
    tell_beginning(t);
    if (!tune_add(t, NULL, true))
        return tool_fail(error, "out of host memory");
    if (!measure_from(t, 0, error))
        return false;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct tune_input *in = &inputs->items[i];

        if (fails_as_recorded(t, i) ||
            tune_capacity(t, in) > in->card.device_bytes)
            continue;
        t->by_beginning = true;
        t->candidates[0].cells[i].fits = false; /* as recorded */
        t->candidates[0].worst.fits = false;
    }
    return true;
}

void tune_free(struct tune *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->candidates[i].cells);
    t->count = 0;
}

/* ---- searching ---------------------------------------------------------- */

static bool add_grid(struct tune *t)
{
    for (size_t i = 0; i < replay_setting_count; i++) {
        if (!tune_add(t, &replay_settings[i], false))
            return false;
    }
    return true;
}

/* Add settings that differ from this one in one key. */
static bool add_near(struct tune *t, const struct replay_setting *s)
{
    struct replay_setting near[NEAR] = {*s, *s, *s, *s, *s};
    bool ok = true;

    if (s->max_split_mb != 0) {
        near[0].max_split_mb = s->max_split_mb * 3 / 4;
        near[1].max_split_mb = s->max_split_mb * 3 / 2;
        if (near[0].max_split_mb <= 20)
            near[0] = *s;
    }
    near[2].gc_percent = s->gc_percent != 0 ? 0 : 80;
    near[3].roundup = s->roundup != 0 ? 0 : 4;
    near[4].segment_mb = s->segment_mb != 0 ? 0 : 64;
    for (size_t i = 0; ok && i < NEAR; i++) {
        /* Sizes below a segment's must remain splittable. */
        if (near[i].segment_mb == 0 || near[i].max_split_mb == 0 ||
            near[i].segment_mb < near[i].max_split_mb)
            ok = tune_add(t, &near[i], false);
    }
    return ok;
}

/* Vary the best of PyTorch's settings in the ranking. */
static bool add_round(struct tune *t)
{
    const struct tune_candidate *order[TUNE_CANDIDATES_MAX];

    tune_ranking(t, order);
    for (size_t i = 0; i + 1 < t->count; i++) {
        if (order[i]->setting.policy == LARDER_POLICY_PYTORCH)
            return add_near(t, &order[i]->setting);
    }
    return true;
}

bool tune_search(struct tune *t, struct tool_error *error)
{
    size_t first = t->count;
    int round = 0; /* the grid, then ROUNDS of variations */

    if (!add_grid(t))
        return tool_fail(error, "out of host memory");
    for (; first < t->count && round <= ROUNDS; round++) {
        if (!measure_from(t, first, error))
            return false;
        tell_left_out(t, round == 0 ? replay_setting_count : NEAR,
                      t->count - first);
        first = t->count;
        if (round < ROUNDS && !add_round(t))
            return tool_fail(error, "out of host memory");
    }
    for (; round <= ROUNDS; round++)
        tell_left_out(t, round == 0 ? replay_setting_count : NEAR, 0);
    return true;
}
