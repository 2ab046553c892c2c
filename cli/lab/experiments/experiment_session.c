/* experiment_session.c - sessions of an experiment: on the requested device,
 * with changes if the experiment needs them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <larder/history.h>

#include "experiment.h"

struct option {
    const char *key; /* "context=" */
    const char *value;
};

enum { CHANGES = 3 };

static bool is_changed(const struct option changes[CHANGES], const char *option)
{
    for (int i = 0; i < CHANGES; i++) {
        if (changes[i].value != NULL &&
            strncmp(option, changes[i].key, strlen(changes[i].key)) == 0)
            return true;
    }
    return false;
}

/* Append to a spec of this length; returns the length it would have. */
__attribute__((format(printf, 3, 4))) static size_t spec_add(char *out,
                                                             size_t length,
                                                             const char *format,
                                                             ...)
{
    va_list args;

    va_start(args, format);
    if (length < EXP_SPEC_MAX)
        length += (size_t)vsnprintf(out + length, EXP_SPEC_MAX - length, format,
                                    args);
    va_end(args);
    return length;
}

bool exp_spec(const struct exp *e, const struct exp_device *want,
              char out[EXP_SPEC_MAX])
{
    const struct option changes[CHANGES] = {{"context=", want->context},
                                            {"backing=", want->backing},
                                            {"shared=", want->shared}};
    const char *given =
        e->opt->device != NULL ? e->opt->device : LAB_DEVICE_DEFAULT;
    const char *option = given + strcspn(given, ",");
    size_t n = want->size != NULL
                   ? spec_add(out, 0, "sim:%s", want->size)
                   : spec_add(out, 0, "%.*s", (int)(option - given), given);

    while (*option != '\0') {
        int length = 1 + (int)strcspn(option + 1, ",");

        if (!is_changed(changes, option + 1))
            n = spec_add(out, n, "%.*s", length, option);
        option += length;
    }
    for (int i = 0; i < CHANGES; i++) {
        if (changes[i].value != NULL)
            n = spec_add(out, n, ",%s%s", changes[i].key, changes[i].value);
    }
    return n < EXP_SPEC_MAX;
}

bool exp_open(struct exp *e, const struct exp_device *want)
{
    static const struct exp_device as_asked = {0};
    char spec[EXP_SPEC_MAX], conf[EXP_SPEC_MAX];
    lab_options opt;

    if (!exp_close(e))
        return false;
    if (want == NULL)
        want = &as_asked;
    if (!exp_spec(e, want, spec) ||
        snprintf(conf, sizeof conf, "%s%s%s", e->conf,
                 e->conf[0] != '\0' && want->conf != NULL ? "," : "",
                 want->conf != NULL ? want->conf : "") >= (int)sizeof conf)
        return exp_fail(e, "the device spec or the settings are too long");
    lab_options_init(&opt);
    opt.device = spec;
    opt.conf = conf;
    opt.policy = want->policy != 0 ? want->policy : e->policy;
    if (!exp_try(e, lab_open(&opt, &e->session)))
        return false;
    if (e->opt->snapshot != NULL &&
        !exp_try_larder(e,
                        larder_history_start(lab_allocator(e->session), NULL)))
        return false;
    if (e->spec[0] == '\0')
        memcpy(e->spec, spec, sizeof spec);
    return exp_memory(e, &e->before);
}

bool exp_close(struct exp *e)
{
    for (int i = 0; i < EXP_VARIABLES; i++) {
        lab_unref(e->t[i]);
        e->t[i] = NULL;
    }
    if (e->session == NULL)
        return true;
    if (!exp_try(e, lab_close(e->session)))
        return false;
    e->session = NULL;
    return true;
}
