/* tune_report.c - the text output of `larder tune` and `larder fit`. */
#include "tune_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/ranks.h"
#include "snapshot_input.h"
#include "table.h"
#include "snapshot/units.h"

enum { COLUMNS = 6, SHOWN = 12, HOLDERS = 3 };

static const struct tune_candidate *now(const struct tune *t)
{
    return &t->candidates[0];
}

/* Whether all inputs were recorded under the same settings. */
static bool are_alike(const struct tune *t)
{
    const struct tune_input *in = t->inputs->items;

    for (size_t i = 1; i < t->inputs->count; i++) {
        if (in[i].policy != in[0].policy || strcmp(in[i].conf, in[0].conf) != 0)
            return false;
    }
    return true;
}

const char *tune_report_setting(const struct tune *t,
                                const struct tune_candidate *c, char *out,
                                size_t room)
{
    const struct tune_input *in = &t->inputs->items[0];
    char text[REPLAY_CONF_MAX];
    const char *conf = tune_conf(c, in, text);

    if (c->is_base && !are_alike(t))
        snprintf(out, room, "now (each its own settings)");
    else if (c->is_base)
        snprintf(out, room, "now (%s%s)",
                 in->policy == LARDER_POLICY_LARDER ? "larder: " : "",
                 conf[0] != '\0' ? conf : "the defaults");
    else if (c->setting.policy == LARDER_POLICY_LARDER)
        snprintf(out, room, "Larder's policy");
    else
        snprintf(out, room, "%s", conf[0] != '\0' ? conf : "the defaults");
    return out;
}

/* ---- the table of settings ---------------------------------------------- */

static const char *fits_word(const struct tune *t,
                             const struct tune_candidate *c)
{
    switch (tune_verdict(t, c)) {
    case TUNE_FITS:
        return "yes";
    case TUNE_DOES_NOT_FIT:
        return tune_has_capacity(t) ? "no" : "-";
    default:
        return tune_has_capacity(t) ? "?" : "-";
    }
}

static void add_candidate(struct table *table, const struct tune *t,
                          const struct tune_candidate *c)
{
    char name[REPLAY_CONF_MAX + 32];
    const char *cells[COLUMNS] = {
        tune_report_setting(t, c, name, sizeof name),
        fits_word(t, c),
        c->worst.min_capacity_bytes != 0
            ? units_bytes_up(c->worst.min_capacity_bytes)
            : "none",
        units_bytes(c->worst.peak_reserved_bytes),
        units_count(c->worst.driver_calls),
        units_time(c->worst.driver_time_ns),
    };

    table_add(table, cells);
}

/* Whether an earlier setting, with no more keys, needs exactly the same: another
 * line would add nothing. */
static bool is_repeated(const struct tune_candidate **order, size_t number)
{
    const struct tune_cell *cell = &order[number]->worst;

    for (size_t i = 0; i < number; i++) {
        const struct tune_cell *other = &order[i]->worst;

        if (other->min_capacity_bytes == cell->min_capacity_bytes &&
            other->peak_reserved_bytes == cell->peak_reserved_bytes &&
            other->driver_calls == cell->driver_calls &&
            replay_setting_keys(&order[i]->setting) <=
                replay_setting_keys(&order[number]->setting))
            return true;
    }
    return false;
}

static bool print_table(const struct tune *t)
{
    const char *const head[COLUMNS] = {
        "setting",  tune_ended(t) ? "fits" : "past it",
        "smallest", "reserved",
        "calls",    "driver"};
    const struct tune_candidate *order[TUNE_CANDIDATES_MAX];
    struct table table;
    size_t shown = 0;
    bool ok;

    tune_ranking(t, order);
    table_init(&table, COLUMNS, head);
    table.keeps_front = true;
    add_candidate(&table, t, now(t));
    for (size_t i = 0; i + 1 < t->count && shown < SHOWN; i++) {
        if (is_repeated(order, i))
            continue;
        add_candidate(&table, t, order[i]);
        shown++;
    }
    ok = table_print(&table);
    if (t->count - 1 > shown)
        printf("and %zu more, none better (--json has all)\n",
               t->count - 1 - shown);
    table_free(&table);
    printf("\n%s; smallest: the smallest device on which\nnothing fails; "
           "reserved: peak on a large card; calls, driver: driver calls in a "
           "first\npass and their estimated time\n",
           tune_ended(t) ? "fits: whether the recording fits"
                         : "past it: whether it gets past the failed request");
    return ok;
}

