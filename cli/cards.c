#include "cards.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "own_folder.h"

#define MIB_LOG2 20

/* In the source tree, and below an install prefix. */
static FILE *open_table(char path[PATH_MAX])
{
    static const char *const places[] = {"../data", "../share/larder"};
    char folder[PATH_MAX / 2];
    char own[PATH_MAX];
    FILE *f = NULL;

    if (!cli_own_folder(own) || strlen(own) >= sizeof folder)
        return NULL;
    strcpy(folder, own);
    for (size_t i = 0; f == NULL && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, PATH_MAX, "%s/%s/cards/cards.tsv", folder, places[i]);
        f = fopen(path, "re");
    }
    return f;
}

static bool read_mib(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || *out > UINT32_MAX)
        return false;
    *out <<= MIB_LOG2;
    return true;
}

/* The line's fields, which it loses its tabs for. */
static bool read_card(char *line, struct card *out)
{
    const char *fields[4];
    char *rest = line;

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        fields[i] = strsep(&rest, "\t");
        if (fields[i] == NULL)
            return false;
    }
    snprintf(out->id, sizeof out->id, "%s", fields[0]);
    snprintf(out->name, sizeof out->name, "%s", fields[1]);
    return read_mib(fields[2], &out->total_bytes) &&
           read_mib(fields[3], &out->context_bytes) &&
           out->context_bytes < out->total_bytes;
}

/* Comments, and what NCCL takes for groups of processes, are no cards. */
static bool is_card(const char *line)
{
    return line[0] != '#' && line[0] != '\n' && strncmp(line, "nccl\t", 5) != 0;
}

static bool read_lines(FILE *f, const char *path, struct cards *out,
                       struct tool_error *error)
{
    unsigned number = 0;
    char line[1024];

    while (fgets(line, sizeof line, f) != NULL) {
        number++;
        if (!is_card(line))
            continue;
        if (out->count == CARDS_MAX ||
            !read_card(line, &out->items[out->count++]))
            return tool_fail(error,
                             "%s:%u: expected a card: id, name, memory and "
                             "context in MiB, with tabs between them",
                             path, number);
    }
    return true;
}

bool cards_read(struct cards *out, struct tool_error *error)
{
    char path[PATH_MAX];
    FILE *f = open_table(path);
    bool ok;

    out->count = 0;
    if (f == NULL)
        return tool_fail(error, "the table of cards is not near the command");
    ok = read_lines(f, path, out, error);
    fclose(f);
    return ok;
}

/* Lower case, dashes for blanks. */
static void normalize(const char *name, char out[CARD_ID_MAX])
{
    size_t length = 0;

    for (; *name != '\0' && length + 1 < CARD_ID_MAX; name++)
        out[length++] = *name == ' ' || *name == '_'
                            ? '-'
                            : (char)tolower((unsigned char)*name);
    out[length] = '\0';
}

static bool is_named(const struct card *c, const char *id)
{
    return strcmp(c->id, id) == 0 ||
           (strncmp(c->id, "rtx", 3) == 0 && strcmp(c->id + 3, id) == 0);
}

const struct card *cards_find(const struct cards *all, const char *name,
                              struct tool_error *error)
{
    const char *names[CARDS_MAX + 1];
    char known[CARDS_MAX * (CARD_ID_MAX + 2)] = "";
    char id[CARD_ID_MAX];
    const char *nearest;

    normalize(name, id);
    for (size_t i = 0; i < all->count; i++) {
        if (is_named(&all->items[i], id))
            return &all->items[i];
        names[i] = all->items[i].id;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                 i > 0 ? ", " : "", names[i]);
    }
    names[all->count] = NULL;
    nearest = cli_nearest(id, names);
    tool_set_error(error,
                   "'%s' is not in the table of cards; %s%s%sexpected "
                   "one of %s",
                   name, nearest != NULL ? "did you mean " : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "? " : "",
                   known);
    return NULL;
}
