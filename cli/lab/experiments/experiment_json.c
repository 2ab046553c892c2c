/* experiment_json.c - an experiment as one JSON object on a line. */
#include <jansson.h>

#include "experiment.h"
#include "replay/json_values.h"

static json_t *step_json(const struct exp_step *step)
{
    const lab_memory *m = &step->memory;

    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "statement",
                     step->statement, "host_bytes", json_whole(m->host_bytes),
                     "context_bytes", json_whole(m->context_bytes), "smi_bytes",
                     json_whole(m->smi_bytes), "reserved_bytes",
                     json_whole(m->reserved_bytes), "allocated_bytes",
                     json_whole(m->allocated_bytes), "requested_bytes",
                     json_whole(m->requested_bytes));
}

static json_t *figure_json(enum exp_unit unit, uint64_t n)
{
    return unit == EXP_YES ? json_boolean(n != 0) : json_integer(json_whole(n));
}

static json_t *check_json(const struct exp_check *check)
{
    static const char *const units[] = {
        [EXP_BYTES] = "bytes",
        [EXP_CALLS] = "calls",
        [EXP_NS] = "ns",
        [EXP_TENSORS] = "tensors",
        [EXP_SEGMENTS] = "segments",
        [EXP_ITERATIONS] = "iterations",
        [EXP_YES] = "yes",
    };

    return json_pack("{s:s, s:o, s:o, s:s, s:b}", "what", check->what,
                     "expected", figure_json(check->unit, check->expected),
                     "seen", figure_json(check->unit, check->seen), "unit",
                     units[check->unit], "ok", (int)check->ok);
}

/* Both arrays, in an array of their own; NULL without host memory. */
static json_t *lists(const struct exp *e)
{
    json_t *steps = json_array(), *checks = json_array();
    int bad = steps == NULL || checks == NULL;

    for (size_t i = 0; !bad && i < e->step_count; i++) {
        if (!e->steps[i].is_heading)
            bad |= json_array_append_new(steps, step_json(&e->steps[i]));
    }
    for (size_t i = 0; !bad && i < e->check_count; i++)
        bad |= json_array_append_new(checks, check_json(&e->checks[i]));
    if (!bad)
        return json_pack("[o, o]", steps, checks);
    json_decref(steps);
    json_decref(checks);
    return NULL;
}

bool exp_report_json(const struct exp *e)
{
    char verdict[EXP_ERROR_MAX + 512];
    json_t *both = lists(e), *object = NULL;
    bool written;

    if (both == NULL)
        return false;
    exp_verdict_text(e, verdict, sizeof verdict);
    object = json_pack(
        "{s:i, s:s, s:s, s:o, s:s, s:b, s:s, s:O, s:O}", "number",
        e->what->number, "name", e->what->name, "title", e->what->title,
        "device", utf8_json(e->spec), "policy", larder_policy_name(e->policy),
        "ok", (int)exp_ok(e), "verdict", verdict, "steps",
        json_array_get(both, 0), "checks", json_array_get(both, 1));
    json_decref(both);
    written =
        object != NULL &&
        json_dumpf(object, e->opt->out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0;
    json_decref(object);
    fputc('\n', e->opt->out);
    return written;
}
