/* call_tree.c - the callers of held memory as a tree, from the outermost frame
 * inwards. */
#include "report/call_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/frame_groups.h"
#include "report/frame_kind.h"
#include "report/report_words.h"

enum { DEPTH_MAX = 64 };

static uint32_t add_node(struct call_tree *t, uint32_t frame)
{
    ARENA_ROOM(t->arena, t->nodes, t->capacity, t->count + 1);
    t->nodes[t->count] = (struct call_node){.frame = frame};
    return (uint32_t)t->count++;
}

/* The node below `parent` for a frame, created if necessary. */
static uint32_t below(struct call_tree *t, uint32_t parent, uint32_t frame)
{
    uint32_t node = t->nodes[parent].child;

    while (node != 0 && t->nodes[node].frame != frame)
        node = t->nodes[node].next;
    if (node != 0)
        return node;
    node = add_node(t, frame);
    t->nodes[node].next = t->nodes[parent].child;
    t->nodes[parent].child = node;
    return node;
}

static void count_in(struct call_node *node, const struct report_group *path)
{
    node->bytes += path->bytes;
    node->count += path->count;
    node->older += path->older;
}

static void add_path(struct call_tree *t, const struct snapshot *s,
                     const struct report_group *path)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, path->key, &count);
    uint32_t node = 0;

    count_in(&t->nodes[0], path);
    for (size_t i = count; i-- > 0;) {
        if (frame_kind_of(s, frames[i]) < FRAME_PACKAGE)
            continue;
        node = below(t, node, frames[i]);
        count_in(&t->nodes[node], path);
    }
    if (node != 0)
        return;
    /* The stack has no frame of the program: use its most informative frame. */
    node = below(t, 0, report_own_frame(s, path->key));
    count_in(&t->nodes[node], path);
}

/* ---- order -------------------------------------------------------------- */

struct ordered {
    const struct call_node *nodes;
    uint32_t node;
};

static int by_bytes(const void *a, const void *b)
{
    const struct ordered *x = a;
    const struct ordered *y = b;
    uint64_t bytes_x = x->nodes[x->node].bytes;
    uint64_t bytes_y = y->nodes[y->node].bytes;

    if (bytes_x != bytes_y)
        return bytes_x < bytes_y ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static void sort_children(struct call_tree *t, uint32_t parent)
{
    const struct arena_piece *last = t->arena->last;
    struct ordered *order;
    size_t count = 0;

    for (uint32_t n = t->nodes[parent].child; n != 0; n = t->nodes[n].next)
        count++;
    if (count < 2)
        return;
    order = arena_take(t->arena, count, sizeof *order);
    count = 0;
    for (uint32_t n = t->nodes[parent].child; n != 0; n = t->nodes[n].next)
        order[count++] = (struct ordered){t->nodes, n};
    qsort(order, count, sizeof *order, by_bytes);
    t->nodes[parent].child = order[0].node;
    for (size_t i = 0; i < count; i++)
        t->nodes[order[i].node].next = i + 1 < count ? order[i + 1].node : 0;
    arena_free_since(t->arena, last);
}

void call_tree_make(struct arena *arena, const struct snapshot *s,
                    const struct report_groups *paths, struct call_tree *out)
{
    *out = (struct call_tree){.arena = arena};
    (void)add_node(out, UINT32_MAX);
    for (size_t i = 0; i < paths->count; i++)
        add_path(out, s, &paths->items[i]);
    for (uint32_t i = 0; i < out->count; i++)
        sort_children(out, i);
}

/* ---- text --------------------------------------------------------------- */

struct writing {
    const struct call_tree *t;
    const struct snapshot *s;
    size_t max;
    bool whole;
    FILE *out;
};

static bool is_worth(const struct writing *w, const struct call_node *node)
{
    return node->bytes >= w->t->nodes[0].bytes / 100;
}

/* A call that accounts for all of its caller's memory has the same figures. */
static void write_node(const struct writing *w, const struct call_node *node,
                       bool is_same, int depth)
{
    const struct report_group group = {
        .key = node->frame, .count = node->count, .older = node->older};
    const char *frame = report_group_label(w->s, &group, BY_LINE, w->whole);

    if (is_same)
        fprintf(w->out, "  %10s  %5s  %*s%s\n", "", "", 2 * depth, "", frame);
    else
        fprintf(w->out, "  %10s  %3.0f %%  %*s%s\n", units_bytes(node->bytes),
                report_percent(node->bytes, w->t->nodes[0].bytes), 2 * depth,
                "", frame);
}

static void write_below(const struct writing *w, const struct call_node *parent,
                        int depth)
{
    const struct call_node *nodes = w->t->nodes;
    size_t shown = 0;
    uint64_t left = 0;

    for (uint32_t n = parent->child; n != 0; n = nodes[n].next) {
        bool is_same = nodes[n].bytes == parent->bytes;

        if (shown == w->max || !is_worth(w, &nodes[n]) || depth == DEPTH_MAX) {
            left += nodes[n].bytes;
            continue;
        }
        shown++;
        write_node(w, &nodes[n], is_same && parent != nodes,
                   is_same && depth > 0 ? depth - 1 : depth);
        write_below(w, &nodes[n], is_same && depth > 0 ? depth : depth + 1);
    }
    if (left > 0 && shown > 0)
        fprintf(w->out, "  %10s         %*sin others\n", units_bytes(left),
                2 * depth, "");
}

void call_tree_write(const struct call_tree *t, const struct snapshot *s,
                     size_t max, bool whole, FILE *out)
{
    const struct writing w = {t, s, max, whole, out};

    write_below(&w, &t->nodes[0], 0);
}
