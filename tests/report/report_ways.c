/* report_ways.c - a report in every form, as one text. */
#include "report_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "report/report_words.h"

static const struct report_way ways[] = {
    {"text", false, {0}},
    {"text, whole",
     false,
     {.tree = true, .paths = true, .all = true, .by = BY_FUNCTION}},
    {"text, by module, in ASCII",
     false,
     {.top = 2, .by = BY_MODULE, .ascii = true}},
    {"text, by library, as a tree",
     false,
     {.top = 3, .by = BY_LIBRARY, .tree = true}},
    {"json", true, {.by = BY_LIBRARY}},
};

void report_put_json(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        putc(*json, out);
        if (*json == ',' && json[1] == '"')
            putc('\n', out);
    }
}

void report_one_way(FILE *out, const struct snapshot *s, const char *name,
                    const struct report_way *way)
{
    struct tool_error error;
    struct report_text t;
    char *text;

    assert_true(report_text_begin(&t));
    if (way->json ? !report_write_json(t.out, name, s, &way->opt, &error)
                  : !report_write_text(t.out, name, s, &way->opt, &error))
        fail_msg("%s", error.text);
    text = report_text_take(&t);
    assert_non_null(text);
    fprintf(out, "==== %s\n", way->name);
    report_put_json(out, text);
    free(text);
}

char *report_all_ways(const struct snapshot *s, const char *name)
{
    struct report_text t;

    assert_true(report_text_begin(&t));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        report_one_way(t.out, s, name, &ways[i]);
    return report_text_take(&t);
}

char *report_compared(const char *const names[2],
                      const struct snapshot *const runs[2])
{
    const struct report_options few = {.top = 2};
    struct report_text t;
    struct report_text json;
    struct tool_error error;
    bool same;
    char *text;

    assert_true(report_text_begin(&t) && report_text_begin(&json));
    fputs("==== diff\n", t.out);
    assert_true(report_write_diff(t.out, names, runs, false, &ways[0].opt,
                                  &same, &error));
    fprintf(t.out, "==== %s, two lines\n", same ? "the same" : "not the same");
    assert_true(
        report_write_diff(t.out, names, runs, false, &few, &same, &error));
    assert_true(report_write_diff(json.out, names, runs, true, &ways[0].opt,
                                  &same, &error));
    text = report_text_take(&json);
    assert_non_null(text);
    fputs("==== json\n", t.out);
    report_put_json(t.out, text);
    free(text);
    return report_text_take(&t);
}