/* ---- advice ------------------------------------------------------------- */

typedef const char *units_fn(uint64_t bytes, char out[UNITS_MAX]);

/* `bytes` is rounded so that the sentence stays true; for a named card that is
 * not necessary. */
static void print_capacity(const struct tune *t, const char *card,
                           units_fn *bytes)
{
    char text[UNITS_MAX];

    if (card[0] != '\0')
        printf("the %s's %s (%s)", card, units_bytes(t->options->capacity),
               t->options->context_bytes > 0 ? "net of the context"
                                             : "no context");
    else if (t->options->capacity != 0)
        printf("%s", bytes(t->options->capacity, text));
    else if (t->inputs->count == 1)
        printf("the recorded card's %s",
               bytes(tune_capacity(t, &t->inputs->items[0]), text));
    else
        printf("the recorded cards");
}

/* What the recording leaves open. */
static void print_scope(const struct tune *t)
{
    struct tune_scope scope = tune_scope(t);

    if (!tune_ended(t) && scope.after > 0)
        printf("The program continued after that request failed; what it needs "
               "if the request succeeds\nwas not recorded.\n");
    else if (!tune_ended(t) && scope.steps > 0)
        printf("Nothing after that request was recorded; the %" PRIu64
               " complete pass%s before it %s\nincluded.\n",
               scope.steps, scope.steps == 1 ? "" : "es",
               scope.steps == 1 ? "is" : "are");
    else if (!tune_ended(t))
        printf("Nothing after that request was recorded, nor a complete pass "
               "before it: the job may need\nmore.\n");
    else if (scope.next_bytes > 0)
        printf("Only the first step was recorded: the next one starts with "
               "another %s of optimizer state\nand may need %s.\n",
               units_bytes(scope.next_bytes),
               units_bytes_up(now(t)->worst.min_capacity_bytes +
                              scope.next_bytes));
    if (scope.grows_bytes_per_step > 0)
        printf("Memory use grows: each pass starts with at least %s more than "
               "the one before, and later\npasses that do the same each need "
               "that much more.\n",
               units_bytes(scope.grows_bytes_per_step));
}

/* Ready to paste. */
static void print_line(const struct tune *t, const struct tune_candidate *c)
{
    char conf[REPLAY_CONF_MAX];

    replay_setting_line(&c->setting, t->inputs->items[0].conf, conf);
    if (c->setting.policy == LARDER_POLICY_LARDER) {
        /* It moves live memory on its own. */
        printf("\n%s%s%spython3 -m larder.torch YOUR_PROGRAM\n",
               conf[0] != '\0' ? "LARDER_CONF=" : "", conf,
               conf[0] != '\0' ? " " : "");
        return;
    }
    if (conf[0] == '\0')
        printf("\nunset PYTORCH_CUDA_ALLOC_CONF\n");
    else
        printf("\nexport PYTORCH_CUDA_ALLOC_CONF=%s\n", conf);
}

static void print_versions(const struct tune_candidate *c)
{
    char conditions[TUNE_CONDITIONS_MAX];

    if (c->setting.policy != LARDER_POLICY_PYTORCH)
        return;
    tune_conditions(&c->setting, conditions);
    printf("From PyTorch 2.9 on the name is PYTORCH_ALLOC_CONF.%s%s\n",
           conditions[0] != '\0' ? "  " : "", conditions);
}

