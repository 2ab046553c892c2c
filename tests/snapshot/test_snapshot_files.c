/* test_snapshot_files.c - every available snapshot, ours and, if present, real
 * ones: we read everything that Python's own modules find in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/snapshot.h"
#include "snapshot/snapshot_totals.h"
#include "support/read_file.h"

static const char *const patterns[] = {
    "tests/data/snapshots/*.pickle",
    "tests/data/snapshots/*.json",
    "tests/data/releases/*.pickle",
    "../shared/snapshots/*.pickle",
};

/* Keys that are kept unchanged: those about pinned memory. */
static bool is_kept(const char *key)
{
    return strcmp(key, "host_segments") == 0 ||
           strcmp(key, "host_traces") == 0 ||
           strcmp(key, "max_round_threshold") == 0 ||
           strcmp(key, "max_cached_size") == 0;
}

static void check_keys(const struct snapshot *s)
{
    for (size_t i = 0; i < s->unknown_key_count; i++) {
        const char *key = snapshot_string(s, s->unknown_keys[i].name);

        if (!is_kept(key))
            fail_msg("the key %s is not known", key);
    }
}

static char *ours(const char *path)
{
    static struct tool_error error;
    struct snapshot *s;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    if (!snapshot_read(path, NULL, &s, &error))
        fail_msg("%s", error.text);
    snapshot_totals(s, out);
    check_keys(s);
    assert_int_equal(s->clamped_count, 0);
    assert_int_equal(fclose(out), 0);
    snapshot_free(s);
    return text;
}

static char *pythons(const char *path)
{
    char command[4096];
    char *text = calloc(1, 1 << 20);
    FILE *in;

    assert_non_null(text);
    snprintf(command, sizeof command,
             "python3 tests/snapshot/snapshot_totals.py '%s'", path);
    in = popen(command, "r");
    assert_non_null(in);
    fread(text, 1, (1 << 20) - 1, in);
    assert_int_equal(pclose(in), 0);
    return text;
}

static void compare(const char *path)
{
    char *x = ours(path);
    char *y = pythons(path);

    if (strcmp(x, y) != 0)
        fail_msg("%s: ours:\n%sPython's:\n%s", path, x, y);
    free(x);
    free(y);
}

static void totals_are_those_of_python(void **state)
{
    size_t files = 0;

    (void)state;
    if (system("python3 -c pass >/dev/null 2>&1") != 0)
        skip();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t g;

        if (glob(patterns[i], 0, NULL, &g) != 0)
            continue;
        for (size_t k = 0; k < g.gl_pathc; k++)
            compare(g.gl_pathv[k]);
        files += g.gl_pathc;
        globfree(&g);
    }
    print_message("%zu files\n", files);
    assert_true(files >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_those_of_python),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
