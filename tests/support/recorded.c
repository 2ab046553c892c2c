/* recorded.c - results that are kept as digests in a file of tests/data. */
#include "support/recorded.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/digest.h"
#include "support/read_text.h"

enum { LETTERS = 64, SHOWN = 5, PATH_BYTES = 256, LINE_BYTES = 256 };

struct recorded {
    char path[PATH_BYTES];
    char *old; /* the file */
    const char *old_at;
    FILE *now;
    char *text; /* of now */
    size_t size;
    FILE *whole; /* outputs in full, or NULL */
    char entry[LINE_BYTES];
    size_t different;
    bool entry_differs;
};

static FILE *open_whole(const char *name)
{
    const char *folder = getenv("LARDER_RECORDED");
    char path[PATH_BYTES];
    const char *last = strrchr(name, '/');
    FILE *out;

    if (folder == NULL)
        return NULL;
    snprintf(path, sizeof path, "%s/%s.whole", folder,
             last != NULL ? last + 1 : name);
    out = fopen(path, "w");
    assert(out != NULL);
    return out;
}

struct recorded *recorded_begin(const char *name)
{
    struct recorded *r = calloc(1, sizeof *r);

    assert(r != NULL);
    snprintf(r->path, sizeof r->path, LARDER_SOURCE_DIR "/tests/data/%s", name);
    r->old = read_text(r->path);
    if (r->old == NULL) /* not yet written */
        r->old = strdup("");
    assert(r->old != NULL);
    r->old_at = r->old;
    r->now = open_memstream(&r->text, &r->size);
    assert(r->now != NULL);
    r->whole = open_whole(name);
    return r;
}

/* ---- one line -------------------------------------------------------------- */

static void tell(struct recorded *r, const char *line, const char *old,
                 const char *more)
{
    if (r->entry_differs)
        return;
    r->entry_differs = true;
    if (r->different++ < SHOWN && r->whole == NULL)
        fprintf(stderr, "%s: '%s'\n  now  %s\n  was  %.*s\n%s", r->path,
                r->entry, line, (int)strcspn(old, "\n"), old, more);
}

/* Write a line, and compare it with the file's next one.  Returns that one, or
 * NULL if it is the same. */
static const char *put_line(struct recorded *r, const char *line)
{
    const char *old = r->old_at;
    size_t length = strlen(line);

    fprintf(r->now, "%s\n", line);
    r->old_at += strcspn(r->old_at, "\n");
    r->old_at += *r->old_at == '\n';
    return strncmp(old, line, length) == 0 && old[length] == '\n' ? NULL : old;
}

void recorded_entry(struct recorded *r, const char *format, ...)
{
    char line[LINE_BYTES + 3];
    const char *found;
    va_list args;

    va_start(args, format);
    vsnprintf(r->entry, sizeof r->entry, format, args);
    va_end(args);
    r->entry_differs = false;
    snprintf(line, sizeof line, "== %s", r->entry);
    /* An entry that has more or fewer lines than before does not confuse the
     * ones behind it. */
    found = strstr(r->old, line);
    if (found != NULL)
        r->old_at = found;
    found = put_line(r, line);
    if (found != NULL)
        tell(r, line, found, "");
    if (r->whole != NULL)
        fprintf(r->whole, "%s\n", line);
}

void recorded_words(struct recorded *r, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        char *line = strndup(text, length);
        const char *old;

        assert(line != NULL);
        old = put_line(r, line);
        if (old != NULL)
            tell(r, line, old, "");
        if (r->whole != NULL)
            fprintf(r->whole, "%s\n", line);
        free(line);
        text += length + (text[length] == '\n');
    }
}

/* ---- outputs --------------------------------------------------------------- */

static size_t line_length(const char *text)
{
    size_t length = strcspn(text, "\n");

    return length + (text[length] == '\n');
}

static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 0;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

/* A letter for each `step` lines. */
static void put_letters(char *out, const char *text, size_t lines, size_t step)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t i = 0;

    while (i < lines) {
        uint64_t digest = DIGEST_BEGIN;

        do {
            digest_bytes(&digest, text, line_length(text));
            text += line_length(text);
        } while (++i < lines && i % step != 0);
        *out++ = letters[(digest ^ digest >> 32) % (sizeof letters - 1)];
    }
    *out = '\0';
}

/* The lines that the first letter stands for that is not as it was. */
static char *lines_apart(const char *line, const char *old, const char *text,
                         size_t step)
{
    size_t name = strcspn(line, "|");
    size_t at = 0;
    size_t end;

    if (strncmp(line, old, strcspn(line, ":")) != 0 || old[name] != '|')
        return strdup("");
    while (line[name + 1 + at] != '\0' &&
           line[name + 1 + at] == old[name + 1 + at])
        at++;
    for (size_t i = 0; i < at * step; i++)
        text += line_length(text);
    end = 0;
    for (size_t i = 0; i < step; i++)
        end += line_length(text + end);
    return strndup(text, end);
}

static void put_output(struct recorded *r, const char *name, size_t name_length,
                       const char *text, size_t length)
{
    size_t lines = count_lines(text, length);
    size_t step = lines / LETTERS + 1;
    uint64_t digest = DIGEST_BEGIN;
    char line[LINE_BYTES];
    const char *old;
    int used;

    digest_bytes(&digest, text, length);
    used = snprintf(line, sizeof line - LETTERS,
                    "- %.*s: %zu lines %08" PRIx32 " |", (int)name_length, name,
                    lines, (uint32_t)digest);
    assert(used > 0 && (size_t)used < sizeof line - LETTERS - 1);
    put_letters(line + used, text, lines, step);
    old = put_line(r, line);
    if (old != NULL) {
        char *apart = lines_apart(line, old, text, step);

        tell(r, line, old, apart);
        free(apart);
    }
}

void recorded_outputs(struct recorded *r, const char *text)
{
    static const char sign[] = "==== ";

    if (r->whole != NULL)
        fputs(text, r->whole);
    while (*text != '\0') {
        const char *name = text + sizeof sign - 1;
        size_t name_length = strcspn(name, "\n");
        const char *begin = name + name_length + (name[name_length] == '\n');
        const char *end = begin;

        assert(strncmp(text, sign, sizeof sign - 1) == 0);
        while (*end != '\0' && strncmp(end, sign, sizeof sign - 1) != 0)
            end += line_length(end);
        put_output(r, name, name_length, begin, (size_t)(end - begin));
        text = end;
    }
}

/* ---- the end --------------------------------------------------------------- */

static void write_anew(const struct recorded *r)
{
    FILE *out = fopen(r->path, "w");

    assert(out != NULL);
    fputs(r->text, out);
    fclose(out);
}

size_t recorded_end(struct recorded *r)
{
    size_t different;

    fclose(r->now);
    if (r->whole != NULL) {
        fclose(r->whole);
        write_anew(r);
        r->different = 0;
    } else if (r->different == 0 && *r->old_at != '\0') {
        tell(r, "the end", r->old_at, "");
    }
    different = r->different;
    free(r->old);
    free(r->text);
    free(r);
    return different;
}
