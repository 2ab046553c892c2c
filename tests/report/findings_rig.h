/* findings_rig.h - what stands out in a made-up run.  Header only, for cmocka
 * programs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "report/explain.h"

enum { WORDS_MAX = 2048 };

/* The title and the text of the finding whose title has these words; "" if
 * there is none. */
static inline const char *finding(const char *run, const char *settings,
                                  const char *words)
{
    static char told[WORDS_MAX];
    const struct report_finding *found;
    struct made_run m;
    size_t count;

    told[0] = '\0';
    made_run(run, settings, &m);
    found = report_findings(&m.arena, &m.r, &count);
    for (size_t i = 0; i < count; i++) {
        if (strstr(found[i].title, words) != NULL)
            snprintf(told, sizeof told, "%s\n%s", found[i].title,
                     found[i].text);
    }
    made_run_free(&m);
    return told;
}

static inline void is_told(const char *run, const char *title, const char *text)
{
    const char *told = finding(run, NULL, title);

    if (told[0] == '\0')
        fail_msg("'%s' is not told of:\n%s", title, run);
    if (strstr(told, text) == NULL)
        fail_msg("'%s' is not in: %s", text, told);
}

static inline void is_not_told(const char *run, const char *title)
{
    const char *told = finding(run, NULL, title);

    if (told[0] != '\0')
        fail_msg("told: %s", told);
}
