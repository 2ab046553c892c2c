#include "report_cure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/tune.h"
#include "units.h"

/* A run of this size is replayed in a second or two on one core. */
enum { EVENTS_MAX = 200000, WORDS_MAX = 512 };

static char *words_of(const struct tune *t, const struct tune_candidate *best)
{
    const struct tune_input *in = &t->inputs->items[0];
    uint64_t need = best->worst.min_capacity_bytes;
    char *text = malloc(WORDS_MAX);
    char conf[REPLAY_CONF_MAX];
    char a[UNITS_MAX];
    char b[UNITS_MAX];
    char c[UNITS_MAX];

    if (text == NULL)
        return NULL;
    replay_setting_conf(&best->setting, NULL, conf);
    if (best->setting.policy == LARDER_POLICY_LARDER)
        snprintf(text, WORDS_MAX, "Run it under Larder");
    else
        snprintf(text, WORDS_MAX, "Set PYTORCH_CUDA_ALLOC_CONF=%s", conf);
    snprintf(text + strlen(text), WORDS_MAX - strlen(text),
             ": replayed so, it needs %s of the card's %s (%s less than as it "
             "is), as %s.",
             units_bytes(need, a), units_bytes(in->card.bytes, b),
             units_bytes(t->candidates[0].worst.min_capacity_bytes - need, c),
             tune_reason(&best->setting));
    return text;
}

static char *find(const struct tune_inputs *inputs)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct tune_options o = {.threads = cores > 0 ? (unsigned)cores : 1};
    const struct tune_candidate *best = NULL;
    struct tool_error error;
    char *words = NULL;
    struct tune t;

    if (tune_base(&t, inputs, &o, &error) && !t.by_beginning &&
        tune_search(&t, &error))
        best = tune_best(&t);
    if (best != NULL && !tune_fits_now(&t))
        words = words_of(&t, best);
    tune_free(&t);
    return words;
}

char *report_cure_find(void *ctx, const struct snapshot *s, size_t device)
{
    const struct tune_base base = {.policy = LARDER_POLICY_DEFAULT};
    struct tune_inputs inputs = {0};
    struct tool_error error;
    char *words = NULL;

    (void)ctx;
    if (device >= s->device_count || s->devices[device].count > EVENTS_MAX)
        return NULL;
    if (tune_inputs_add_device(&inputs, s, device, "", &base, &error))
        words = find(&inputs);
    tune_inputs_free(&inputs);
    return words;
}
