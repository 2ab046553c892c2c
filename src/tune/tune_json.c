/* tune_json.c - the results of `larder tune` and `larder fit` as JSON. */
#include <stdlib.h>

#include <jansson.h>

#include "replay/utf8_json.h"
#include "tune/tune.h"

static json_t *count_json(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *count_or_null(uint64_t n)
{
    return n != 0 ? count_json(n) : json_null();
}

/* NULL: no host memory; then the object is freed. */
static json_t *done(json_t *o, int bad)
{
    if (o != NULL && bad == 0)
        return o;
    json_decref(o);
    return NULL;
}

static const struct tune_input *first_input(const struct tune *t)
{
    return &t->inputs->items[0];
}

/* As in the contracts of `larder run`: `fits` is null without a verdict. */
static int add_verdict(json_t *o, enum tune_verdict verdict)
{
    int bad = json_object_set_new(o, "verdict",
                                  json_string(tune_verdict_name(verdict)));

    bad |= json_object_set_new(o, "fits",
                               verdict == TUNE_NO_VERDICT
                                   ? json_null()
                                   : json_boolean(verdict == TUNE_FITS));
    return bad;
}

static json_t *scope_json(const struct tune *t)
{
    struct tune_scope scope = tune_scope(t);
    json_t *o = json_object();
    int bad = 0;

    bad |= json_object_set_new(o, "steps", count_or_null(scope.steps));
    bad |= json_object_set_new(o, "ended", json_boolean(tune_ended(t)));
    bad |= json_object_set_new(o, "grows_bytes_per_step",
                               count_json(scope.grows_bytes_per_step));
    bad |=
        json_object_set_new(o, "next_step_bytes", count_json(scope.next_bytes));
    return done(o, bad);
}

static json_t *candidate_json(const struct tune *t,
                              const struct tune_candidate *c)
{
    const struct tune_input *in = first_input(t);
    uint64_t missing = tune_short_bytes(t, c);
    char conf[REPLAY_CONF_MAX];
    json_t *o = json_object();
    int bad = 0;

    bad |= json_object_set_new(
        o, "policy", json_string(larder_policy_name(tune_policy(c, in))));
    bad |= json_object_set_new(o, "conf", utf8_json(tune_conf(c, in, conf)));
    bad |= add_verdict(o, tune_verdict(t, c));
    bad |= json_object_set_new(o, "min_capacity_bytes",
                               count_or_null(c->worst.min_capacity_bytes));
    bad |= json_object_set_new(o, "short_bytes",
                               missing == TUNE_ENDLESS ? json_null()
                                                       : count_json(missing));
    bad |= json_object_set_new(o, "peak_allocated_bytes",
                               count_json(c->worst.peak_allocated_bytes));
    bad |= json_object_set_new(o, "peak_reserved_bytes",
                               count_json(c->worst.peak_reserved_bytes));
    bad |= json_object_set_new(o, "driver_calls",
                               count_json(c->worst.driver_calls));
    bad |= json_object_set_new(o, "driver_time_ns",
                               count_json(c->worst.driver_time_ns));
    return done(o, bad);
}

/* If nothing is better than the base, the base is written without settings. */
static json_t *best_json(const struct tune *t)
{
    const struct tune_candidate *best = tune_best(t);
    json_t *o = candidate_json(t, best != NULL ? best : &t->candidates[0]);
    int bad = o == NULL;

    if (bad == 0 && best == NULL)
        bad |= json_object_set_new(o, "conf", json_null());
    return done(o, bad);
}

static json_t *candidates_json(const struct tune *t, bool cures)
{
    const struct tune_candidate **order = tune_ranking(t);
    json_t *list = json_array();
    int bad = order == NULL || list == NULL;

    for (size_t i = 0; bad == 0 && i + 1 < t->count; i++) {
        if (!cures || (order[i]->worst.fits && !t->by_beginning))
            bad |= json_array_append_new(list, candidate_json(t, order[i]));
    }
    free(order);
    return done(list, bad);
}

static json_t *input_json(const struct tune *t, size_t number)
{
    const struct tune_input *in = &t->inputs->items[number];
    const struct tune_cell *cell = &t->candidates[0].cells[number];
    json_t *o = json_object();
    int bad = 0;

    bad |= json_object_set_new(o, "file", utf8_json(in->path));
    bad |= json_object_set_new(o, "device", count_json(in->device));
    bad |= json_object_set_new(o, "conf", utf8_json(in->conf));
    bad |= json_object_set_new(o, "capacity_bytes",
                               count_or_null(tune_capacity(t, in)));
    bad |= json_object_set_new(o, "fits", json_boolean(cell->fits));
    bad |= json_object_set_new(o, "min_capacity_bytes",
                               count_or_null(cell->min_capacity_bytes));
    bad |= json_object_set_new(o, "peak_allocated_bytes",
                               count_json(cell->peak_allocated_bytes));
    bad |= json_object_set_new(o, "peak_reserved_bytes",
                               count_json(cell->peak_reserved_bytes));
    return done(o, bad);
}

static json_t *inputs_json(const struct tune *t)
{
    json_t *list = json_array();
    int bad = list == NULL;

    for (size_t i = 0; bad == 0 && i < t->inputs->count; i++)
        bad |= json_array_append_new(list, input_json(t, i));
    return done(list, bad);
}

/* Add the members that both objects have. */
static int add_common(const struct tune *t, json_t *o)
{
    int bad = 0;

    bad |= json_object_set_new(o, "capacity_bytes",
                               count_or_null(t->options->capacity));
    bad |= json_object_set_new(o, "context_bytes",
                               count_json(t->options->context_bytes));
    bad |= json_object_set_new(o, "scope", scope_json(t));
    bad |=
        json_object_set_new(o, "by_beginning", json_boolean(t->by_beginning));
    bad |= json_object_set_new(o, "ops", count_json(t->ops));
    bad |= json_object_set_new(
        o, "ops_per_second",
        json_real(t->elapsed_ns > 0
                      ? (double)t->ops * 1e9 / (double)t->elapsed_ns
                      : 0));
    bad |= json_object_set_new(o, "inputs", inputs_json(t));
    return bad;
}

static char *dump(json_t *o)
{
    char *line = o != NULL ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII |
                                               JSON_REAL_PRECISION(6))
                           : NULL;

    json_decref(o);
    return line;
}

char *tune_json(const struct tune *t)
{
    json_t *o = json_object();
    int bad = 0;

    bad |= add_verdict(o, tune_verdict(t, &t->candidates[0]));
    bad |= json_object_set_new(o, "now", candidate_json(t, &t->candidates[0]));
    bad |= json_object_set_new(o, "best", best_json(t));
    bad |= json_object_set_new(o, "candidates", candidates_json(t, false));
    bad |= add_common(t, o);
    return dump(done(o, bad));
}

char *tune_fit_json(const struct tune *t)
{
    json_t *o = candidate_json(t, &t->candidates[0]);
    int bad = o == NULL;

    if (bad == 0)
        bad |= json_object_set_new(o, "cures", candidates_json(t, true));
    if (bad == 0)
        bad |= add_common(t, o);
    return dump(done(o, bad));
}
