/* release_diff.c - compares a trace or snapshot under two releases of
 * PyTorch. */
#include "release_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_memory.h"
#include "replay/replay.h"
#include "snapshot/units.h"

enum { SIDES = 2, RELEASES_MAX = 64 };

/* One replay. */
struct side {
    struct replay_job job;
    char *placements;
};

struct comparison {
    struct side sides[SIDES];
    size_t differing;  /* number of placements that differ */
    size_t count;      /* total number */
    char first[2][64]; /* the first that differ: "p ID OFFSET" */
};

/* ---- replaying ---------------------------------------------------------- */

static bool side_run(struct side *side, const char *path, const char *release,
                     const struct release_diff_options *options,
                     bool with_capacity, struct tool_error *error)
{
    struct replay_options replay = {.release = release,
                                    .conf = options->conf,
                                    .min_capacity = with_capacity};
    size_t ignored;

    memset(side, 0, sizeof *side);
    side->job.path = path;
    replay.placements = open_memstream(&side->placements, &ignored);
    if (replay.placements == NULL)
        return tool_fail(error, "out of host memory");
    replay_run_jobs(&side->job, 1, 1, &replay, NULL, NULL);
    fclose(replay.placements);
    if (!side->job.ok)
        *error = side->job.error;
    return side->job.ok;
}

static void side_free(struct side *side)
{
    if (side->job.ok)
        replay_result_free(&side->job.result);
    free(side->placements);
    memset(side, 0, sizeof *side);
}

static void keep_line(char out[64], const char *line)
{
    snprintf(out, 64, "%.*s", (int)strcspn(line, "\n"), line);
}

static void compare_placements(struct comparison *c)
{
    const char *a = c->sides[0].placements;
    const char *b = c->sides[1].placements;

    while (*a != '\0' && *b != '\0') {
        size_t m = strcspn(a, "\n");
        size_t n = strcspn(b, "\n");

        if ((m != n || memcmp(a, b, m) != 0) && c->differing++ == 0) {
            keep_line(c->first[0], a);
            keep_line(c->first[1], b);
        }
        c->count++;
        a += m + (a[m] != '\0');
        b += n + (b[n] != '\0');
    }
}

static const struct replay_result *result(const struct comparison *c, int side)
{
    return &c->sides[side].job.result;
}

static bool release_diff_is_same(const struct comparison *c)
{
    return c->differing == 0 &&
           result(c, 0)->oom_count == result(c, 1)->oom_count;
}

/* ---- rules -------------------------------------------------------------- */

static size_t release_index(const char *version)
{
    const char *name;
    size_t i = 0;

    while ((name = larder_pytorch_release(i)) != NULL &&
           strcmp(name, version) != 0)
        i++;
    return i;
}

/* The setting's parser checks the version, which begins with its release. */
const char *release_diff_find(const char *version)
{
    const char *found = NULL;
    const char *name;
    char conf[128];

    snprintf(conf, sizeof conf, "pytorch:%s", version);
    if (strpbrk(version, ",: ") != NULL || strlen(conf) + 1 == sizeof conf ||
        larder_conf_check(conf) != LARDER_OK)
        return NULL;
    for (size_t i = 0; (name = larder_pytorch_release(i)) != NULL; i++) {
        size_t length = strlen(name);

        if (strncmp(version, name, length) == 0 &&
            (version[length] < '0' || version[length] > '9'))
            found = name;
    }
    return found;
}

/* Releases, by number, at which this program's placements change. */
struct steps {
    size_t releases[RELEASES_MAX];
    size_t count;
};

/* Those after the older of the two. */
static bool find_steps(const char *path,
                       const struct release_diff_options *options,
                       struct steps *out, struct tool_error *error)
{
    size_t from = release_index(options->from);
    size_t to = release_index(options->to);
    size_t low = from < to ? from : to;
    size_t high = from < to ? to : from;
    struct side before;
    bool ok = side_run(&before, path, larder_pytorch_release(low), options,
                       false, error);

    out->count = 0;
    for (size_t i = low + 1; ok && i <= high; i++) {
        struct side now;

        ok = side_run(&now, path, larder_pytorch_release(i), options, false,
                      error);
        if (ok && strcmp(before.placements, now.placements) != 0)
            out->releases[out->count++] = i;
        side_free(&before);
        before = now;
    }
    side_free(&before);
    return ok;
}

/* ---- text --------------------------------------------------------------- */

