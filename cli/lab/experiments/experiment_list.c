/* experiment_list.c - finds experiments by name or number, and runs them. */
#include "experiment.h"

#include <jansson.h>
#include <larder/history.h>
#include <stdio.h>
#include <string.h>

#include "complain.h"
#include "json_line.h"

static const struct experiment *const experiments[] = {
    &experiment_move_and_reuse,  &experiment_context_and_growth,
    &experiment_training_loop,   &experiment_varying_batches,
    &experiment_keeping_losses,  &experiment_best_fit,
    &experiment_one_empty_cache, &experiment_preallocation,
    &experiment_backward,        &experiment_retain_grad,
    &experiment_two_processes,   &experiment_units,
    &experiment_checkpointing,
};
enum { COUNT = sizeof experiments / sizeof experiments[0] };

static bool is_named(const struct experiment *what, const char *name)
{
    char number[16];

    snprintf(number, sizeof number, "%d", what->number);
    return strcmp(name, "all") == 0 || strcmp(name, what->name) == 0 ||
           strcmp(name, number) == 0;
}

const char *experiments_word(size_t index)
{
    if (index == 0)
        return "all";
    return index <= COUNT ? experiments[index - 1]->name : NULL;
}

int experiments_count(const char *name)
{
    int count = 0;

    for (int i = 0; i < COUNT; i++)
        count += is_named(experiments[i], name);
    return count;
}

void experiments_list(FILE *out, bool json)
{
    json_t *array = json ? json_array() : NULL;

    for (int i = 0; i < COUNT; i++) {
        const struct experiment *x = experiments[i];

        if (json)
            json_array_append_new(array, json_pack("{s:i, s:s, s:s}", "number",
                                                   x->number, "name", x->name,
                                                   "title", x->title));
        else
            fprintf(out, "%d  %-20s %s\n", x->number, x->name, x->title);
    }
    if (json)
        json_line(out, array);
}

/* ---- running ---- */

/* Write the events and the final state. */
static bool write_snapshot(const struct exp *e)
{
    if (e->opt->snapshot == NULL || e->session == NULL ||
        larder_snapshot_write(lab_allocator(e->session), e->opt->snapshot,
                              NULL) == LARDER_OK)
        return true;
    return cli_complain("lab", "%s", larder_last_error());
}

int experiment_run(const struct experiment *what,
                   const struct lab_run_options *opt)
{
    struct exp e;
    bool snapshot;
    int status;

    exp_init(&e, what, opt);
    if (!opt->json)
        exp_report_begin(&e);
    if (!what->run(&e))
        exp_fail(&e, "it ended early");
    snapshot = write_snapshot(&e);
    /* A tensor that remains is an error too. */
    exp_close(&e);
    status = e.error[0] != '\0' || !snapshot ? 2 : !exp_ok(&e);
    if (!opt->json)
        exp_report_end(&e);
    else if (!exp_report_json(&e))
        status = 2;
    if (e.error[0] != '\0')
        cli_complain("lab", "%s: %s", what->name, e.error);
    exp_free(&e);
    fflush(opt->out);
    return status;
}

int experiments_run(int count, char *const *names,
                    const struct lab_run_options *opt)
{
    int status = 0;

    for (int i = 0; i < count; i++) {
        for (int j = 0; j < COUNT; j++) {
            int one;

            if (!is_named(experiments[j], names[i]))
                continue;
            one = experiment_run(experiments[j], opt);
            status = one > status ? one : status;
        }
    }
    return status;
}
