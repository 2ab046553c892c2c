/* experiment_record.c - the steps and checks recorded while an experiment
 * runs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <larder/history.h>

#include "experiment.h"
#include "terminal.h"
#include "trace/array_room.h"

const char *const exp_figures[EXP_FIGURES] = {
    [EXP_SMI] = "nvidia-smi",
    [EXP_RESERVED] = "reserved",
    [EXP_ALLOCATED] = "allocated",
    [EXP_HOST] = "host",
};

const char *const exp_units[EXP_YES + 1] = {
    [EXP_BYTES] = "bytes",
    [EXP_CALLS] = "calls",
    [EXP_NS] = "ns",
    [EXP_TENSORS] = "tensors",
    [EXP_SEGMENTS] = "segments",
    [EXP_ITERATIONS] = "iterations",
    [EXP_YES] = "yes",
};

static bool no_host_memory(struct exp *e)
{
    return exp_fail(e, "no host memory for the record");
}

/* Append a step that has only its text.  NULL: there is no host memory, which is
 * a failure of the experiment. */
static struct exp_step *step_add(struct exp *e, const char *format,
                                 va_list args)
{
    struct exp_step step = {0};

    if (ARRAY_ROOM(e->steps, e->step_room, e->step_count + 1) &&
        vasprintf(&step.statement, format, args) >= 0) {
        e->steps[e->step_count] = step;
        return &e->steps[e->step_count++];
    }
    no_host_memory(e);
    return NULL;
}

bool exp_heading(struct exp *e, const char *format, ...)
{
    struct exp_step *step;
    va_list args;

    va_start(args, format);
    step = step_add(e, format, args);
    va_end(args);
    if (step != NULL)
        step->is_heading = true;
    return step != NULL;
}

static unsigned panel_flags(const struct exp *e)
{
    unsigned flags = e->opt->colour ? LAB_PANEL_COLOUR : 0;

    return terminal_is_utf8() ? flags : flags | LAB_PANEL_ASCII;
}

static bool step_panel(struct exp *e, struct exp_step *step)
{
    unsigned flags = panel_flags(e);
    size_t need;

    if (!e->opt->steps || e->opt->json)
        return true;
    need = lab_panel(e->session, step->statement, &e->before, e->opt->width,
                     flags, NULL, 0);
    step->panel = malloc(need + 1);
    if (step->panel == NULL)
        return no_host_memory(e);
    lab_panel(e->session, step->statement, &e->before, e->opt->width, flags,
              step->panel, need + 1);
    return true;
}

bool exp_step(struct exp *e, const char *format, ...)
{
    struct exp_step *step;
    va_list args;

    va_start(args, format);
    step = step_add(e, format, args);
    va_end(args);
    if (step == NULL || !exp_memory(e, &step->memory) || !step_panel(e, step))
        return false;
    /* If the mark cannot be recorded the session continues. */
    if (e->opt->snapshot != NULL)
        (void)larder_history_mark(lab_allocator(e->session), step->statement);
    e->before = step->memory;
    return true;
}

uint64_t exp_figure_of(const lab_memory *m, enum exp_figure figure)
{
    const uint64_t figures[EXP_FIGURES] = {m->smi_bytes, m->reserved_bytes,
                                           m->allocated_bytes, m->host_bytes};

    return figures[figure];
}

__attribute__((format(printf, 5, 6))) static bool check_add(
    struct exp *e, enum exp_unit unit, uint64_t expected, uint64_t seen,
    const char *format, ...)
{
    struct exp_check check = {.unit = unit,
                              .expected = expected,
                              .seen = seen,
                              .ok = expected == seen};
    va_list args;
    int length = -1;

    if (e->only_shown)
        return true;
    va_start(args, format);
    if (ARRAY_ROOM(e->checks, e->check_room, e->check_count + 1))
        length = vasprintf(&check.what, format, args);
    va_end(args);
    if (length < 0)
        return no_host_memory(e);
    e->checks[e->check_count++] = check;
    return true;
}

bool exp_number(struct exp *e, const char *what, enum exp_unit unit,
                uint64_t expected, uint64_t seen)
{
    return check_add(e, unit, expected, seen, "%s", what);
}

bool exp_yes(struct exp *e, const char *what, bool seen)
{
    return exp_number(e, what, EXP_YES, 1, seen);
}

bool exp_expect(struct exp *e, enum exp_figure figure, uint64_t bytes)
{
    struct exp_step *step = &e->steps[e->step_count - 1];

    if (e->only_shown)
        return true;
    step->expects[figure] = true;
    step->expected[figure] = bytes;
    if (!check_add(e, EXP_BYTES, bytes, exp_figure_of(&step->memory, figure),
                   "%s after `%s`", exp_figures[figure], step->statement))
        return false;
    e->checks[e->check_count - 1].is_step = true;
    return true;
}

bool exp_after(struct exp *e, const char *statement, enum exp_figure figure,
               uint64_t bytes)
{
    return exp_step(e, "%s", statement) && exp_expect(e, figure, bytes);
}

bool exp_verdict(struct exp *e, const char *format, ...)
{
    va_list args;
    int length;

    free(e->verdict);
    va_start(args, format);
    length = vasprintf(&e->verdict, format, args);
    va_end(args);
    if (length >= 0)
        return true;
    e->verdict = NULL;
    return no_host_memory(e);
}
