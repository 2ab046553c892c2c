/* record.c - what programs decided, compared with a file (record.h). */
#include "golden/record.h"

#include <stdbool.h>

#include "support/read_text.h"
#include "support/rig.h"

enum { SHOWN = 12 };

/* ---- files ----------------------------------------------------------------------- */

static void write_anew(const struct record *r, const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (unsigned i = 0; i < r->count; i++) {
        char *text = r->run(i, NULL);

        fputs(text, f);
        free(text);
    }
    assert_int_equal(fclose(f), 0);
}

/* ---- comparing --------------------------------------------------------------------- */

/* Splits off what is before the separator; NULL past the end. */
static char *part(char **text, char separator)
{
    char *begin = *text;
    char *end;

    if (*begin == '\0')
        return NULL;
    end = strchr(begin, separator);
    *text = end != NULL ? end + 1 : begin + strlen(begin);
    if (end != NULL)
        *end = '\0';
    return begin;
}

struct pair {
    const char *name;
    const char *value;
};

enum { PAIRS = 48 };

/* Of a line "  calls map 3 unmap 2". */
static size_t pairs_of(char *line, struct pair pairs[PAIRS])
{
    size_t count = 0;

    while (count < PAIRS && (pairs[count].name = part(&line, ' ')) != NULL) {
        pairs[count].value = part(&line, ' ');
        count += pairs[count].value != NULL;
    }
    return count;
}

static const char *value_of(const struct pair *pairs, size_t count,
                            const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    }
    return "0";
}

/* The figures of a line that differ, after its first word. */
static void print_differences(char *was, char *is)
{
    struct pair before[PAIRS], after[PAIRS];
    const char *what = part(&is, ' ');
    size_t old, new;

    (void)part(&was, ' ');
    old = pairs_of(was, before);
    new = pairs_of(is, after);
    print_error("    %s:", what);
    for (size_t i = 0; i < new; i++) {
        const char *value = value_of(before, old, after[i].name);

        if (strcmp(value, after[i].value) != 0)
            print_error(" %s %s, was %s;", after[i].name, after[i].value,
                        value);
    }
    for (size_t i = 0; i < old; i++) {
        if (strcmp(value_of(after, new, before[i].name), "0") == 0 &&
            strcmp(before[i].value, "0") != 0)
            print_error(" %s 0, was %s;", before[i].name, before[i].value);
    }
    print_error("\n");
}

/* Whether the program decided as it did; prints what changed.  Both texts are
 * used up. */
static bool is_same(char *was, char *is, bool is_shown)
{
    char *line_was, *line_is;

    if (strcmp(was, is) == 0)
        return true;
    if (!is_shown)
        return false;
    print_error("%s\n", line_is = part(&is, '\n'));
    line_was = part(&was, '\n');
    if (line_was == NULL || strcmp(line_was, line_is) != 0) {
        print_error("    is another program: %s\n",
                    line_was != NULL ? line_was : "none");
        return false;
    }
    while ((line_is = part(&is, '\n')) != NULL &&
           (line_was = part(&was, '\n')) != NULL) {
        if (strcmp(line_is, line_was) != 0)
            print_differences(line_was + 2, line_is + 2);
    }
    return false;
}

/* The lines of the next program; what follows them is left in *text. */
static char *next_program(char **text)
{
    char *begin = *text;
    char *end = strstr(begin, "\nprogram ");

    if (end == NULL) {
        *text = begin + strlen(begin);
        return strdup(begin);
    }
    *text = end + 1;
    return strndup(begin, (size_t)(*text - begin));
}

/* ---- the test ------------------------------------------------------------------------ */

static const struct record *tested;
static unsigned logged; /* program */

static void programs_do_as_recorded(void **state)
{
    const struct record *r = tested;
    const char *folder = getenv("LARDER_DECISIONS");
    char path[256];
    char *whole, *at;
    unsigned changed = 0;

    (void)state;
    if (folder != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, r->name);
        write_anew(r, path);
    }
    snprintf(path, sizeof path, "tests/data/golden/%s", r->name);
    whole = read_text(path);
    if (whole == NULL)
        fail_msg("%s cannot be read", path);
    at = whole;
    for (unsigned i = 0; i < r->count; i++) {
        char *was = next_program(&at);
        char *is = r->run(i, NULL);

        changed += !is_same(was, is, changed < SHOWN);
        free(is);
        free(was);
    }
    assert_string_equal(at, "");
    free(whole);
    if (changed > 0)
        fail_msg("%u of %u programs decide otherwise than recorded in %s: "
                 "docs/TESTING.md, A decision changed",
                 changed, r->count, path);
}

static void a_program_repeats_exactly(void **state)
{
    (void)state;
    for (unsigned i = 0; i < tested->count; i += 20) {
        char *first = tested->run(i, NULL);
        char *second = tested->run(i, NULL);

        assert_string_equal(first, second);
        free(first);
        free(second);
    }
}

static void log_program(void **state)
{
    (void)state;
    free(tested->run(logged, stdout));
}

int record_main(int argc, char **argv, const struct record *r)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_do_as_recorded),
        cmocka_unit_test(a_program_repeats_exactly),
    };
    const struct CMUnitTest log[] = {cmocka_unit_test(log_program)};

    unsetenv("LARDER_CONF");
    tested = r;
    if (argc != 3 || strcmp(argv[1], "--log") != 0)
        return cmocka_run_group_tests(tests, NULL, NULL);
    logged = (unsigned)strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests(log, NULL, NULL);
}
