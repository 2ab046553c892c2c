/* frame_groups.c - groups lines by function, module or library. */
#include "report/frame_groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/frame_kind.h"
#include "report/summary_of_run.h"
#include "snapshot/plain_text.h"

const char *report_by_name(enum report_by by)
{
    static const char *const names[] = {
        [BY_LINE] = "line",
        [BY_FUNCTION] = "function",
        [BY_MODULE] = "module",
        [BY_LIBRARY] = "library",
    };

    return names[by];
}

/* ---- labels ------------------------------------------------------------- */

/* The last two components of the path of a file. */
static const char *last_parts(const char *path)
{
    const char *last = path;
    const char *before = path;

    for (; *path != '\0'; path++) {
        if (frame_separator(*path)) {
            before = last;
            last = path + 1;
        }
    }
    return before;
}

/* "transformers/models/llama.py" as a Python module name. */
static void dotted(const char *path, char buf[REPORT_FRAME])
{
    size_t n = (size_t)report_cut(path, REPORT_FRAME - 1);

    for (size_t i = 0; i < n; i++)
        buf[i] = frame_separator(path[i]) ? '.' : path[i];
    buf[n] = '\0';
    if (n > 3 && strcmp(buf + n - 3, ".py") == 0)
        buf[n - 3] = '\0';
    n = strlen(buf);
    if (n > 9 && strcmp(buf + n - 9, ".__init__") == 0)
        buf[n - 9] = '\0';
}

static void put_path(const char *path, char buf[REPORT_FRAME])
{
    snprintf(buf, REPORT_FRAME, "%.*s", report_cut(path, REPORT_FRAME - 1),
             path);
}

static void module_label(const struct snapshot *s, uint32_t frame, bool whole,
                         char buf[REPORT_FRAME])
{
    const char *file = snapshot_string(s, s->frames[frame].filename);
    unsigned cell;
    size_t length;
    const char *package = frame_package(file, &length);

    if (frame_is_cell(s, frame, &cell))
        snprintf(buf, REPORT_FRAME, "cell %u", cell);
    else if (package != NULL)
        dotted(package, buf);
    else if (frame_kind_of(s, frame) < FRAME_TORCH)
        snprintf(buf, REPORT_FRAME, "(no Python)");
    else
        put_path(whole ? file : last_parts(file), buf);
}

static void library_label(const struct snapshot *s, uint32_t frame,
                          char buf[REPORT_FRAME])
{
    static const char *const names[] = {
        [FRAME_PLUMBING] = "(no Python)",
        [FRAME_STANDARD] = "Python's own library",
        [FRAME_COMPILED] = "(no Python)",
        [FRAME_BACKWARD] = "torch (the backward pass)",
        [FRAME_TORCH] = "torch",
        [FRAME_OWN] = "the program itself",
    };
    enum frame_kind kind = frame_kind_of(s, frame);
    const char *name = names[kind];
    size_t length = REPORT_FRAME;

    if (kind == FRAME_PACKAGE)
        name = frame_package(frame_text(s, s->frames[frame].filename), &length);
    snprintf(buf, REPORT_FRAME, "%.*s", (int)length, name);
}

static void function_label(const struct snapshot *s, uint32_t frame, bool whole,
                           char buf[REPORT_FRAME])
{
    char module[REPORT_FRAME];
    const char *name = snapshot_string(s, s->frames[frame].name);

    if (frame_kind_of(s, frame) < FRAME_TORCH) {
        report_frame_in(s, frame, whole, buf);
        return;
    }
    module_label(s, frame, whole, module);
    snprintf(buf, REPORT_FRAME, "%.*s %.*s", report_cut(module, 300), module,
             report_cut(name, 150), name);
    plain_text(buf);
}

const char *report_by_label_in(const struct snapshot *s, uint32_t frame,
                               enum report_by by, bool whole,
                               char buf[REPORT_FRAME])
{
    if (frame == UINT32_MAX || by == BY_LINE)
        return report_frame_in(s, frame, whole, buf);
    if (by == BY_FUNCTION)
        function_label(s, frame, whole, buf);
    else if (by == BY_MODULE)
        module_label(s, frame, whole, buf);
    else
        library_label(s, frame, buf);
    plain_text(buf);
    return buf;
}

const char *report_group_label_in(const struct snapshot *s,
                                  const struct report_group *g,
                                  enum report_by by, bool whole,
                                  char buf[REPORT_FRAME])
{
    if (g->key != UINT32_MAX || g->older == 0)
        return report_by_label_in(s, g->key, by, whole, buf);
    return strcpy(buf, g->older == g->count
                           ? "older than the recording"
                           : "older than the recording, or no call path");
}

/* ---- groups ------------------------------------------------------------- */

/* A line with the label of its group. */
struct labelled {
    char label[REPORT_FRAME];
    struct report_group group;
};

static int compare_labels(const void *a, const void *b)
{
    const struct labelled *x = *(struct labelled *const *)a;
    const struct labelled *y = *(struct labelled *const *)b;
    int order = strcmp(x->label, y->label);

    return order != 0 ? order : report_groups_by_bytes(&x->group, &y->group);
}

static size_t frame_groups_gather(struct labelled **sorted, size_t count,
                                  struct report_group *out)
{
    size_t groups = 0;

    for (size_t i = 0; i < count; i++) {
        const struct report_group *g = &sorted[i]->group;

        if (i > 0 && strcmp(sorted[i]->label, sorted[i - 1]->label) == 0) {
            out[groups - 1].bytes += g->bytes;
            out[groups - 1].requested += g->requested;
            out[groups - 1].count += g->count;
            out[groups - 1].older += g->older;
        } else {
            out[groups++] = *g;
        }
    }
    return groups;
}

struct report_groups report_by_groups(struct arena *arena,
                                      const struct run_summary *r,
                                      enum report_by by)
{
    size_t count = r->lines.count;
    struct report_group *groups;
    const struct arena_piece *last;
    struct labelled *items;
    struct labelled **sorted;

    if (by == BY_LINE)
        return r->lines;
    groups = arena_take(arena, count, sizeof *groups);
    last = arena->last;
    items = arena_take(arena, count, sizeof *items);
    sorted = arena_take(arena, count, sizeof(struct labelled *));
    for (size_t i = 0; i < count; i++) {
        items[i].group = r->lines.items[i];
        report_by_label_in(r->lifetimes->snapshot, items[i].group.key, by, true,
                           items[i].label);
        sorted[i] = &items[i];
    }
    qsort(sorted, count, sizeof(struct labelled *), compare_labels);
    count = frame_groups_gather(sorted, count, groups);
    qsort(groups, count, sizeof *groups, report_groups_by_bytes);
    arena_free_since(arena, last);
    return (struct report_groups){groups, count};
}
