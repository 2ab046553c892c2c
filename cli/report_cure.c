/* report_cure.c - finds settings under which a run would not have run out of
 * memory, by replaying it. */
#include "report_cure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tune/tune.h"
#include "snapshot/units.h"

/* Events of all devices of a snapshot.  Nine recorded jobs of 200 000 to 300
 * 000 events took 1.2 to 4.5 seconds under all settings, on two cores. */
enum { EVENTS_MAX = 500000 };

#define NOT_REPLAYED "No setting was replayed"

/* What to set, ready to paste. */
static void write_setting(const struct tune *t,
                          const struct tune_candidate *best, FILE *out)
{
    char conf[REPLAY_CONF_MAX];

    replay_setting_line(&best->setting, t->inputs->items[0].conf, conf);
    if (best->setting.policy == LARDER_POLICY_LARDER)
        fputs("Run it under Larder", out);
    else if (conf[0] == '\0')
        fputs("Unset PYTORCH_CUDA_ALLOC_CONF", out);
    else
        fprintf(out, "Set PYTORCH_CUDA_ALLOC_CONF=%s", conf);
}

static void write_need(const struct tune *t, const struct tune_candidate *best,
                       uint64_t saves, FILE *out)
{
    const struct tune_input *in = &t->inputs->items[0];
    const char *need = units_bytes_up(best->worst.min_capacity_bytes);
    const char *less = units_bytes(saves);

    if (in->card.found)
        fprintf(out,
                ".  Replayed this way, the run gets past this request and "
                "needs at least %s of the card's %s (%s less than now)",
                need, units_bytes(in->card.bytes), less);
    else
        fprintf(out,
                ".  Replayed this way, the recording needs %s (%s less than "
                "now)",
                need, less);
}

static void write_price(const struct tune *t, const struct tune_candidate *best,
                        FILE *out)
{
    const struct tune_cell *now = &t->candidates[0].worst;
    char conditions[TUNE_CONDITIONS_MAX];

    fprintf(out,
            ", because %s.  It makes %" PRIu64 " driver calls (now %" PRIu64
            ") and reserves %s on a large card (now %s).",
            tune_reason(&best->setting), best->worst.driver_calls,
            now->driver_calls, units_bytes(best->worst.peak_reserved_bytes),
            units_bytes(now->peak_reserved_bytes));
    tune_conditions(&best->setting, conditions);
    if (conditions[0] != '\0')
        fprintf(out, "  %s", conditions);
}

/* False: no host memory. */
static bool write_words(const struct tune *t, const struct tune_candidate *best,
                        uint64_t saves, char *text)
{
    FILE *out = fmemopen(text, REPORT_CURE_TEXT, "w");

    if (out == NULL)
        return false;
    write_setting(t, best, out);
    write_need(t, best, saves, out);
    write_price(t, best, out);
    return fclose(out) == 0;
}

/* ---- why there is none -------------------------------------------------- */

static void set_why(const struct tune *t, const struct tune_input *in,
                    char *why)
{
    if (t->by_beginning)
        snprintf(why, REPORT_CURE_TEXT,
                 "No setting can be judged: replayed on an empty device, the "
                 "run does not fail under its own settings, so the cause is "
                 "older than the recording.");
    else
        snprintf(why, REPORT_CURE_TEXT, "None of the %zu settings replayed %s.",
                 t->count - 1,
                 in->card.found ? "gets past this request"
                                : "needs at least 1 % less");
}

/* The message without the other command's option and the list of all keys. */
static void set_not_replayed(char *why, const struct tool_error *error)
{
    static const char option[] = " (--conf gives others)";
    const char *text = error->text;
    const char *at = strstr(text, option);
    size_t before = at != NULL ? (size_t)(at - text) : 0;

    text += at != NULL ? before + strlen(option) : 0;
    snprintf(why, REPORT_CURE_TEXT, NOT_REPLAYED ": %.*s%.*s.",
             (int)(before < 200 ? before : 200), error->text,
             (int)(strcspn(text, ";") < 200 ? strcspn(text, ";") : 200), text);
}

static const char *report_cure_why(void *ctx)
{
    return ctx;
}

/* No statement is possible about a run that needs more than any device has. */
static uint64_t saved(const struct tune_cell *now, const struct tune_cell *then)
{
    return now->min_capacity_bytes > then->min_capacity_bytes
               ? now->min_capacity_bytes - then->min_capacity_bytes
               : 0;
}

/* Whether a setting was found. */
static bool find(const struct tune_inputs *inputs, uint64_t *saves, char *text)
{
    const struct tune_input *in = &inputs->items[0];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct tune_options o = {.threads = cores > 0 ? (unsigned)cores : 1};
    const struct tune_candidate *best = NULL;
    struct tool_error error;
    struct tune t;
    bool ok = tune_base(&t, inputs, &o, &error) &&
              (t.by_beginning || tune_search(&t, &error));
    bool found = false;

    if (ok)
        best = tune_best(&t);
    if (best != NULL && tune_fits_now(&t) != in->card.found) {
        *saves = saved(&t.candidates[0].worst, &best->worst);
        found = write_words(&t, best, *saves, text);
    }
    if (!ok)
        set_not_replayed(text, &error);
    else if (!found)
        set_why(&t, in, text);
    tune_free(&t);
    return found;
}

static size_t events_of(const struct snapshot *s)
{
    size_t count = 0;

    for (size_t i = 0; i < s->device_count; i++)
        count += s->devices[i].count;
    return count;
}

static const char *report_cure_find(void *ctx, const struct snapshot *s,
                                    size_t device, uint64_t *saves)
{
    const struct tune_base base = {.policy = LARDER_POLICY_DEFAULT};
    struct tune_inputs inputs = {0};
    struct tool_error error;
    size_t count = events_of(s);
    bool found = false;

    if (count > EVENTS_MAX)
        snprintf(ctx, REPORT_CURE_TEXT,
                 NOT_REPLAYED ": with %zu events that takes too long for a "
                              "report.  `larder tune` does it.",
                 count);
    else if (tune_inputs_add_device(&inputs, s, device, "", &base, &error))
        found = find(&inputs, saves, ctx);
    else
        set_not_replayed(ctx, &error);
    tune_inputs_free(&inputs);
    return found ? ctx : NULL;
}

struct report_cure report_cure_make(char text[REPORT_CURE_TEXT])
{
    return (struct report_cure){report_cure_find, text, report_cure_why};
}
