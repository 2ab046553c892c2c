/* fake_rules.c - violations of rules, planned failures, and call counts. */
#include "driver/fake_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char lines[FAKE_LINES];
static size_t lines_length;
static unsigned long broken;

/* A line that does not fit is only counted. */
static void line_keep(const char *line)
{
    size_t length = strlen(line);

    broken++;
    if (lines_length + length + 2 > sizeof lines)
        return;
    memcpy(lines + lines_length, line, length);
    lines_length += length;
    lines[lines_length++] = '\n';
    lines[lines_length] = '\0';
}

static void line_write(const char *line)
{
    const char *path = getenv("LARDER_FAKECUDA_LOG");
    FILE *f = path == NULL || *path == '\0' ? NULL : fopen(path, "a");

    if (f == NULL)
        return;
    fprintf(f, "%s\n", line);
    fclose(f);
}

cud_result fake_broken(const char *symbol, cud_result answer,
                       const char *format, ...)
{
    char line[512];
    int used = snprintf(line, sizeof line, "%s: ", symbol);
    va_list args;

    va_start(args, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    line_keep(line);
    line_write(line);
    return answer;
}

unsigned long fake_broken_count(void)
{
    return broken;
}

const char *fake_broken_lines(void)
{
    return lines;
}

void fake_broken_forget(void)
{
    broken = 0;
    lines_length = 0;
    lines[0] = '\0';
}

/* ---- plans ---------------------------------------------------------------- */

static struct {
    char symbol[64]; /* "": every call */
    unsigned long first;
    unsigned long last;
    unsigned long seen;
    int answer;
} plan;

void fake_plan(const char *symbol, unsigned long nth, unsigned long times,
               int answer)
{
    snprintf(plan.symbol, sizeof plan.symbol, "%s",
             symbol == NULL ? "" : symbol);
    plan.first = nth;
    plan.last = times == 0 ? (unsigned long)-1 : nth + times;
    plan.seen = 0;
    plan.answer = answer;
}

/* SYMBOL:NTH[:TIMES[:ANSWER]] */
bool fake_plan_read(const char *text)
{
    char symbol[64] = "";
    unsigned long nth = 0;
    unsigned long times = 1;
    int answer = CUD_OUT_OF_MEMORY;
    int ends[3] = {0, 0, 0};
    int found = sscanf(text, "%63[^:]:%lu%n:%lu%n:%d%n", symbol, &nth, &ends[0],
                       &times, &ends[1], &answer, &ends[2]);

    if (found < 2 || nth == 0 || text[ends[found - 2]] != '\0')
        return false;
    fake_plan(symbol, nth, times, answer);
    return true;
}

/* ---- calls ---------------------------------------------------------------- */

enum { SYMBOLS = 256 };

static struct {
    const char *symbol; /* __func__ of the call */
    unsigned long count;
} counts[SYMBOLS];

static void count_call(const char *symbol)
{
    int i = 0;

    while (i < SYMBOLS - 1 && counts[i].symbol != NULL &&
           counts[i].symbol != symbol)
        i++;
    counts[i].symbol = symbol;
    counts[i].count++;
}

unsigned long fake_calls(const char *symbol)
{
    for (int i = 0; i < SYMBOLS && counts[i].symbol != NULL; i++) {
        if (strcmp(counts[i].symbol, symbol) == 0)
            return counts[i].count;
    }
    return 0;
}

cud_result fake_planned(const char *symbol)
{
    count_call(symbol);
    if (plan.first == 0 ||
        (plan.symbol[0] != '\0' && strcmp(plan.symbol, symbol) != 0))
        return CUD_SUCCESS;
    plan.seen++;
    return plan.seen >= plan.first && plan.seen < plan.last ? plan.answer
                                                            : CUD_SUCCESS;
}
