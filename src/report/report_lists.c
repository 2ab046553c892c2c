/* report_lists.c - the holders of memory at the peak. */
#include <inttypes.h>

#include "report/call_tree.h"
#include "report/frame_groups.h"
#include "report/report_words.h"
#include "report/report_writing.h"

static void write_share(const struct report_writing *w,
                        const struct report_group *g)
{
    fprintf(w->out, "  %10s  %3.0f %%  %6" PRIu64 "  ", report_bytes(g->bytes),
            report_percent(g->bytes, w->r->peak.allocated), g->count);
}

uint64_t report_told_bytes(const struct run_summary *r)
{
    const struct moment *m = &r->peak;
    const struct lifetime *a;
    enum report_category category;
    uint64_t told = 0;

    for (size_t i = 0; (a = moment_use(m, &i)) != NULL; i++) {
        if (report_category_told(m->lifetimes->snapshot, a->user_metadata,
                                 &category))
            told += a->rounded;
    }
    return told;
}

/* Whether categories were named or guessed, for most of the memory. */
static const char *told_words(const struct report_writing *w)
{
    uint64_t told = report_told_bytes(w->r);

    if (told == 0)
        return ", inferred";
    return told < w->r->peak.allocated / 20 * 19 ? ", partly inferred"
                                                 : ", as recorded";
}

static void write_kinds(const struct report_writing *w)
{
    size_t i;

    fprintf(w->out,
            "\nAlive at the peak, by category%s (bytes, share, allocations)\n",
            told_words(w));
    for (i = 0; i < w->r->kind_count; i++) {
        write_share(w, &w->r->kinds[i]);
        fprintf(w->out, "%s\n",
                report_category_name((enum report_category)w->r->kinds[i].key));
    }
}

static void write_lines(const struct report_writing *w)
{
    size_t count;
    const struct report_group *groups =
        report_by_groups(w->hoard, w->r, w->opt->by, &count);
    size_t i;

    fprintf(w->out, "\nBy %s\n", report_by_name(w->opt->by));
    for (i = 0; i < count && i < w->top; i++) {
        write_share(w, &groups[i]);
        fprintf(
            w->out, "%s\n",
            report_group_label(w->s, &groups[i], w->opt->by, w->opt->paths));
    }
    if (count > w->top)
        fprintf(w->out, "  and %zu more\n", count - w->top);
}

static void write_tree(const struct report_writing *w)
{
    struct call_tree tree;

    if (!w->opt->tree)
        return;
    call_tree_make(w->hoard, w->s, w->r->paths, w->r->path_count, &tree);
    fputs("\nBy call tree, outermost first (without C++, PyTorch and Python's "
          "own library)\n",
          w->out);
    call_tree_write(&tree, w->s, w->top, w->opt->paths, w->out);
}

static void write_path(const struct report_writing *w,
                       const struct report_group *g)
{
    const struct lifetime *a = &w->r->lifetimes->allocs[g->largest];
    size_t count;
    const uint32_t *frames = snapshot_stack(w->s, g->key, &count);
    size_t i;

    write_share(w, g);
    fprintf(w->out, "largest %s\n", report_bytes(a->requested));
    for (i = 0; i < count; i++)
        fprintf(w->out, "                              %s\n",
                report_frame(w->s, frames[i], true));
}

static void write_paths(const struct report_writing *w)
{
    size_t i;

    if (!w->opt->paths)
        return;
    fputs("\nBy call path, innermost first\n", w->out);
    for (i = 0; i < w->r->path_count && i < w->top; i++) {
        if (w->r->paths[i].key != 0)
            write_path(w, &w->r->paths[i]);
    }
}

void report_write_holders(const struct report_writing *w)
{
    write_kinds(w);
    write_lines(w);
    write_tree(w);
    write_paths(w);
}
