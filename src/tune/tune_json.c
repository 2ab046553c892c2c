/* tune_json.c - the results of `larder tune` and `larder fit` as JSON. */
#include "json/json_memory.h"
#include "tune/tune.h"

static const struct tune_input *first_input(const struct tune *t)
{
    return &t->inputs->items[0];
}

/* As in the contracts of `larder run`: null without a verdict. */
static json_t *fits_json(enum tune_verdict verdict)
{
    return verdict == TUNE_NO_VERDICT ? json_null()
                                      : json_boolean(verdict == TUNE_FITS);
}

static json_t *scope_json(const struct tune *t)
{
    struct tune_scope scope = tune_scope(t);

    return json_pack("{s:o, s:b, s:I, s:I}", "steps", json_nonzero(scope.steps),
                     "ended", (int)tune_ended(t), "grows_bytes_per_step",
                     json_whole(scope.grows_bytes_per_step), "next_step_bytes",
                     json_whole(scope.next_bytes));
}

static json_t *candidate_json(const struct tune *t,
                              const struct tune_candidate *c)
{
    const struct tune_input *in = first_input(t);
    const struct tune_cell *worst = &c->worst;
    enum tune_verdict verdict = tune_verdict(t, c);
    uint64_t missing = tune_short_bytes(t, c);
    char conf[REPLAY_CONF_MAX];

    return json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "policy",
        larder_policy_name(tune_policy(c, in)), "conf",
        utf8_json(tune_conf(c, in, conf)), "verdict",
        tune_verdict_name(verdict), "fits", fits_json(verdict),
        "min_capacity_bytes", json_nonzero(worst->min_capacity_bytes),
        "short_bytes", json_whole_or_null(missing, missing != TUNE_ENDLESS),
        "peak_allocated_bytes", json_whole(worst->peak_allocated_bytes),
        "peak_reserved_bytes", json_whole(worst->peak_reserved_bytes),
        "driver_calls", json_whole(worst->driver_calls), "driver_time_ns",
        json_whole(worst->driver_time_ns));
}

/* If nothing is better than the base, the base is written without settings. */
static json_t *best_json(const struct tune *t)
{
    const struct tune_candidate *best = tune_best(t);
    json_t *o = candidate_json(t, best != NULL ? best : &t->candidates[0]);

    if (best == NULL)
        json_object_set_new(o, "conf", json_null());
    return o;
}

static json_t *candidates_json(const struct tune *t, bool cures)
{
    const struct tune_candidate *order[TUNE_CANDIDATES_MAX];
    json_t *list = json_array();

    tune_ranking(t, order);
    for (size_t i = 0; i + 1 < t->count; i++) {
        if (!cures || (order[i]->worst.fits && !t->by_beginning))
            json_array_append_new(list, candidate_json(t, order[i]));
    }
    return list;
}

static json_t *input_json(const struct tune *t, size_t number)
{
    const struct tune_input *in = &t->inputs->items[number];
    const struct tune_cell *cell = &t->candidates[0].cells[number];

    return json_pack(
        "{s:o, s:I, s:o, s:o, s:b, s:o, s:I, s:I}", "file", utf8_json(in->path),
        "device", json_whole(in->device), "conf", utf8_json(in->conf),
        "capacity_bytes", json_nonzero(tune_capacity(t, in)), "fits",
        (int)cell->fits, "min_capacity_bytes",
        json_nonzero(cell->min_capacity_bytes), "peak_allocated_bytes",
        json_whole(cell->peak_allocated_bytes), "peak_reserved_bytes",
        json_whole(cell->peak_reserved_bytes));
}

static json_t *inputs_json(const struct tune *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->inputs->count; i++)
        json_array_append_new(list, input_json(t, i));
    return list;
}

/* The object, which it takes, with the members that all have, as text. */
static char *with_common(const struct tune *t, json_t *o)
{
    double seconds = (double)t->elapsed_ns / 1e9;
    json_t *common = json_pack(
        "{s:o, s:I, s:o, s:b, s:I, s:f, s:o}", "capacity_bytes",
        json_nonzero(t->options->capacity), "context_bytes",
        json_whole(t->options->context_bytes), "scope", scope_json(t),
        "by_beginning", (int)t->by_beginning, "ops", json_whole(t->ops),
        "ops_per_second", seconds > 0 ? (double)t->ops / seconds : 0, "inputs",
        inputs_json(t));

    json_object_update(o, common);
    json_decref(common);
    return json_memory_line(o);
}

char *tune_json(const struct tune *t)
{
    enum tune_verdict verdict = tune_verdict(t, &t->candidates[0]);

    json_memory_watch();
    return with_common(
        t, json_pack("{s:s, s:o, s:o, s:o, s:o}", "verdict",
                     tune_verdict_name(verdict), "fits", fits_json(verdict),
                     "now", candidate_json(t, &t->candidates[0]), "best",
                     best_json(t), "candidates", candidates_json(t, false)));
}

char *tune_fit_json(const struct tune *t)
{
    json_t *o;

    json_memory_watch();
    o = candidate_json(t, &t->candidates[0]);
    json_object_set_new(o, "cures", candidates_json(t, true));
    return with_common(t, o);
}
