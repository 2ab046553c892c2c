/* report_words.c - see report_words.h. */
#include "report/report_words.h"

#include "report/frame_kind.h"
#include "snapshot/plain_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

double report_percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

const char *report_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

const char *report_time_in(int64_t us, char buf[REPORT_WORD])
{
    if (us < 1000)
        snprintf(buf, REPORT_WORD, "%" PRId64 " µs", us);
    else if (us < 1000000)
        snprintf(buf, REPORT_WORD, "%.1f ms", (double)us / 1e3);
    else
        snprintf(buf, REPORT_WORD, "%.2f s", (double)us / 1e6);
    return buf;
}

int64_t report_elapsed(int64_t from, int64_t to)
{
    uint64_t apart = (uint64_t)to - (uint64_t)from;

    if (to < from)
        return -report_elapsed(to, from);
    return apart > INT64_MAX ? INT64_MAX : (int64_t)apart;
}

/* ---- frames ----------------------------------------------------------------- */

/* A helper of a package that makes this many calls is not what allocated. */
enum { HELPER_CALLS = 2 };

uint32_t report_own_frame(const struct snapshot *s, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);
    uint32_t best = UINT32_MAX;
    size_t helpers = 0;
    int max = -1;

    for (size_t i = 0; i < count && helpers <= HELPER_CALLS; i++) {
        int kind = (int)frame_kind_of(s, frames[i]);

        if (kind == FRAME_OWN)
            return frames[i];
        helpers += kind == FRAME_PACKAGE;
        if (kind > max) {
            max = kind;
            best = frames[i];
        }
    }
    return best;
}

int report_cut(const char *text, size_t max)
{
    size_t n = strnlen(text, max + 1);

    if (n <= max)
        return (int)n;
    n = max;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return (int)n;
}

/* The length of a C++ function's name without parameters, at most `max`: very
 * long names are not searched to the end. */
static size_t without_parameters(const char *name, size_t max)
{
    const char *end = name + strnlen(name, max);
    const char *at = name;

    while ((at = memchr(at, '(', (size_t)(end - at))) != NULL) {
        if (at > name && strncmp(at, "(anonymous", 10) != 0 &&
            strncmp(at, "()", 2) != 0)
            return (size_t)(at - name);
        at++;
    }
    return max;
}

/* The last part of a path; all of a text that is too long to be a path. */
static const char *after_folders(const struct snapshot *s, uint32_t string)
{
    const char *path = frame_text(s, string);
    const char *base = path;

    if (path[0] == '\0')
        return snapshot_string(s, string);
    for (; *path != '\0'; path++) {
        if (frame_separator(*path) && path[1] != '\0')
            base = path + 1;
    }
    return base;
}

/* "MmBackward0 of the backward pass" from "torch::…::MmBackward0::apply(…)". */
static void put_node(char buf[REPORT_FRAME], const char *name)
{
    const char *end = strstr(name, "::apply(");
    const char *begin = end;

    while (begin > name && begin[-1] != ':')
        begin--;
    snprintf(buf, REPORT_FRAME, "%.*s of the backward pass",
             report_cut(begin, end - begin < 60 ? (size_t)(end - begin) : 60),
             begin);
}

const char *report_frame_in(const struct snapshot *s, uint32_t frame,
                            bool whole, char buf[REPORT_FRAME])
{
    const char *file;
    const char *name;
    char line[REPORT_WORD] = "";
    char cell[REPORT_WORD];
    unsigned number;
    size_t max = whole ? 160 : 60;

    if (frame == UINT32_MAX)
        return strcpy(buf, "no call path");
    file = snapshot_string(s, s->frames[frame].filename);
    name = snapshot_string(s, s->frames[frame].name);
    if (frame_kind_of(s, frame) == FRAME_BACKWARD) {
        put_node(buf, name);
        plain_text(buf);
        return buf;
    }
    if (frame_is_cell(s, frame, &number)) {
        snprintf(cell, sizeof(cell), "cell %u", number);
        file = cell;
    } else if (!whole) {
        file = after_folders(s, s->frames[frame].filename);
    }
    if (name[0] == '\0')
        name = "(no name)";
    if (s->frames[frame].line != 0)
        snprintf(line, sizeof(line), ":%" PRIu32, s->frames[frame].line);
    /* A note is no function: it has no file. */
    if (!whole && file[0] != '\0')
        max = without_parameters(name, max);
    if (strcmp(file, "??") == 0 || file[0] == '\0')
        snprintf(buf, REPORT_FRAME, "%.*s", report_cut(name, max), name);
    else
        snprintf(buf, REPORT_FRAME, "%.*s%s %.*s", report_cut(file, 300), file,
                 line, report_cut(name, max), name);
    plain_text(buf);
    return buf;
}

const char *report_requester_in(const struct snapshot *s, uint32_t stack,
                                char buf[REPORT_REQUESTER])
{
    snprintf(buf, REPORT_REQUESTER,
             s->stacks_are_notes ? "at the mark \"%s\"" : "by %s",
             report_frame(s, report_own_frame(s, stack), false));
    return buf;
}

/* ---- text that grows ------------------------------------------------------------ */

bool report_text_begin(struct report_text *t)
{
    t->text = NULL;
    t->out = open_memstream(&t->text, &t->size);
    return t->out != NULL;
}

char *report_text_take(struct report_text *t)
{
    bool failed;

    if (t->out == NULL)
        return NULL;
    failed = ferror(t->out) != 0;
    failed = fclose(t->out) != 0 || failed;
    t->out = NULL;
    if (failed) {
        free(t->text);
        t->text = NULL;
    }
    return t->text;
}

static void end_text(void *text)
{
    struct report_text *t = text;

    if (t->out != NULL)
        (void)report_text_take(t);
    free(t->text);
}

struct report_text *report_text_open(struct arena *arena)
{
    struct report_text *t = arena_take_with(arena, sizeof *t, end_text);

    arena_need(arena, report_text_begin(t));
    return t;
}

const char *report_text_close(struct arena *arena, struct report_text *t)
{
    const char *text = report_text_take(t);

    arena_need(arena, text != NULL);
    return text;
}
