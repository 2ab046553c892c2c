/* test_versions.c - runs scripts under the rules of each release of PyTorch and
 * compares every placement and statistic with those of that release's own
 * allocator.  Then replaces each rule by the previous release's, and checks
 * that some recording detects it.
 *
 *   test_versions [FOLDER]
 *   test_versions --table
 *   test_versions --show FILE VERSION
 *
 * FOLDER/NAME.recording are in the format of recording.h; without an argument,
 * those of the source tree.  With a FOLDER only the comparison runs.  Prints
 * the first difference of each release that has one; exits with 0 if none has.
 * --show prints what we make of one recording.  --table prints the table of rules in docs/FIDELITY.md, with the recordings
 * that prove each rule. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "golden/recording.h"

enum { RECORDINGS_MAX = 4096, PATH_MAX_BYTES = 4096 };

static struct all {
    struct recording recordings[RECORDINGS_MAX];
    char *names[RECORDINGS_MAX];
    int count;
} all;

/* ---- comparing ------------------------------------------------------------- */

/* The output of the script under the rules; NULL: it could not be run. */
static char *run(const struct recording *r, const struct pytorch_rules *rules,
                 struct tool_error *why)
{
    char *text = NULL;
    size_t ignored;
    FILE *out = open_memstream(&text, &ignored);
    bool ok = out != NULL && script_run(&r->script, rules, out, why);

    if (out == NULL)
        return NULL;
    fclose(out);
    if (ok) {
        recording_settle(text);
        return text;
    }
    free(text);
    return NULL;
}

/* Reports the first words in which two texts differ. */
static void tell_difference(const char *want, const char *got,
                            struct tool_error *why)
{
    size_t word = 0;
    int line = 1;

    for (size_t i = 0; want[i] == got[i] && want[i] != '\0'; i++) {
        if (want[i] == ' ' || want[i] == '\n')
            word = i + 1;
        line += want[i] == '\n';
    }
    tool_set_error(why, "line %d: want \"%.*s\", got \"%.*s\"", line,
                   (int)strcspn(want + word, "\n "), want + word,
                   (int)strcspn(got + word, "\n "), got + word);
}

static bool is_same(const struct recording *r,
                    const struct pytorch_rules *rules, const char *want,
                    struct tool_error *why)
{
    char *got = run(r, rules, why);
    bool same = got != NULL && strcmp(got, want) == 0;

    if (got != NULL && !same)
        tell_difference(want, got, why);
    free(got);
    return same;
}

static void compare_all(int *same, int *count)
{
    for (int i = 0; i < all.count; i++) {
        const struct pytorch_rules *rules = larder__pytorch_releases;

        for (; rules->version != NULL; rules++) {
            const char *want = recording_of(&all.recordings[i], rules->version);
            struct tool_error why = {0};

            if (want == NULL)
                continue;
            ++*count;
            if (is_same(&all.recordings[i], rules, want, &why))
                ++*same;
            else
                printf("%s under %s: %s\n", all.names[i], rules->version,
                       why.text);
        }
    }
}

/* ---- planted differences ---------------------------------------------------- */

/* Whether some recording of the release detects the rules. */
static bool is_noticed(const struct pytorch_rules *planted)
{
    for (int i = 0; i < all.count; i++) {
        const char *want = recording_of(&all.recordings[i], planted->version);
        struct tool_error ignored;

        if (want != NULL &&
            !is_same(&all.recordings[i], planted, want, &ignored))
            return true;
    }
    return false;
}

/* Replace each rule in which a release differs from the previous one. */
static bool plant_all(int *planted)
{
    bool ok = true;

    for (const struct pytorch_rules *r = larder__pytorch_releases + 1;
         r->version != NULL; r++) {
#define X(type, field, words, restored)                                        \
    if (r->field != r[-1].field) {                                             \
        struct pytorch_rules changed = *r;                                     \
                                                                               \
        changed.field = r[-1].field;                                           \
        ++*planted;                                                            \
        if (!is_noticed(&changed)) {                                           \
            printf("nobody notices the " #field " of %s in %s\n",              \
                   r[-1].version, r->version);                                 \
            ok = false;                                                        \
        }                                                                      \
    }
        PYTORCH_RULE_MAP(X)
#undef X
    }
    return ok;
}

