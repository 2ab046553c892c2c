#include "report_cure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/tune.h"
#include "units.h"

/* A run of this size is replayed in a second or two on one core. */
enum { EVENTS_MAX = 200000, WORDS_MAX = 1024 };

/* Of the setting, ready to paste. */
static void add_setting(const struct tune_candidate *best, char *text)
{
    char conf[REPLAY_CONF_MAX];

    replay_setting_conf(&best->setting, NULL, conf);
    if (best->setting.policy == LARDER_POLICY_LARDER)
        snprintf(text, WORDS_MAX, "Run it under Larder");
    else
        snprintf(text, WORDS_MAX, "Set PYTORCH_CUDA_ALLOC_CONF=%s", conf);
}

static void add_need(const struct tune *t, const struct tune_candidate *best,
                     uint64_t saves, char *text)
{
    const struct tune_input *in = &t->inputs->items[0];
    uint64_t need = best->worst.min_capacity_bytes;
    size_t length = strlen(text);
    char a[UNITS_MAX];
    char b[UNITS_MAX];
    char c[UNITS_MAX];

    units_bytes_up(need, a);
    units_bytes(saves, c);
    if (in->card.found)
        snprintf(text + length, WORDS_MAX - length,
                 ": replayed so, it gets past this request, with at least %s "
                 "of the card's %s (%s less than as it is)",
                 a, units_bytes(in->card.bytes, b), c);
    else
        snprintf(text + length, WORDS_MAX - length,
                 ": replayed so, the recording needs %s (%s less than as it "
                 "is)",
                 a, c);
}

static void add_price(const struct tune *t, const struct tune_candidate *best,
                      char *text)
{
    const struct tune_cell *now = &t->candidates[0].worst;
    size_t length = strlen(text);
    char a[UNITS_MAX];
    char b[UNITS_MAX];

    snprintf(text + length, WORDS_MAX - length,
             ", as %s.  Its price: %s reserved on a large card (%s as it is), "
             "%" PRIu64 " driver calls (%" PRIu64 ").",
             tune_reason(&best->setting),
             units_bytes(best->worst.peak_reserved_bytes, a),
             units_bytes(now->peak_reserved_bytes, b), best->worst.driver_calls,
             now->driver_calls);
}

static char *words_of(const struct tune *t, const struct tune_candidate *best,
                      uint64_t saves)
{
    char *text = malloc(WORDS_MAX);

    if (text == NULL)
        return NULL;
    add_setting(best, text);
    add_need(t, best, saves, text);
    add_price(t, best, text);
    return text;
}

/* Nothing can be said of what needs more than any device. */
static uint64_t saved(const struct tune_cell *now, const struct tune_cell *then)
{
    return now->min_capacity_bytes > then->min_capacity_bytes
               ? now->min_capacity_bytes - then->min_capacity_bytes
               : 0;
}

static char *find(const struct tune_inputs *inputs, uint64_t *saves)
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
    if (best != NULL && tune_fits_now(&t) != inputs->items[0].card.found) {
        *saves = saved(&t.candidates[0].worst, &best->worst);
        words = words_of(&t, best, *saves);
    }
    tune_free(&t);
    return words;
}

char *report_cure_find(void *ctx, const struct snapshot *s, size_t device,
                       uint64_t *saves)
{
    const struct tune_base base = {.policy = LARDER_POLICY_DEFAULT};
    struct tune_inputs inputs = {0};
    struct tool_error error;
    char *words = NULL;

    (void)ctx;
    if (device >= s->device_count || s->devices[device].count > EVENTS_MAX)
        return NULL;
    if (tune_inputs_add_device(&inputs, s, device, "", &base, &error))
        words = find(&inputs, saves);
    tune_inputs_free(&inputs);
    return words;
}
