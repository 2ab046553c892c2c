/* experiment_session.c - sessions of an experiment: on the requested device,
 * with changes if the experiment needs them. */
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "lab/lab_history.h"

struct spec_text {
    char *out;
    size_t length;
    bool cut;
};

static void spec_add(struct spec_text *text, const char *part, size_t length)
{
    if (text->length + length >= EXP_SPEC_MAX) {
        text->cut = true;
        return;
    }
    memcpy(text->out + text->length, part, length);
    text->length += length;
    text->out[text->length] = '\0';
}

static void spec_option(struct spec_text *text, const char *key,
                        const char *value)
{
    if (value == NULL)
        return;
    spec_add(text, ",", 1);
    spec_add(text, key, strlen(key));
    spec_add(text, "=", 1);
    spec_add(text, value, strlen(value));
}

static bool option_is(const char *option, size_t length, const char *key)
{
    size_t n = strlen(key);

    return length > n && strncmp(option, key, n) == 0 && option[n] == '=';
}

/* Whether `want` overrides this option of the spec. */
static bool option_replaced(const struct exp_device *want, const char *option,
                            size_t length)
{
    return (want->context != NULL && option_is(option, length, "context")) ||
           (want->backing != NULL && option_is(option, length, "backing")) ||
           (want->shared != NULL && option_is(option, length, "shared"));
}

bool exp_spec(const struct exp *e, const struct exp_device *want,
              char out[EXP_SPEC_MAX])
{
    const char *given =
        e->opt->device != NULL ? e->opt->device : LAB_DEVICE_DEFAULT;
    struct spec_text text = {.out = out};
    size_t length = strcspn(given, ",");

    out[0] = '\0';
    if (want->size == NULL) {
        spec_add(&text, given, length);
    } else {
        spec_add(&text, "sim:", 4);
        spec_add(&text, want->size, strlen(want->size));
    }
    while (given[length] != '\0') {
        const char *option = given + length + 1;
        size_t n = strcspn(option, ",");

        if (!option_replaced(want, option, n))
            spec_add(&text, option - 1, n + 1);
        length += n + 1;
    }
    spec_option(&text, "context", want->context);
    spec_option(&text, "backing", want->backing);
    spec_option(&text, "shared", want->shared);
    return !text.cut;
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
    if (e->opt->snapshot != NULL && !exp_try(e, lab_history_begin(e->session)))
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
