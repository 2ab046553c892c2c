/* experiment.c - the building blocks of an experiment: sessions, steps,
 * checks. */
#include "experiment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void exp_init(struct exp *e, const struct experiment *what,
              const struct lab_run_options *opt)
{
    const char *environment = secure_getenv("LARDER_CONF");

    *e = (struct exp){.what = what, .opt = opt};
    e->policy = opt->policy == LARDER_POLICY_DEFAULT ? LARDER_POLICY_PYTORCH
                                                     : opt->policy;
    if (opt->conf != NULL)
        e->conf = opt->conf;
    else
        e->conf = environment != NULL ? environment : "";
    /* The expected figures are those of PyTorch with its default settings. */
    e->judged = e->policy == LARDER_POLICY_PYTORCH && e->conf[0] == '\0';
    lab_memory_init(&e->before);
}

void exp_free(struct exp *e)
{
    exp_close(e);
    for (size_t i = 0; i < e->step_count; i++) {
        free(e->steps[i].statement);
        free(e->steps[i].panel);
    }
    for (size_t i = 0; i < e->check_count; i++)
        free(e->checks[i].what);
    free(e->steps);
    free(e->checks);
    free(e->verdict);
    *e = (struct exp){0};
}

size_t exp_wrong(const struct exp *e)
{
    size_t wrong = 0;

    for (size_t i = 0; i < e->check_count; i++)
        wrong += !e->checks[i].ok;
    return wrong;
}

bool exp_ok(const struct exp *e)
{
    return e->error[0] == '\0' && (!e->judged || exp_wrong(e) == 0);
}

bool exp_fail(struct exp *e, const char *format, ...)
{
    va_list args;

    /* The first failure is the cause of those after it. */
    if (e->error[0] == '\0') {
        va_start(args, format);
        vsnprintf(e->error, sizeof e->error, format, args);
        va_end(args);
    }
    return false;
}

bool exp_try(struct exp *e, larder_result r)
{
    return r == LARDER_OK || exp_fail(e, "%s", lab_last_error());
}

bool exp_try_larder(struct exp *e, larder_result r)
{
    return r == LARDER_OK || exp_fail(e, "%s", larder_last_error());
}
