/* test_many_devices.c - every form of a report tells as many devices as one can
 * have (device_list.h), and refuses more with the same words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/report.h"
#include "report/report_words.h"
#include "snapshot/device_list.h"
#include "support/guarded.h"
#include "support/snapshot_bytes.h"

/* A segment on each of the devices. */
static struct snapshot *with_devices(unsigned count)
{
    struct report_text t;
    struct tool_error error;
    struct snapshot *s;
    char *text;

    assert_true(report_text_begin(&t));
    fputs("{\"segments\": [", t.out);
    for (unsigned i = 0; i < count; i++)
        fprintf(t.out,
                "%s{\"device\": %u, \"address\": %u, \"total_size\": 2097152, "
                "\"blocks\": []}",
                i > 0 ? ", " : "", i, (i + 1) << 21);
    fputs("]}", t.out);
    text = report_text_take(&t);
    if (!snapshot_read_bytes(text, strlen(text), NULL, &s, &error))
        fail_msg("%s", error.text);
    free(text);
    return s;
}

enum form { TEXT, JSON, DIFF, DIFF_JSON, DIFF_OF_OTHER, FORMS };

/* One device, to compare with. */
static struct snapshot *other;

static bool report(enum form form, const struct snapshot *s, FILE *out,
                   struct tool_error *error)
{
    const struct report_options opt = {.all = true};
    const char *const names[2] = {"a", "b"};
    const struct snapshot *const runs[2] = {form == DIFF_OF_OTHER ? other : s,
                                            form == DIFF_OF_OTHER ? s : other};
    bool same;

    if (form == TEXT)
        return report_write_text(out, "run", s, &opt, error);
    if (form == JSON)
        return report_write_json(out, "run", s, &opt, error);
    return report_write_diff(out, names, runs, form == DIFF_JSON, &opt, &same,
                             error);
}

static void many_devices_are_told_and_more_are_refused(void **state)
{
    struct snapshot *most = with_devices(DEVICE_LIST_MAX);
    struct snapshot *more = with_devices(DEVICE_LIST_MAX + 1);

    (void)state;
    other = with_devices(1);
    for (int form = 0; form < FORMS; form++) {
        struct tool_error error = {.text = ""};
        struct report_text t;
        char *text;

        assert_true(report_text_begin(&t));
        assert_true(report((enum form)form, most, t.out, &error));
        assert_false(report((enum form)form, more, t.out, &error));
        assert_string_equal(error.text,
                            "more than 256 devices have events or segments");
        text = report_text_take(&t);
        assert_true(strstr(text, "device 255") != NULL ||
                    strstr(text, "\"device\":255") != NULL ||
                    strstr(text, "\"device\": 255") != NULL);
        assert_null(strstr(text, "device 256"));
        free(text);
    }
    snapshot_free(other);
    snapshot_free(most);
    snapshot_free(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_devices_are_told_and_more_are_refused),
    };

    return run_counted_tests(tests);
}