static void print_gain(const struct tune *t, const struct tune_candidate *c,
                       const char *card)
{
    const char *least = tune_ended(t) ? "" : "at least ";

    if (!tune_fits_now(t)) {
        printf(
            tune_ended(t)
                ? "With this setting the recording fits on "
                : "With this setting the job gets past the failed request on ");
        print_capacity(t, card, units_bytes_up_in);
        printf(": it needs ");
    } else {
        printf("With this setting the recording needs ");
    }
    printf("%s%s", least, units_bytes_up(c->worst.min_capacity_bytes));
    if (now(t)->worst.min_capacity_bytes != 0)
        printf(" (now %s)", units_bytes_up(now(t)->worst.min_capacity_bytes));
    printf(", because %s.\n", tune_reason(&c->setting));
    printf("It makes %" PRIu64 " driver calls in a first pass (now %" PRIu64
           ") and reserves %s on a large card\n(now %s).\n",
           c->worst.driver_calls, now(t)->worst.driver_calls,
           units_bytes(c->worst.peak_reserved_bytes),
           units_bytes(now(t)->worst.peak_reserved_bytes));
}

/* The rank with the largest need. */
static const struct tune_input *worst_input(const struct tune *t)
{
    size_t worst = 0;

    for (size_t i = 1; i < t->inputs->count; i++) {
        if (now(t)->cells[i].min_capacity_bytes >
            now(t)->cells[worst].min_capacity_bytes)
            worst = i;
    }
    return &t->inputs->items[worst];
}

/* A trace has no call paths, so nothing is printed for it. */
static bool print_holders(const struct tune *t)
{
    const struct tune_input *in = worst_input(t);
    struct report_holder holders[HOLDERS];
    struct snapshot *s = NULL;
    struct tool_error error;
    size_t count;
    bool ok;

    if (!in->is_snapshot || strcmp(in->path, "-") == 0)
        return true;
    if (!snapshot_input_read(in->path, &s, &error))
        return false;
    ok = report_holders(s, in->device, HOLDERS, holders, &count, &error);
    if (ok && count > 0) {
        printf("Largest holders at the peak:\n");
        for (size_t i = 0; i < count; i++)
            printf("  %10s in %" PRIu64 "  %s\n", units_bytes(holders[i].bytes),
                   holders[i].count, holders[i].frame);
    }
    snapshot_free(s);
    return ok;
}

/* The minimum that is missing under any setting. */
static uint64_t least_short(const struct tune *t)
{
    uint64_t min = tune_short_bytes(t, now(t));

    for (size_t i = 1; i < t->count; i++) {
        uint64_t bytes = tune_short_bytes(t, &t->candidates[i]);

        min = bytes < min ? bytes : min;
    }
    return min;
}

/* A limit that the job sets itself is not tried. */
static void print_kept(const struct tune *t)
{
    if (strstr(t->inputs->items[0].conf, "per_process_memory_fraction") != NULL)
        printf("All settings keep the job's per_process_memory_fraction; "
               "--conf changes it.\n");
}

static bool print_no_cure(const struct tune *t, const char *card)
{
    uint64_t bytes = least_short(t);

    printf("\nNo setting helps");
    if (bytes != TUNE_ENDLESS) {
        printf(": the best still needs %s (%" PRIu64 " bytes) more than ",
               units_bytes(bytes), bytes);
        print_capacity(t, card, units_bytes_in);
    }
    printf(".\n");
    print_kept(t);
    return print_holders(t);
}

static void print_by_beginning(void)
{
    printf("\nIt ran out of memory because of how memory was laid out before "
           "the recording began: on\nan empty device the same settings do not "
           "fail, so no setting can be judged.  Record from\nthe start of the "
           "program, with more max_entries.\n");
}

static bool print_advice(const struct tune *t, const char *card)
{
    const struct tune_candidate *best = tune_best(t);

    if (t->by_beginning) {
        print_by_beginning();
    } else if (best != NULL) {
        print_line(t, best);
        print_versions(best);
        print_gain(t, best, card);
    } else if (tune_fits_now(t)) {
        printf(
            "\nNo setting needs at least 1 %% less than the current ones.\n");
    } else {
        return print_no_cure(t, card);
    }
    return true;
}

/* ---- ranks --------------------------------------------------------------- */

