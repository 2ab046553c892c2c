/* snapshot_totals.c - totals of a snapshot's contents, computed as
 * snapshot_totals.py computes them. */
#include "snapshot/snapshot_totals.h"

#include <inttypes.h>
#include <string.h>

static uint64_t frame_sum(const struct snapshot *s, uint32_t number)
{
    const struct snapshot_frame *f = &s->frames[number];
    const char *name = snapshot_string(s, f->name);
    uint64_t sum = (uint64_t)f->line * 31;

    sum += snapshot_string_length(s, f->filename);
    for (size_t i = 0; i < snapshot_string_length(s, f->name); i++)
        sum += (unsigned char)name[i];
    return sum;
}

static uint64_t stack_sum(const struct snapshot *s, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (i + 1) * frame_sum(s, frames[i]);
    return sum;
}

static uint64_t pool_sum(const struct snapshot *s, uint32_t pool)
{
    return s->pools[pool].a * 3 + s->pools[pool].b;
}

static void print_row(FILE *out, const uint64_t *row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %" PRIu64, row[i]);
    fprintf(out, "\n");
}

/* ---- events --------------------------------------------------------------- */

static void add_event(const struct snapshot *s, const struct snapshot_event *e,
                      uint64_t row[8])
{
    row[0]++;
    row[1] += e->size;
    row[2] += e->address;
    row[3] += snapshot_stream(s, e->stream);
    row[4] += (uint64_t)e->time_us;
    row[5] += stack_sum(s, e->stack);
    row[6] += pool_sum(s, e->pool);
    row[7] += snapshot_string_length(s, e->compile_context) +
              5 * snapshot_string_length(s, e->user_metadata);
}

/* Python sorts the actions by name. */
static void print_events(size_t device, uint64_t rows[SNAPSHOT_OTHER][8],
                         FILE *out)
{
    const char *last = "";

    for (;;) {
        int next = -1;

        for (int a = 0; a < SNAPSHOT_OTHER; a++) {
            const char *name = snapshot_action_name((enum snapshot_action)a);

            if (rows[a][0] > 0 && strcmp(name, last) > 0 &&
                (next < 0 || strcmp(name, snapshot_action_name(
                                              (enum snapshot_action)next)) < 0))
                next = a;
        }
        if (next < 0)
            return;
        last = snapshot_action_name((enum snapshot_action)next);
        fprintf(out, "events %zu %s", device, last);
        print_row(out, rows[next], 8);
    }
}

static void device_totals(const struct snapshot *s, size_t device, FILE *out)
{
    const struct snapshot_device *d = &s->devices[device];
    uint64_t rows[SNAPSHOT_OTHER][8] = {{0}};

    for (size_t i = d->first; i < d->first + d->count; i++) {
        if (s->events[i].action < SNAPSHOT_OTHER)
            add_event(s, &s->events[i], rows[s->events[i].action]);
    }
    print_events(device, rows, out);
}

/* ---- segments and blocks -------------------------------------------------- */

static void segment_totals(const struct snapshot *s, FILE *out)
{
    uint64_t row[10] = {s->segment_count};
    uint64_t small = 0, expandable = 0;

    for (size_t i = 0; i < s->segment_count; i++) {
        const struct snapshot_segment *g = &s->segments[i];

        row[1] += g->device;
        row[2] += g->address;
        row[3] += g->total_size;
        row[4] += g->allocated_size;
        row[5] += g->active_size;
        row[6] += g->requested_size;
        row[7] += snapshot_stream(s, g->stream);
        row[8] += pool_sum(s, g->pool);
        row[9] += stack_sum(s, g->stack);
        small += g->type == SNAPSHOT_SMALL;
        expandable += g->expandable;
    }
    fprintf(out, "segments");
    print_row(out, row, 10);
    fprintf(out, "small %" PRIu64 " expandable %" PRIu64 "\n", small,
            expandable);
}

static void block_totals(const struct snapshot *s, FILE *out)
{
    uint64_t rows[SNAPSHOT_STATES][5] = {{0}};
    uint64_t history[4] = {s->history_count};

    for (size_t i = 0; i < s->block_count; i++) {
        const struct snapshot_block *b = &s->blocks[i];
        uint64_t *row = rows[b->state];

        row[0]++;
        row[1] += b->address;
        row[2] += b->size;
        row[3] += b->requested_size;
        if ((b->has & SNAPSHOT_HAS_FRAMES) != 0)
            row[4] += stack_sum(s, b->stack);
    }
    for (size_t i = 0; i < s->history_count; i++) {
        history[1] += s->histories[i].address;
        history[2] += s->histories[i].real_size;
        history[3] += stack_sum(s, s->histories[i].stack);
    }
    for (int i = 0; i < SNAPSHOT_STATES; i++) {
        if (rows[i][0] > 0) {
            fprintf(out, "blocks %s",
                    snapshot_state_name((enum snapshot_state)i));
            print_row(out, rows[i], 5);
        }
    }
    fprintf(out, "history");
    print_row(out, history, 4);
}

/* ---- the rest ------------------------------------------------------------- */

static void annotation_totals(const struct snapshot *s, FILE *out)
{
    uint64_t row[5] = {s->annotation_count};

    for (size_t i = 0; i < s->annotation_count; i++) {
        const struct snapshot_annotation *a = &s->annotations[i];

        row[1] += (uint64_t)a->time_us;
        row[2] += snapshot_string_length(s, a->name);
        row[3] += snapshot_string_length(s, a->stage);
        row[4] += a->device;
    }
    fprintf(out, "annotations");
    print_row(out, row, 5);
}

static void setting(bool has, const char *name, double value, FILE *out)
{
    if (has)
        fprintf(out, "%s %.6f\n", name, value);
}

static void setting_totals(const struct snapshot *s, FILE *out)
{
    const struct snapshot_settings *t = &s->settings;

    fprintf(out, "conf %s\n", snapshot_string(s, t->conf));
    setting(t->has_max_split_size, "max_split_size", (double)t->max_split_size,
            out);
    setting(t->has_garbage_collection_threshold, "garbage_collection_threshold",
            t->garbage_collection_threshold, out);
    setting(t->has_pinned_num_register_threads, "pinned_num_register_threads",
            (double)t->pinned_num_register_threads, out);
    setting(t->has_expandable_segments, "expandable_segments",
            t->expandable_segments, out);
    setting(t->has_release_lock_on_cudamalloc, "release_lock_on_cudamalloc",
            t->release_lock_on_cudamalloc, out);
    setting(t->has_pinned_use_cuda_host_register,
            "pinned_use_cuda_host_register", t->pinned_use_cuda_host_register,
            out);
    setting(t->has_graph_capture_record_stream_reuse,
            "graph_capture_record_stream_reuse",
            t->graph_capture_record_stream_reuse, out);
    for (size_t i = 0; i < t->roundup_count; i++)
        fprintf(out, "roundup %" PRIu64 " %" PRId64 "\n",
                t->roundup[i].size_mib, t->roundup[i].divisions);
}

void snapshot_totals(const struct snapshot *s, FILE *out)
{
    for (size_t i = 0; i < s->device_count; i++)
        device_totals(s, i, out);
    segment_totals(s, out);
    block_totals(s, out);
    annotation_totals(s, out);
    /* Stack 0 has no frames and does not count. */
    fprintf(out, "distinct %zu %zu\n", s->frame_count, s->stack_count - 1);
    setting_totals(s, out);
}
