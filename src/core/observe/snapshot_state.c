/* snapshot_state.c - a copy of the allocator's state at one moment, and writing
 * it. */
#include "core/observe/snapshot_state.h"

#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/observe/walk.h"

/* ---- blocks --------------------------------------------------------------- */

struct taking {
    const struct allocator *a;
    struct snapshot *out;
    bool ran_out; /* out of host memory */
};

static bool snapshot_state_add_segment(struct taking *t,
                                       const larder_segment_info *info,
                                       const struct block *header)
{
    struct snapshot *s = t->out;
    bool has_stack = t->a->history != NULL && header != NULL;

    if (!HOST_ROOM(s->segments, s->segment_capacity, s->segment_count + 1))
        return false;
    larder__assert(s->segment_count < s->segment_capacity);
    larder__assert(info->bytes > 0);
    s->segments[s->segment_count++] = (struct snapshot_segment){
        .info = *info, .stack = has_stack ? header->segment->stack : 0};
    return true;
}

static bool add_block(struct taking *t, const larder_block_info *info,
                      const struct block *header)
{
    struct snapshot *s = t->out;
    const struct history *h = t->a->history;
    const struct block_note *note = NULL;

    if (!HOST_ROOM(s->blocks, s->block_capacity, s->block_count + 1))
        return false;
    larder__assert(s->block_count < s->block_capacity);
    larder__assert(s->segment_count > 0 && info->bytes > 0);
    if (h != NULL && info->state != LARDER_BLOCK_FREE)
        note = larder__history_note(h, header->self);
    s->blocks[s->block_count++] = (struct snapshot_block){
        .addr = info->addr,
        .bytes = info->bytes,
        .requested = info->requested_bytes,
        .stack = note != NULL ? note->stack : 0,
        .annotation = note != NULL ? note->annotation : 0,
        .state = (uint8_t)info->state,
    };
    return true;
}

static int take_header(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *block,
                       const struct block *header)
{
    struct taking *t = ctx;

    if (block->addr == segment->addr)
        t->ran_out = !snapshot_state_add_segment(t, segment, header);
    if (!t->ran_out)
        t->ran_out = !add_block(t, block, header);
    return t->ran_out;
}

static larder_result take_blocks(struct allocator *a, struct snapshot *out)
{
    struct taking t = {.a = a, .out = out};
    larder_result r = larder__walk_headers(a, take_header, &t);

    if (r == LARDER_OK && t.ran_out)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return r;
}

/* ---- history -------------------------------------------------------------- */

void larder__history_info(const struct allocator *a, larder_history_info *out)
{
    const struct history *h = a->history;

    *out = (larder_history_info){.size = sizeof *out};
    out->dumps = a->dumps.count - a->dumps.failed;
    out->failed_dumps = a->dumps.failed;
    if (h == NULL)
        return;
    out->is_on = 1;
    out->max_events = h->capacity;
    out->events = history_count(h);
    larder__assert(h->recorded >= out->events);
    out->lost_events = h->recorded - out->events + h->missed;
    out->stack_count = h->stacks.count;
    out->lost_stacks = h->stacks.lost;
    out->lost_notes = h->lost_notes + h->texts.lost;
    if (h->mark_count > MARKS_MAX)
        out->lost_notes += h->mark_count - MARKS_MAX;
}

/* Copy the ring in order of time. */
static void copy_events(const struct history *h, struct history_event *out)
{
    uint64_t count = history_count(h);
    uint64_t first = h->recorded < h->capacity ? 0 : h->next;
    uint64_t before_end = h->capacity - first;

    larder__assert(first < h->capacity && count <= h->capacity);
    if (before_end > count)
        before_end = count;
    memcpy(out, &h->ring[first], before_end * sizeof *out);
    memcpy(out + before_end, h->ring, (count - before_end) * sizeof *out);
}

static void copy_marks(const struct history *h, struct history_mark *out,
                       uint64_t count)
{
    larder__assert(count <= h->mark_count && count <= MARKS_MAX);
    for (uint64_t i = 0; i < count; i++)
        out[i] = h->marks[(h->mark_count - count + i) % MARKS_MAX];
}

static larder_result take_history(struct allocator *a, struct snapshot *out)
{
    struct history *h = a->history;
    uint64_t count = history_count(h);
    uint64_t marks = h->mark_count < MARKS_MAX ? h->mark_count : MARKS_MAX;

    out->events = larder__host_alloc_aligned(sizeof(uint64_t),
                                             (count + 1) * sizeof *out->events);
    out->marks = larder__host_alloc(marks + 1, sizeof *out->marks);
    out->pool_ids =
        larder__host_alloc(h->pool_count + 1, sizeof *out->pool_ids);
    if (out->events == NULL || out->marks == NULL || out->pool_ids == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    copy_events(h, out->events);
    copy_marks(h, out->marks, marks);
    if (h->pool_count > 0)
        memcpy(&out->pool_ids[1], h->pool_ids,
               h->pool_count * sizeof *out->pool_ids);
    out->event_count = count;
    out->mark_count = marks;
    return LARDER_OK;
}

/* ---- the whole snapshot --------------------------------------------------- */

static void take_rest(struct allocator *a, struct snapshot *out)
{
    larder_stats_init(&out->stats);
    larder__stats_copy(&a->stats, &out->stats);
    out->stats.max_split_size = a->told_max_split_bytes;
    out->conf = a->conf;
    out->policy = a->policy->name;
    out->props = a->props;
    out->allowed_bytes = a->allowed_bytes;
    out->fraction = a->fraction;
    out->fraction_is_set = a->fraction_is_set;
    out->frame_fn = a->frames.fn;
    out->frame_ctx = a->frames.ctx;
    larder__history_info(a, &out->info);
}

larder_result larder__snapshot_take(struct allocator *a, bool with_history,
                                    struct snapshot *out)
{
    struct history *h = a->history;
    larder_result r;

    larder__assert(allocator_is_locked(a));
    *out = (struct snapshot){0};
    if (h != NULL) {
        larder__history_record(a, LARDER_ACTION_snapshot, 0,
                               (uint64_t)metric_all(&a->stats.active_bytes), 0,
                               NULL);
        atomic_fetch_add(&h->users, 1);
        out->history = h;
        out->stack_words = h->stacks.used;
        larder__ticks_scale(&h->clock, &out->scale);
    }
    take_rest(a, out);
    r = take_blocks(a, out);
    if (r == LARDER_OK && h != NULL && with_history)
        r = take_history(a, out);
    if (r != LARDER_OK)
        larder__snapshot_free(out);
    return r;
}

void larder__snapshot_free(struct snapshot *s)
{
    larder__host_free(s->segments);
    larder__host_free(s->blocks);
    larder__host_free(s->events);
    larder__host_free(s->marks);
    larder__host_free(s->pool_ids);
    larder__history_drop(s->history);
    *s = (struct snapshot){0};
}