static void add_rank(struct table *table, const struct tune *t, size_t number)
{
    const struct tune_input *in = &t->inputs->items[number];
    const struct tune_cell *cell = &now(t)->cells[number];
    const char *cells[] = {
        in->name,
        !tune_has_capacity(t) ? "-"
        : cell->fits          ? "yes"
                              : "no",
        cell->min_capacity_bytes != 0 ? units_bytes_up(cell->min_capacity_bytes)
                                      : "none",
        units_bytes(cell->peak_allocated_bytes),
        units_bytes(cell->peak_reserved_bytes),
    };

    table_add(table, cells);
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Report ranks that need at least a tenth more or less than the median. */
static bool print_spread(const struct tune *t)
{
    size_t count = t->inputs->count;
    uint64_t *sizes = calloc(count, sizeof *sizes);
    uint64_t middle;
    size_t outliers = 0;

    if (sizes == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        sizes[i] = now(t)->cells[i].min_capacity_bytes;
    qsort(sizes, count, sizeof *sizes, compare_sizes);
    middle = sizes[count / 2];
    printf("\nWorst: %s.  From %s to %s, median %s.\n", worst_input(t)->name,
           units_bytes(sizes[0]), units_bytes(sizes[count - 1]),
           units_bytes(middle));
    for (size_t i = 0; i < count; i++) {
        uint64_t n = now(t)->cells[i].min_capacity_bytes;

        if (n <= middle + middle / 10 && n + middle / 10 >= middle)
            continue;
        printf("%s %s (%s)", outliers++ == 0 ? "Unlike the others:" : ",",
               t->inputs->items[i].name, units_bytes(n));
    }
    printf("%s", outliers > 0 ? "\n" : "");
    free(sizes);
    return true;
}

static bool print_ranks(const struct tune *t)
{
    static const char *const head[] = {"rank", "fits", "smallest", "allocated",
                                       "reserved"};
    struct table table;
    bool ok;

    table_init(&table, sizeof head / sizeof head[0], head);
    for (size_t i = 0; i < t->inputs->count; i++)
        add_rank(&table, t, i);
    ok = table_print(&table);
    table_free(&table);
    return ok && print_spread(t);
}

bool tune_report_print(const struct tune *t, const char *card)
{
    bool ok;

    if (t->inputs->count > 1)
        printf("%zu ranks: sizes are those of the worst; calls and times are "
               "sums\n\n",
               t->inputs->count);
    ok = print_table(t);
    if (t->inputs->count > 1) {
        printf("\nEach rank with its current settings\n");
        ok = print_ranks(t) && ok;
    }
    ok = print_advice(t, card) && ok;
    if (!t->by_beginning)
        print_scope(t);
    return ok;
}

/* ---- fit ---------------------------------------------------------------- */

static void print_no_fit(const struct tune *t, const char *card)
{
    uint64_t need = now(t)->worst.min_capacity_bytes;
    uint64_t missing = tune_short_bytes(t, now(t));

    printf("It does not fit on ");
    print_capacity(t, card, units_bytes_in);
    if (missing == TUNE_ENDLESS)
        printf(", nor on a device of any other size");
    else
        printf(": it is %s short%s", units_bytes_up(missing),
               tune_ended(t) ? "" : " at the failed request");
    if (need != 0 && !t->by_beginning)
        printf(" and needs %s%s", tune_ended(t) ? "" : "at least ",
               units_bytes_up(need));
    printf(".\n");
}

static void print_fits(const struct tune *t, const char *card)
{
    if (!tune_fits_now(t)) {
        print_no_fit(t, card);
        return;
    }
    if (!tune_ended(t))
        printf("It gets past the failed request on ");
    else if (tune_verdict(t, now(t)) == TUNE_NO_VERDICT)
        printf("No verdict: the first step fits on ");
    else
        printf("The recording fits on ");
    print_capacity(t, card, units_bytes_up_in);
    printf(": it needs %s%s.\n", tune_ended(t) ? "" : "at least ",
           units_bytes_up(now(t)->worst.min_capacity_bytes));
}

bool fit_report_print(const struct tune *t, const char *card)
{
    bool ok = t->inputs->count == 1 || print_ranks(t);

    print_fits(t, card);
    if (!tune_fits_now(t))
        ok = print_advice(t, card) && ok;
    fit_report_scope(t);
    return ok;
}

void fit_report_scope(const struct tune *t)
{
    if (!t->by_beginning)
        print_scope(t);
}