/* ---- the table ------------------------------------------------------------ */

static const char *const order_words[] = {
    "the lowest address", "the oldest block, where a split makes a new one",
    "the oldest segment, then the lowest address"};
static const char *const lending_words[] = {"never", "after everything else",
                                            "before anything is released"};
static const char *const bool_words[] = {"no", "yes"};

/* clang-format off */
#define WORDS(value)                                                           \
    (_Generic((value),                                                         \
              enum pytorch_order: order_words,                                 \
              enum pytorch_lending: lending_words,                             \
              bool: bool_words)[value])
/* clang-format on */

/* The recordings that detect the rules. */
static void print_noticing(const struct pytorch_rules *planted)
{
    const char *before = "";

    for (int i = 0; i < all.count; i++) {
        const char *want = recording_of(&all.recordings[i], planted->version);
        struct tool_error ignored;

        if (want == NULL ||
            is_same(&all.recordings[i], planted, want, &ignored))
            continue;
        printf("%s%.*s", before, (int)strcspn(all.names[i], "."), all.names[i]);
        before = ", ";
    }
}

static void print_table(void)
{
    printf("| rule | until | from | proven by |\n|---|---|---|---|\n");
#define X(type, field, words, restored)                                        \
    for (const struct pytorch_rules *r = larder__pytorch_releases + 1;         \
         r->version != NULL; r++) {                                            \
        struct pytorch_rules changed = *r;                                     \
                                                                               \
        changed.field = r[-1].field;                                           \
        if (r->field == changed.field)                                         \
            continue;                                                          \
        printf("| " words " | %s: %s | %s: %s | ", r[-1].version,              \
               WORDS(changed.field), r->version, WORDS(r->field));             \
        print_noticing(&changed);                                              \
        printf(" |\n");                                                        \
    }
    PYTORCH_RULE_MAP(X)
#undef X
}

/* ---- one recording ---------------------------------------------------------- */

/* Prints what the rules of one release make of one file. */
static int show(const char *path, const char *version)
{
    const struct pytorch_rules *rules = larder__pytorch_rules(version);
    struct recording r;
    struct tool_error why;
    char *got = NULL;

    if (rules == NULL || !recording_read(path, &r, &why)) {
        fprintf(stderr, "%s\n", rules == NULL ? version : why.text);
        return 2;
    }
    got = run(&r, rules, &why);
    printf("%s", got != NULL ? got : why.text);
    recording_free(&r);
    free(got);
    return got == NULL;
}

/* ---- the whole comparison --------------------------------------------------- */

static int is_recording(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot != NULL && strcmp(dot, ".recording") == 0;
}

static bool read_all(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_recording, alphasort);
    bool ok = count > 0 && count <= RECORDINGS_MAX;

    for (int i = 0; i < count; i++) {
        char path[PATH_MAX_BYTES];
        struct tool_error why;

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (ok && recording_read(path, &all.recordings[i], &why)) {
            all.names[all.count++] = strdup(entries[i]->d_name);
        } else if (ok) {
            printf("%s\n", why.text);
            ok = false;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return ok;
}

int main(int argc, char **argv)
{
    int same = 0;
    int count = 0;
    int planted = 0;
    bool is_table = argc > 1 && strcmp(argv[1], "--table") == 0;

    if (argc == 4 && strcmp(argv[1], "--show") == 0)
        return show(argv[2], argv[3]);

    bool ok = read_all(argc > 1 && !is_table ? argv[1]
                                             : LARDER_SOURCE_DIR
                           "/tests/data/pytorch");

    if (is_table) {
        print_table();
        return ok ? 0 : 1;
    }

    compare_all(&same, &count);
    printf("%d of %d recordings identical\n", same, count);
    if (argc <= 1)
        ok = plant_all(&planted) && ok;
    if (argc <= 1)
        printf("%d rules put back\n", planted);
    for (int i = 0; i < all.count; i++) {
        recording_free(&all.recordings[i]);
        free(all.names[i]);
    }
    return ok && same == count && count > 0 ? 0 : 1;
}
