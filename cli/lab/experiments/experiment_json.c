/* experiment_json.c - an experiment as one JSON object on a line. */
#include <jansson.h>

#include "experiment.h"
#include "json_line.h"
#include "json/json_memory.h"

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
    return json_pack("{s:s, s:o, s:o, s:s, s:b}", "what", check->what,
                     "expected", figure_json(check->unit, check->expected),
                     "seen", figure_json(check->unit, check->seen), "unit",
                     exp_units[check->unit], "ok", (int)check->ok);
}

bool exp_report_json(const struct exp *e)
{
    char verdict[EXP_ERROR_MAX + 512];
    json_t *steps = json_array(), *checks = json_array();
    int bad = 0;

    for (size_t i = 0; i < e->step_count; i++) {
        if (!e->steps[i].is_heading)
            bad |= json_array_append_new(steps, step_json(&e->steps[i]));
    }
    for (size_t i = 0; i < e->check_count; i++)
        bad |= json_array_append_new(checks, check_json(&e->checks[i]));
    exp_verdict_text(e, verdict, sizeof verdict);
    return json_line(e->opt->out,
                     json_pack("{s:i, s:s, s:s, s:o, s:s, s:b, s:s, s:o, s:o}",
                               "number", e->what->number, "name", e->what->name,
                               "title", e->what->title, "device",
                               utf8_json(e->spec), "policy",
                               larder_policy_name(e->policy), "ok",
                               (int)exp_ok(e), "verdict", verdict, "steps",
                               steps, "checks", checks)) &&
           bad == 0;
}
