/* experiment_record.c - the steps and checks recorded while an experiment
 * runs. */
#include <inttypes.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "lab/lab_history.h"
#include "trace/array_room.h"

static const char *const figure_names[EXP_FIGURES] = {
    [EXP_SMI] = "nvidia-smi",
    [EXP_RESERVED] = "reserved",
    [EXP_ALLOCATED] = "allocated",
    [EXP_HOST] = "host",
};

static char *text_of(const char *format, va_list args)
{
    va_list again;
    char *text = NULL;
    int length;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length >= 0)
        text = malloc((size_t)length + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

static bool no_host_memory(struct exp *e)
{
    return exp_fail(e, "no host memory for the record");
}

/* Append a step that has only its text. */
static struct exp_step *step_add(struct exp *e, const char *format,
                                 va_list args)
{
    struct exp_step step = {0};

    if (!ARRAY_ROOM(e->steps, e->step_room, e->step_count + 1))
        return NULL;
    step.statement = text_of(format, args);
    if (step.statement == NULL)
        return NULL;
    e->steps[e->step_count] = step;
    return &e->steps[e->step_count++];
}

bool exp_heading(struct exp *e, const char *format, ...)
{
    struct exp_step *step;
    va_list args;

    va_start(args, format);
    step = step_add(e, format, args);
    va_end(args);
    if (step == NULL)
        return no_host_memory(e);
    step->is_heading = true;
    return true;
}

static unsigned panel_flags(const struct exp *e)
{
    unsigned flags = e->opt->colour ? LAB_PANEL_COLOUR : 0;

    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        flags |= LAB_PANEL_ASCII;
    return flags;
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
    if (step == NULL)
        return no_host_memory(e);
    if (!exp_memory(e, &step->memory) || !step_panel(e, step))
        return false;
    if (e->opt->snapshot != NULL)
        lab_history_mark(e->session, step->statement);
    e->before = step->memory;
    return true;
}

uint64_t exp_figure_of(const lab_memory *m, enum exp_figure figure)
{
    switch (figure) {
    case EXP_SMI:
        return m->smi_bytes;
    case EXP_RESERVED:
        return m->reserved_bytes;
    case EXP_ALLOCATED:
        return m->allocated_bytes;
    default:
        return m->host_bytes;
    }
}

/* Takes ownership of `what`. */
static bool check_add(struct exp *e, char *what, enum exp_unit unit,
                      uint64_t expected, uint64_t seen)
{
    if (e->only_shown) {
        free(what);
        return true;
    }
    if (what == NULL ||
        !ARRAY_ROOM(e->checks, e->check_room, e->check_count + 1)) {
        free(what);
        return no_host_memory(e);
    }
    e->checks[e->check_count++] = (struct exp_check){
        .what = what,
        .unit = unit,
        .expected = expected,
        .seen = seen,
        .ok = expected == seen,
    };
    return true;
}

bool exp_number(struct exp *e, const char *what, enum exp_unit unit,
                uint64_t expected, uint64_t seen)
{
    return check_add(e, strdup(what), unit, expected, seen);
}

bool exp_yes(struct exp *e, const char *what, bool seen)
{
    return exp_number(e, what, EXP_YES, 1, seen);
}

bool exp_expect(struct exp *e, enum exp_figure figure, uint64_t bytes)
{
    struct exp_step *step = &e->steps[e->step_count - 1];
    size_t room = strlen(step->statement) + 32;
    char *what;

    if (e->only_shown)
        return true;
    what = malloc(room);
    if (what != NULL)
        snprintf(what, room, "%s after `%s`", figure_names[figure],
                 step->statement);
    step->expects[figure] = true;
    step->expected[figure] = bytes;
    if (!check_add(e, what, EXP_BYTES, bytes,
                   exp_figure_of(&step->memory, figure)))
        return false;
    e->checks[e->check_count - 1].is_step = true;
    return true;
}

bool exp_verdict(struct exp *e, const char *format, ...)
{
    va_list args;

    free(e->verdict);
    va_start(args, format);
    e->verdict = text_of(format, args);
    va_end(args);
    return e->verdict != NULL || no_host_memory(e);
}