static void print_step(size_t release)
{
    const char *words;
    const char *restored;

    printf("\nfrom %s on this program's memory lies elsewhere; that release "
           "changed:\n",
           larder_pytorch_release(release));
    for (size_t i = 0;
         larder_pytorch_change(release, i, &words, &restored) == LARDER_OK;
         i++) {
        printf("  %s\n", words);
        if (restored[0] != '\0')
            printf("    as before with %s\n", restored);
    }
}

static void print_row(const char *name, const char *a, const char *b)
{
    printf("%-18s %12s %12s\n", name, a, b);
}

static void print_figures(const struct comparison *c,
                          const struct release_diff_options *options)
{
    const struct replay_result *a = result(c, 0);
    const struct replay_result *b = result(c, 1);

    print_row("", options->from, options->to);
    print_row("peak allocated", units_bytes(a->peak_allocated_bytes),
              units_bytes(b->peak_allocated_bytes));
    print_row("peak reserved", units_bytes(a->peak_reserved_bytes),
              units_bytes(b->peak_reserved_bytes));
    print_row("smallest device", units_bytes(a->min_capacity_bytes),
              units_bytes(b->min_capacity_bytes));
    print_row("failed", units_count(a->oom_count), units_count(b->oom_count));
    if (c->differing == 0)
        printf("\nall %zu placements are the same\n", c->count);
    else
        printf("\n%zu of %zu placements differ, first '%s' and '%s'\n",
               c->differing, c->count, c->first[0], c->first[1]);
}

/* ---- JSON --------------------------------------------------------------- */

static json_t *step_json(size_t release)
{
    json_t *rules = json_array();
    const char *words;
    const char *restored;

    for (size_t i = 0;
         larder_pytorch_change(release, i, &words, &restored) == LARDER_OK; i++)
        json_array_append_new(rules, json_pack("{s:s, s:s}", "rule", words,
                                               "restored_by", restored));
    return json_pack("{s:s, s:o}", "release", larder_pytorch_release(release),
                     "rules", rules);
}

static json_t *both(uint64_t a, uint64_t b)
{
    return json_pack("[I, I]", json_whole(a), json_whole(b));
}

static bool print_json(const char *path, const struct comparison *c,
                       const struct release_diff_options *options,
                       const struct steps *steps, struct tool_error *error)
{
    const struct replay_result *a = result(c, 0);
    const struct replay_result *b = result(c, 1);
    json_t *changes;

    json_memory_watch();
    changes = json_array();
    for (size_t i = 0; i < steps->count; i++)
        json_array_append_new(changes, step_json(steps->releases[i]));
    return json_memory_write(
        json_pack("{s:o, s:s, s:s, s:b, s:I, s:I, s:s, s:s, s:o, s:o, s:o, "
                  "s:o, s:o}",
                  "file", utf8_json(path), "from", options->from, "to",
                  options->to, "same", (int)release_diff_is_same(c),
                  "placements", json_whole(c->count), "differing",
                  json_whole(c->differing), "first_from", c->first[0],
                  "first_to", c->first[1], "peak_allocated_bytes",
                  both(a->peak_allocated_bytes, b->peak_allocated_bytes),
                  "peak_reserved_bytes",
                  both(a->peak_reserved_bytes, b->peak_reserved_bytes),
                  "min_capacity_bytes",
                  both(a->min_capacity_bytes, b->min_capacity_bytes),
                  "oom_count", both(a->oom_count, b->oom_count), "changes",
                  changes),
        stdout, "the comparison", error);
}

/* ---- the whole comparison ----------------------------------------------- */

static bool write_all(const char *path, struct comparison *c,
                      const struct release_diff_options *options,
                      struct tool_error *error)
{
    struct steps steps;

    if (!side_run(&c->sides[0], path, options->from, options, true, error) ||
        !side_run(&c->sides[1], path, options->to, options, true, error))
        return false;
    compare_placements(c);
    if (!options->json)
        print_figures(c, options);
    if (!find_steps(path, options, &steps, error))
        return false;
    if (options->json)
        return print_json(path, c, options, &steps, error);
    for (size_t i = 0; i < steps.count; i++)
        print_step(steps.releases[i]);
    return true;
}

bool release_diff_write(const char *path,
                        const struct release_diff_options *options, bool *same,
                        struct tool_error *error)
{
    struct comparison c;
    bool ok;

    memset(&c, 0, sizeof c);
    ok = write_all(path, &c, options, error);
    if (ok)
        *same = release_diff_is_same(&c);
    side_free(&c.sides[0]);
    side_free(&c.sides[1]);
    return ok;
}
