/* recording.c - reads and writes the file of a script and its result under each
 * release of PyTorch (recording.h). */
#include "golden/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/read_text.h"

/* The line at *rest, which advances; NULL at the end. */
static char *next_line(char **rest)
{
    char *line = *rest;

    return *line == '\0' ? NULL : (strsep(rest, "\n"), line);
}

static void read_head(struct script *s, char *line)
{
    char *value = strchr(line, ':');

    if (line[0] == '#' || value == NULL)
        return;
    *value++ = '\0';
    value += *value == ' ';
    if (strcmp(line, "conf") == 0)
        s->conf = value;
    else if (strcmp(line, "capacity") == 0)
        s->capacity = strtoull(value, NULL, 10);
    else if (strcmp(line, "fraction") == 0)
        s->fraction = strtod(value, NULL);
    else if (strcmp(line, "events") == 0)
        s->is_manual = strcmp(value, "manual") == 0;
}

/* Terminate the text before the next line of versions, and return that line;
 * NULL: there is none. */
static char *next_versions(char *at)
{
    char *mark = strstr(at, "\n= ");

    if (mark == NULL)
        return NULL;
    mark[1] = '\0';
    return mark + 3;
}

static void read_groups(struct recording *r, char *rest)
{
    while (rest != NULL && r->group_count < RECORDING_GROUPS) {
        struct recording_group *g = &r->groups[r->group_count++];

        g->versions = strsep(&rest, "\n");
        g->lines = rest;
        if (rest != NULL)
            rest = next_versions(rest);
    }
}

bool recording_read(const char *path, struct recording *out,
                    struct tool_error *error)
{
    char *rest;
    char *line;

    *out = (struct recording){.script.fraction = 1};
    out->text = read_text(path);
    if (out->text == NULL) {
        tool_set_error(error, "%s: %s", path, strerror(errno));
        return false;
    }
    rest = out->text;
    while ((line = next_line(&rest)) != NULL && strcmp(line, "script:") != 0)
        read_head(&out->script, line);
    if (line != NULL) {
        out->script.lines = rest;
        read_groups(out, next_versions(rest));
    }
    if (out->group_count > 0 && out->script.conf != NULL &&
        out->script.capacity != 0)
        return true;
    recording_free(out);
    return tool_fail(error, "%s: not a recording", path);
}

void recording_free(struct recording *r)
{
    free(r->text);
    r->text = NULL;
}

/* ---- lines in no order ------------------------------------------------------ */

/* Whether a line is of the kind that begins so. */
static bool begins(const char *line, const char *kind)
{
    return strncmp(line, kind, strlen(kind)) == 0;
}

static const char *kind_of(const char *line)
{
    static const char *const kinds[] = {"d event_record ", "h 2 "};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (begins(line, kinds[i]))
            return kinds[i];
    }
    return NULL;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sort the lines of one kind that begin at `at`, whole; returns what follows
 * them. */
static char *settle_run(char *at, const char *kind)
{
    char *lines[RECORDING_RUN];
    size_t count = 0;
    char *copy;
    char *rest;
    char *end = at;

    while (begins(end, kind) && count < RECORDING_RUN) {
        count++;
        end += strcspn(end, "\n");
        end += *end == '\n';
    }
    copy = strndup(at, (size_t)(end - at));
    if (copy == NULL)
        return end;
    rest = copy;
    for (size_t i = 0; i < count; i++)
        lines[i] = strsep(&rest, "\n");
    qsort(lines, count, sizeof lines[0], compare_lines);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(lines[i]);

        memcpy(at, lines[i], length);
        at += length;
        if (at < end)
            *at++ = '\n';
    }
    free(copy);
    return end;
}

void recording_settle(char *lines)
{
    while (*lines != '\0') {
        const char *kind = kind_of(lines);

        if (kind != NULL) {
            lines = settle_run(lines, kind);
        } else {
            lines += strcspn(lines, "\n");
            lines += *lines == '\n';
        }
    }
}

/* ---- releases -------------------------------------------------------------- */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (; *words != '\0'; words += *words == ' ') {
        size_t n = strcspn(words, " ");

        if (n == length && memcmp(words, word, n) == 0)
            return true;
        words += n;
    }
    return false;
}

const char *recording_of(const struct recording *r, const char *version)
{
    for (int i = 0; i < r->group_count; i++) {
        if (has_word(r->groups[i].versions, version))
            return r->groups[i].lines;
    }
    return NULL;
}
