/* report_ways.h - a report in every form, as one text: each form begins with a
 * line "==== NAME". */
#pragma once

#include "report/report.h"

struct report_way {
    const char *name;
    bool json;
    struct report_options opt;
};

/* Append one form.  It fails the test if there is none. */
void report_one_way(FILE *out, const struct snapshot *s, const char *name,
                    const struct report_way *way);

/* Append JSON with a key in each line, so that a difference can be read. */
void report_put_json(FILE *out, const char *json);

/* The caller frees these. */
char *report_all_ways(const struct snapshot *s, const char *name);
char *report_compared(const char *const names[2],
                      const struct snapshot *const runs[2]);
