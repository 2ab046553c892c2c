/* test_ranks_file.c - ranks of made-up programs are written and read back the
 * same; what is said of damaged files is as recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <jansson.h>

#include "made_ranks.h"
#include "ranks_facts.h"
#include "support/recorded.h"
#include "report/report_words.h"
#include "support/damaged.h"
#include "support/guarded.h"
#include "support/put_file.h"

static void what_is_written_is_read_back(void **state)
{
    char name[] = "/tmp/larder_ranks_XXXXXX";

    (void)state;
    close(mkstemp(name));
    for (unsigned group = 0; group < 4; group++) {
        struct report_ranks ranks;
        struct report_ranks again = {0};
        struct tool_error error;
        bool are_ranks;
        char *json;
        char *facts[2];

        made_ranks(group * 10, 2 + group * 3, &ranks);
        json = ranks_json(&ranks);
        put_file(name, json, strlen(json));
        if (!report_ranks_read(&again, name, &are_ranks, &error))
            fail_msg("%s", error.text);
        assert_true(are_ranks);
        facts[0] = ranks_facts(&ranks);
        facts[1] = ranks_facts(&again);
        assert_string_equal(facts[0], facts[1]);
        report_ranks_free(&ranks);
        report_ranks_free(&again);
        free(json);
        free(facts[0]);
        free(facts[1]);
    }
    remove(name);
}

/* ---- damaged files --------------------------------------------------------- */

static char path[] = "/tmp/larder_ranks_XXXXXX";

/* Whether it is refused, read as something else, or as how many ranks with how
 * many holders. */
static char *outcome_of(const json_t *document)
{
    char *text = json_dumps(document, 0);
    struct report_ranks ranks = {0};
    struct report_text out;
    struct tool_error error;
    bool are_ranks;

    put_file(path, text, strlen(text));
    assert_true(report_text_begin(&out));
    if (!report_ranks_read(&ranks, path, &are_ranks, &error)) {
        assert_memory_equal(error.text, path, strlen(path));
        fprintf(out.out, "FILE%s", error.text + strlen(path));
    } else if (!are_ranks) {
        fputs("no ranks", out.out);
    } else {
        fprintf(out.out, "%zu", ranks.count);
        for (size_t i = 0; i < ranks.count; i++)
            fprintf(out.out, " %zu", ranks.items[i].holder_count);
    }
    report_ranks_free(&ranks);
    free(text);
    return report_text_take(&out);
}

static void what_is_said_of_damaged_files_is_as_recorded(void **state)
{
    struct recorded *recorded = recorded_begin("reports/ranks_damaged.txt");
    struct report_ranks ranks;
    json_t *document;
    char *text;

    (void)state;
    close(mkstemp(path));
    made_ranks(1, 1, &ranks);
    text = ranks_json(&ranks);
    document = json_loads(text, 0, NULL);
    assert_non_null(document);
    free(text);
    recorded_entry(recorded, "of %zu ranks, each with its holders",
                   ranks.count);
    damaged_each(document, outcome_of, recorded);
    assert_int_equal(recorded_end(recorded), 0);
    json_decref(document);
    report_ranks_free(&ranks);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(what_is_said_of_damaged_files_is_as_recorded),
    };

    return run_counted_tests(tests);
}
