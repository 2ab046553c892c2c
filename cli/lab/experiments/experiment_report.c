/* experiment_report.c - an experiment as text, with its question, its statements with
 * figures, expected and actual values and the verdict, and as one JSON object. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "json_line.h"
#include "json/json_memory.h"
#include "terminal.h"
#include "snapshot/units.h"

enum {
    FIGURE_WIDTH = 11, /* including the mark behind it */
    WIDTH_MIN = 72,
    WIDTH_MAX = 110,
    CELL_MAX = 48
};

/* ---- words ---- */

static const char *mark(bool good)
{
    if (terminal_is_utf8())
        return good ? "✓" : "✗";
    return good ? "=" : "!";
}

static const char *ink(const struct exp *e, const char *code)
{
    return e->opt->colour ? code : "";
}

static unsigned width_of(const struct exp *e)
{
    unsigned width = e->opt->width == 0 ? 80 : e->opt->width;

    if (width < WIDTH_MIN)
        return WIDTH_MIN;
    return width > WIDTH_MAX ? WIDTH_MAX : width;
}

/* The number of columns of UTF-8 text. */
static size_t columns_of(const char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Print paragraphs with indented lines; the first line has `column` columns
 * already. */
static void print_wrapped(FILE *out, const char *text, unsigned width,
                          unsigned indent, unsigned column)
{
    bool begun = false; /* the line has a word already */

    while (*text != '\0') {
        size_t bytes = strcspn(text, " \n");
        unsigned word = (unsigned)columns_of(text, bytes);

        if (begun && column + 1 + word > width) {
            fputc('\n', out);
            begun = false;
            column = 0;
        }
        if (bytes != 0) {
            unsigned gap = begun ? 1 : indent > column ? indent - column : 0;

            fprintf(out, "%*s%.*s", (int)gap, "", (int)bytes, text);
            column += gap + word;
            begun = true;
        }
        text += bytes;
        if (*text == '\n') {
            fputc('\n', out);
            begun = false;
            column = 0;
        }
        text += *text != '\0';
    }
    if (begun)
        fputc('\n', out);
}

/* ---- figures ---- */

/* In MiB, or in bytes if there are few. */
static const char *mebibytes(uint64_t bytes, char out[CELL_MAX])
{
    if (bytes % MIB == 0)
        snprintf(out, CELL_MAX, "%" PRIu64, bytes / MIB);
    else if (bytes < 10 * KIB)
        snprintf(out, CELL_MAX, "%" PRIu64 " B", bytes);
    else
        snprintf(out, CELL_MAX, "%.4f", (double)bytes / (double)MIB);
    return out;
}

static const char *quantity(enum exp_unit unit, uint64_t n, char out[CELL_MAX])
{
    if (unit == EXP_YES) {
        snprintf(out, CELL_MAX, "%s", n != 0 ? "yes" : "no");
    } else if (unit == EXP_NS) {
        units_time_in(n, out);
    } else if (unit == EXP_BYTES) {
        mebibytes(n, out);
        if (strchr(out, 'B') == NULL)
            snprintf(out + strlen(out), CELL_MAX - strlen(out), " MiB");
    } else {
        snprintf(out, CELL_MAX, "%" PRIu64 " %.*s", n,
                 (int)strlen(exp_units[unit]) - (n == 1), exp_units[unit]);
    }
    return out;
}

/* ---- the table ---- */

static void print_figure(const struct exp *e, const struct exp_step *step,
                         enum exp_figure figure)
{
    uint64_t seen = exp_figure_of(&step->memory, figure);
    bool good = seen == step->expected[figure];
    char text[CELL_MAX];

    fprintf(e->opt->out, "%*s", FIGURE_WIDTH - 1, mebibytes(seen, text));
    if (step->expects[figure])
        fprintf(e->opt->out, "%s%s%s", ink(e, good ? "\033[32m" : "\033[31m"),
                mark(good), ink(e, "\033[0m"));
    else if (figure + 1 < EXP_FIGURES)
        fputc(' ', e->opt->out);
}

static void print_step(const struct exp *e, const struct exp_step *step,
                       size_t room)
{
    FILE *out = e->opt->out;
    size_t length = strlen(step->statement);
    size_t columns = columns_of(step->statement, length);

    if (step->is_heading) {
        print_wrapped(out, step->statement, width_of(e), 2, 0);
        return;
    }
    fprintf(out, "  %s", step->statement);
    if (columns > room) {
        fprintf(out, "\n  ");
        columns = 0;
    }
    fprintf(out, "%*s", (int)(room - columns), "");
    for (int i = 0; i < EXP_FIGURES; i++)
        print_figure(e, step, (enum exp_figure)i);
    fputc('\n', out);
}

static void print_panels(const struct exp *e)
{
    for (size_t i = 0; i < e->step_count; i++) {
        if (e->steps[i].panel != NULL)
            fprintf(e->opt->out, "%s\n", e->steps[i].panel);
    }
}

static void print_table(const struct exp *e)
{
    FILE *out = e->opt->out;
    size_t room = width_of(e) - 2 - EXP_FIGURES * FIGURE_WIDTH;

    if (e->step_count == 0)
        return;
    fprintf(out, "  %s%-*s", ink(e, "\033[1m"), (int)room, "MiB after");
    for (int i = 0; i < EXP_FIGURES; i++)
        fprintf(out, "%*s%s", FIGURE_WIDTH - 1, exp_figures[i],
                i + 1 < EXP_FIGURES ? " " : "");
    fprintf(out, "%s\n", ink(e, "\033[0m"));
    for (size_t i = 0; i < e->step_count; i++)
        print_step(e, &e->steps[i], room);
    fputc('\n', out);
}

/* ---- expected and measured --- */

/* List one figure over all steps that have it. */
static void print_series(const struct exp *e, const char *word,
                         enum exp_figure figure, bool expected)
{
    char line[4096] = "";
    size_t length = 0;

    for (size_t i = 0; i < e->step_count; i++) {
        const struct exp_step *step = &e->steps[i];
        char text[CELL_MAX];

        if (!step->expects[figure])
            continue;
        mebibytes(expected ? step->expected[figure]
                           : exp_figure_of(&step->memory, figure),
                  text);
        if (length + strlen(text) + 2 < sizeof line)
            length += (size_t)snprintf(line + length, sizeof line - length,
                                       "%s%s", length == 0 ? "" : ", ", text);
    }
    fprintf(e->opt->out, "      %s", word);
    print_wrapped(e->opt->out, line, width_of(e), 16,
                  6 + (unsigned)strlen(word));
}

static void print_figures(const struct exp *e)
{
    for (int figure = 0; figure < EXP_FIGURES; figure++) {
        bool any = false, good = true;

        for (size_t i = 0; i < e->step_count; i++) {
            const struct exp_step *step = &e->steps[i];

            any |= step->expects[figure];
            good &= !step->expects[figure] ||
                    step->expected[figure] ==
                        exp_figure_of(&step->memory, (enum exp_figure)figure);
        }
        if (!any)
            continue;
        fprintf(e->opt->out, "    %s %s, MiB\n", mark(good),
                exp_figures[figure]);
        print_series(e, "expected", (enum exp_figure)figure, true);
        print_series(e, "seen", (enum exp_figure)figure, false);
    }
}

static void print_check(const struct exp *e, const struct exp_check *check)
{
    char expected[CELL_MAX], seen[CELL_MAX], words[2 * CELL_MAX + 32];
    bool breaks;

    quantity(check->unit, check->expected, expected);
    quantity(check->unit, check->seen, seen);
    snprintf(words, sizeof words, "expected %s, seen %s", expected, seen);
    breaks = 6 + strlen(check->what) + 2 + strlen(words) > width_of(e);
    fprintf(e->opt->out, "    %s %s%s%s\n", mark(check->ok), check->what,
            breaks ? "\n      " : ": ", words);
}

static void print_checks(const struct exp *e)
{
    if (e->check_count == 0)
        return;
    fprintf(e->opt->out, "  %sExpected and seen%s\n", ink(e, "\033[1m"),
            ink(e, "\033[0m"));
    print_figures(e);
    for (size_t i = 0; i < e->check_count; i++) {
        if (!e->checks[i].is_step)
            print_check(e, &e->checks[i]);
    }
    fputc('\n', e->opt->out);
}

/* ---- the whole report -- */

enum { VERDICT_MAX = EXP_ERROR_MAX + 512 };

static void verdict_text(const struct exp *e, char out[VERDICT_MAX])
{
    const char *sentence = e->verdict != NULL         ? e->verdict
                           : e->what->verdict != NULL ? e->what->verdict
                                                      : "";
    size_t wrong = exp_wrong(e);

    if (e->error[0] != '\0')
        snprintf(out, VERDICT_MAX, "Could not be run: %s", e->error);
    else if (wrong == 0)
        snprintf(out, VERDICT_MAX, "As expected. %s", sentence);
    else if (e->judged)
        snprintf(out, VERDICT_MAX,
                 "NOT as expected: %zu of %zu figures differ.", wrong,
                 e->check_count);
    else
        snprintf(out, VERDICT_MAX,
                 "Under the policy %s%s%s, %zu of %zu figures differ from "
                 "PyTorch's defaults, which the expectations are for: no "
                 "failure.",
                 larder_policy_name(e->policy),
                 e->conf[0] != '\0' ? " and the settings " : "", e->conf, wrong,
                 e->check_count);
}

void exp_report_begin(const struct exp *e)
{
    FILE *out = e->opt->out;

    fprintf(out, "%s%d  %s%s: %s\n\n", ink(e, "\033[1m"), e->what->number,
            e->what->name, ink(e, "\033[0m"), e->what->title);
    print_wrapped(out, e->what->text, width_of(e), 2, 0);
    fputc('\n', out);
    fflush(out);
}

void exp_report_end(const struct exp *e)
{
    FILE *out = e->opt->out;
    char verdict[VERDICT_MAX];

    if (e->spec[0] != '\0')
        fprintf(out, "  device %s, policy %s%s%s\n\n", e->spec,
                larder_policy_name(e->policy),
                e->conf[0] != '\0' ? ", settings " : "", e->conf);
    print_panels(e);
    print_table(e);
    print_checks(e);
    verdict_text(e, verdict);
    fprintf(out, "  %s%s%s ", ink(e, exp_ok(e) ? "\033[32m" : "\033[31m"),
            mark(exp_ok(e)), ink(e, "\033[0m"));
    fprintf(out, "%sVerdict%s\n", ink(e, "\033[1m"), ink(e, "\033[0m"));
    print_wrapped(out, verdict, width_of(e), 4, 0);
    fputc('\n', out);
}

/* ---- JSON ---- */

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
    char verdict[VERDICT_MAX];
    json_t *steps = json_array(), *checks = json_array();
    int bad = 0;

    for (size_t i = 0; i < e->step_count; i++) {
        if (!e->steps[i].is_heading)
            bad |= json_array_append_new(steps, step_json(&e->steps[i]));
    }
    for (size_t i = 0; i < e->check_count; i++)
        bad |= json_array_append_new(checks, check_json(&e->checks[i]));
    verdict_text(e, verdict);
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
