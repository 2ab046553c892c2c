/* test_snapshot_rewrite.c - a written snapshot is read back as the same by us,
 * by Python and by PyTorch's own viewer, and uses only opcodes that viewers
 * know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glob.h>
#include <unistd.h>

#include <cmocka.h>

#include "snapshot/snapshot.h"
#include "support/snapshot_bytes.h"
#include "snapshot/snapshot_totals.h"
#include "snapshot/snapshot_write.h"
#include "support/read_file.h"

static struct tool_error error;

struct text {
    char *at;
    size_t count;
};

typedef bool writer(const struct snapshot *s, FILE *out, struct tool_error *e);

static struct text written(const struct snapshot *s, writer *write_it)
{
    struct text t = {NULL, 0};
    FILE *out = open_memstream(&t.at, &t.count);

    assert_non_null(out);
    if (!write_it(s, out, &error))
        fail_msg("%s", error.text);
    assert_int_equal(fclose(out), 0);
    return t;
}

static bool totals_writer(const struct snapshot *s, FILE *out,
                          struct tool_error *e)
{
    (void)e;
    snapshot_totals(s, out);
    return true;
}

static struct snapshot *read_back(struct text t)
{
    struct snapshot *s;

    if (!snapshot_read_bytes(t.at, t.count, NULL, &s, &error))
        fail_msg("%s", error.text);
    return s;
}

static void must_be_same(struct text x, struct text y)
{
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.at, y.at, x.count);
}

/* The same totals, and the same bytes when written again. */
static void round_trip(const struct snapshot *s, writer *write_it)
{
    struct text first = written(s, snapshot_write_pickle);
    struct text sums = written(s, totals_writer);
    struct text form = written(s, write_it);
    struct snapshot *again = read_back(form);
    struct text second = written(again, snapshot_write_pickle);
    struct text again_sums = written(again, totals_writer);

    must_be_same(sums, again_sums);
    must_be_same(first, second);
    snapshot_free(again);
    free(first.at);
    free(sums.at);
    free(form.at);
    free(second.at);
    free(again_sums.at);
}

static void round_trips(const struct snapshot *s)
{
    round_trip(s, snapshot_write_pickle);
    round_trip(s, snapshot_write_json);
}

/* ---- files ---------------------------------------------------------------- */

static size_t each_file(const char *pattern, void (*visit)(const char *path))
{
    glob_t g;
    size_t count;

    if (glob(pattern, 0, NULL, &g) != 0)
        return 0;
    for (size_t i = 0; i < g.gl_pathc; i++)
        visit(g.gl_pathv[i]);
    count = g.gl_pathc;
    globfree(&g);
    return count;
}

static struct snapshot *read_path(const char *path)
{
    struct snapshot *s;

    if (!snapshot_read(path, NULL, &s, &error))
        fail_msg("%s", error.text);
    return s;
}

static void file_round_trips(const char *path)
{
    struct snapshot *s = read_path(path);

    round_trips(s);
    snapshot_free(s);
}

static void files_come_back_the_same(void **state)
{
    (void)state;
    assert_true(each_file("tests/data/snapshots/*", file_round_trips) >= 10);
    assert_true(each_file("tests/data/releases/*", file_round_trips) >= 12);
    /* JSON of the large ones takes long. */
    each_file("../shared/snapshots/tiny.pickle", file_round_trips);
    each_file("../shared/snapshots/oldest_schema.pickle", file_round_trips);
    each_file("../shared/snapshots/five_events.pickle", file_round_trips);
}

/* Values that occur in none of the files. */
static void rare_values_come_back_the_same(void **state)
{
    static const char json[] =
        "{\"segments\":[{\"address\":18446744073709551615,\"total_size\":"
        "9223372036854775808,\"stream\":-1,\"segment_pool_id\":[3,"
        "4294967296],\"registration_counter\":7,\"blocks\":[{\"size\":255,"
        "\"state\":\"active_awaiting_free\",\"user_metadata\":\"a\\u0001\\\"\\"
        "\\\\ud800\"},{\"size\":32768,\"state\":\"inactive\"}]}],"
        "\"device_traces\":[[],[{\"action\":\"moved\",\"addr\":65535,\"size\":"
        "65536,\"time_us\":-2147483649,\"frames\":[{\"filename\":\"f\","
        "\"name\":\"g\",\"line\":2147483648,\"fx_node_op\":\"call\"}]},"
        "{\"action\":\"oom\",\"device_free\":2147483647,\"time_us\":-1,"
        "\"size\":128,\"frames\":[]}]],\"allocator_settings\":{"
        "\"garbage_collection_threshold\":0.1,\"max_split_size\":-1}}";
    struct snapshot *s = read_back((struct text){(char *)json, strlen(json)});
    struct text text;

    (void)state;
    assert_int_equal(s->unknown_key_count, 0);
    assert_int_equal(s->event_count, 2);
    round_trips(s);
    text = written(s, snapshot_write_json);
    /* A lone surrogate, which UTF-8 does not allow. */
    assert_non_null(strstr(text.at, "\\ud800"));
    assert_null(strstr(text.at, "requested_size"));
    free(text.at);
    snapshot_free(s);
}

/* ---- Python --------------------------------------------------------------- */

static char *name_in(const char *folder, const char *path, const char *ending)
{
    static char name[4096];
    const char *base = strrchr(path, '/') + 1;

    snprintf(name, sizeof name, "%s/%s%s", folder, base, ending);
    return name;
}

static char folder[] = "/tmp/larder-write-XXXXXX";

static void write_into_folder(const char *path)
{
    struct snapshot *s = read_path(path);
    FILE *out = fopen(name_in(folder, path, ".ours"), "wb");

    assert_non_null(out);
    assert_true(snapshot_write_pickle(s, out, &error));
    assert_int_equal(fclose(out), 0);
    out = fopen(name_in(folder, path, ".segments"), "wb");
    assert_non_null(out);
    assert_true(snapshot_write_segments(s, out, &error));
    assert_int_equal(fclose(out), 0);
    out = fopen(name_in(folder, path, ".ours.json"), "wb");
    assert_non_null(out);
    assert_true(snapshot_write_json(s, out, &error));
    assert_int_equal(fclose(out), 0);
    snapshot_free(s);
}

static void python_and_its_viewer_open_them(void **state)
{
    char command[4096];
    int status;

    (void)state;
    if (system("python3 -c pass >/dev/null 2>&1") != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    each_file("tests/data/snapshots/*", write_into_folder);
    snprintf(command, sizeof command,
             "python3 tests/snapshot/snapshot_opened.py tests/data/snapshots "
             "%s",
             folder);
    status = system(command);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(status, 0);
}

static void a_full_disk_is_an_error(void **state)
{
    struct snapshot *s = read_path("tests/data/snapshots/v2.13.pickle");
    FILE *out = fopen("/dev/full", "wb");

    (void)state;
    if (out == NULL)
        skip();
    assert_false(snapshot_write_pickle(s, out, &error));
    assert_non_null(strstr(error.text, "cannot be written: No space"));
    fclose(out);
    snapshot_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back_the_same),
        cmocka_unit_test(rare_values_come_back_the_same),
        cmocka_unit_test(python_and_its_viewer_open_them),
        cmocka_unit_test(a_full_disk_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
