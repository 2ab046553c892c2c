/* reference.c - the model's operations. */
#include "model/reference_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REF_TOO_MUCH (UINT64_C(1) << 60)

/* ---- making and settings ------------------------------------------------ */

struct reference *reference_create(uint64_t capacity, bool immediate,
                                   const char *conf)
{
    size_t none = 0;
    struct reference *r = ref_grow(NULL, 0, &none, sizeof *r);

    memset(r, 0, sizeof *r);
    ref_conf_init(&r->conf);
    ref_conf_apply(&r->conf, conf);
    r->first_max_split = r->conf.max_split;
    ref_device_init(&r->device, capacity);
    r->immediate = immediate;
    r->small.is_small = true;
    return r;
}

void reference_destroy(struct reference *r)
{
    while (r->segment_count > 0)
        ref_segment_remove(r, r->segments[0]);
    for (size_t i = 0; i < r->private_count; i++)
        free(r->privates[i]);
    for (size_t i = 0; i < REFERENCE_STREAMS; i++)
        free(r->queues[i].events);
    ref_device_free(&r->device);
    free(r->segments);
    free(r->deferred);
    free(r);
}

void reference_configure(struct reference *r, const char *conf)
{
    ref_conf_apply(&r->conf, conf);
}

void reference_set_fraction(struct reference *r, double fraction)
{
    r->conf.fraction = fraction;
}

/* ---- allocating --------------------------------------------------------- */

static struct ref_pool *pool_for(struct reference *r, uint64_t rounded,
                                 larder_stream stream)
{
    bool is_small = rounded <= REF_MIB;

    for (size_t i = 0; i < r->begun_count; i++) {
        struct ref_begun *b = &r->begun[i];

        if (b->filter == NULL || b->filter(b->ctx, stream))
            return is_small ? &b->private->small : &b->private->large;
    }
    return is_small ? &r->small : &r->large;
}

static bool collects_garbage(const struct reference *r)
{
    return r->conf.fraction >= 0 && r->conf.gc_threshold > 0;
}

/* A block's size, and how far it could be extended. */
static uint64_t expandable_bytes(struct ref_place p)
{
    const struct ref_block *b = ref_at(p);

    if (p.index + 1 < p.segment->count && !b[1].mapped)
        return b->bytes + b[1].bytes;
    return b->bytes;
}

static struct ref_place after(const struct reference *r,
                              const struct ref_request *q, struct ref_place p)
{
    return ref_next_free(r, q->pool, q->stream, ref_at(p)->bytes,
                         ref_at(p)->addr + 1);
}

/* PyTorch's best fit if its first hit is in an expandable segment. */
static struct ref_place best_expandable(const struct reference *r,
                                        const struct ref_request *q,
                                        struct ref_place p)
{
    struct ref_place next = after(r, q, p);

    if (!r->conf.expandable) {
        while (next.segment != NULL && next.segment->page != 0)
            next = after(r, q, next);
        return next;
    }
    while (p.segment->page != 0 && next.segment != NULL &&
           expandable_bytes(next) < expandable_bytes(p)) {
        p = next;
        next = after(r, q, p);
    }
    return p;
}

static bool search(struct reference *r, const struct ref_request *q,
                   struct ref_place *out)
{
    uint64_t max_split = r->conf.max_split;
    struct ref_place p;

    if (collects_garbage(r))
        q->pool->searches++;
    p = ref_next_free(r, q->pool, q->stream, q->bytes, 0);
    if (p.segment != NULL && p.segment->page != 0)
        p = best_expandable(r, q, p);
    if (p.segment == NULL)
        return false;
    if (q->bytes < max_split && ref_at(p)->bytes >= max_split)
        return false;
    if (q->bytes >= max_split &&
        ref_at(p)->bytes >= q->bytes + r->conf.max_rounding)
        return false;
    *out = p;
    return true;
}

/* While a pool is begun nothing may be released: a capture forbids it. */
static bool obtain_or_make_room(struct reference *r,
                                const struct ref_request *q,
                                struct ref_place *out)
{
    bool may_release = r->begun_count == 0;

    if (may_release && collects_garbage(r))
        ref_collect_garbage(r);
    if (ref_obtain(r, q, false, out))
        return true;
    if (!may_release)
        return false;
    if (ref_release_available(r, q) && ref_obtain(r, q, false, out))
        return true;
    ref_release_cached(r);
    return ref_obtain(r, q, true, out);
}

static bool should_split(const struct reference *r, const struct ref_request *q,
                         struct ref_place p)
{
    uint64_t remaining = ref_at(p)->bytes - q->bytes;

    if (q->pool->is_small || r->conf.expandable)
        return remaining >= 512;
    return q->bytes < r->conf.max_split && remaining > REF_MIB;
}

static void count_inactive(struct reference *r, struct ref_place p,
                           int64_t count, int64_t bytes)
{
    if (p.segment->page != 0)
        return;
    ref_count(&r->stats.inactive_split, p.segment->pool, count);
    ref_count(&r->stats.inactive_split_bytes, p.segment->pool, bytes);
}

static void split_off(struct reference *r, const struct ref_request *q,
                      struct ref_place p)
{
    struct ref_place rest = {p.segment, p.index + 1};
    bool was_split = ref_segment_split(p.segment);

    ref_block_cut(p, q->bytes);
    ref_block_born(rest);
    if (was_split)
        count_inactive(r, p, 0, -(int64_t)q->bytes);
    else
        count_inactive(r, p, 1, (int64_t)ref_at(rest)->bytes);
}

static void count_allocation(struct reference *r, struct ref_place p)
{
    const struct ref_block *b = ref_at(p);
    const struct ref_pool *pool = p.segment->pool;

    ref_count(&r->stats.allocation, pool, 1);
    ref_count(&r->stats.allocated_bytes, pool, (int64_t)b->bytes);
    ref_count(&r->stats.active, pool, 1);
    ref_count(&r->stats.active_bytes, pool, (int64_t)b->bytes);
    ref_count(&r->stats.requested_bytes, pool, (int64_t)b->requested);
    if (b->bytes >= r->conf.max_split)
        ref_count_one(&r->stats.oversize_allocations, 1);
}

larder_result reference_alloc(struct reference *r, uint64_t bytes,
                              larder_stream stream, larder_addr *out)
{
    struct ref_request q = {.stream = stream};
    struct ref_place p;

    if (bytes == 0) {
        *out = 0;
        return LARDER_OK;
    }
    if (bytes >= REF_TOO_MUCH)
        return LARDER_ERR_OUT_OF_MEMORY;
    if (r->begun_count == 0)
        ref_process_events(r);
    q.bytes = ref_conf_round(&r->conf, bytes);
    q.segment_bytes = ref_conf_segment_bytes(&r->conf, q.bytes);
    q.pool = pool_for(r, q.bytes, stream);
    if (!search(r, &q, &p) && !obtain_or_make_room(r, &q, &p)) {
        r->stats.num_ooms++;
        return LARDER_ERR_OUT_OF_MEMORY;
    }
    if (should_split(r, &q, p))
        split_off(r, &q, p);
    else if (ref_segment_split(p.segment))
        count_inactive(r, p, -1, -(int64_t)ref_at(p)->bytes);
    ref_at(p)->allocated = true;
    ref_at(p)->requested = bytes;
    count_allocation(r, p);
    *out = ref_at(p)->addr;
    return LARDER_OK;
}

/* ---- freeing and events ------------------------------------------------- */

void ref_block_release(struct reference *r, struct ref_place p)
{
    struct ref_pool *pool = p.segment->pool;
    int64_t bytes = (int64_t)ref_at(p)->bytes;
    int64_t requested = (int64_t)ref_at(p)->requested;
    int64_t count_change = 0;
    int64_t bytes_change = 0;
    uint64_t joined[2];

    ref_at(p)->capture_uses = 0;
    joined[0] = ref_block_absorb_previous(&p);
    joined[1] = ref_block_absorb_next(p);
    for (size_t i = 0; i < 2; i++) {
        count_change -= joined[i] > 0;
        bytes_change -= (int64_t)joined[i];
    }
    ref_block_born(p);
    if (ref_segment_split(p.segment)) {
        count_change++;
        bytes_change += (int64_t)ref_at(p)->bytes;
    }
    count_inactive(r, p, count_change, bytes_change);
    ref_count(&r->stats.active, pool, -1);
    ref_count(&r->stats.active_bytes, pool, -bytes);
    ref_count(&r->stats.requested_bytes, pool, -requested);
}

void ref_insert_events(struct reference *r, struct ref_place p)
{
    struct ref_block *b = ref_at(p);

    for (size_t stream = 0; stream < REFERENCE_STREAMS; stream++) {
        struct ref_queue *queue = &r->queues[stream];

        if ((b->uses >> stream & 1) == 0)
            continue;
        queue->events = ref_grow(queue->events, queue->count, &queue->capacity,
                                 sizeof *queue->events);
        queue->events[queue->count++] = (struct ref_event){b->addr, false};
        b->events++;
    }
    b->uses = 0;
}

/* Only what was recorded before a capture counts: records made by a capture end
 * with it. */
static void insert_deferred(struct reference *r)
{
    for (size_t i = 0; i < r->deferred_count; i++) {
        struct ref_place p = ref_find(r, r->deferred[i]);

        ref_at(p)->uses &= ~ref_at(p)->capture_uses;
        ref_insert_events(r, p);
        if (ref_at(p)->events == 0)
            ref_block_release(r, p);
    }
    r->deferred_count = 0;
}

/* Remove the first event from the queue. */
static void event_over(struct reference *r, struct ref_queue *queue)
{
    struct ref_place p = ref_find(r, queue->events[0].addr);

    queue->count--;
    memmove(queue->events, queue->events + 1,
            queue->count * sizeof *queue->events);
    ref_at(p)->events--;
    if (ref_at(p)->events == 0)
        ref_block_release(r, p);
}

void ref_process_events(struct reference *r)
{
    insert_deferred(r);
    for (size_t stream = 0; stream < REFERENCE_STREAMS; stream++) {
        struct ref_queue *queue = &r->queues[stream];

        while (queue->count > 0 && (r->immediate || queue->events[0].done))
            event_over(r, queue);
    }
}

void ref_synchronize_events(struct reference *r)
{
    r->stats.num_sync_all_streams++;
    insert_deferred(r);
    for (size_t stream = 0; stream < REFERENCE_STREAMS; stream++) {
        while (r->queues[stream].count > 0)
            event_over(r, &r->queues[stream]);
    }
}

void reference_complete(struct reference *r, larder_stream stream)
{
    struct ref_queue *queue = &r->queues[stream];

    for (size_t i = 0; i < queue->count; i++)
        queue->events[i].done = true;
}

static void defer(struct reference *r, uint64_t addr)
{
    r->deferred = ref_grow(r->deferred, r->deferred_count,
                           &r->deferred_capacity, sizeof *r->deferred);
    r->deferred[r->deferred_count++] = addr;
}

larder_result reference_free(struct reference *r, larder_addr addr)
{
    struct ref_place p = ref_find(r, addr);
    struct ref_block *b;

    if (addr == 0)
        return LARDER_OK;
    if (p.segment == NULL || !ref_at(p)->allocated)
        return LARDER_ERR_UNKNOWN_ADDRESS;
    b = ref_at(p);
    b->allocated = false;
    ref_count(&r->stats.allocation, p.segment->pool, -1);
    ref_count(&r->stats.allocated_bytes, p.segment->pool, -(int64_t)b->bytes);
    if (b->bytes >= r->conf.max_split)
        ref_count_one(&r->stats.oversize_allocations, -1);
    if (b->uses == 0)
        ref_block_release(r, p);
    else if (r->begun_count > 0)
        defer(r, addr);
    else
        ref_insert_events(r, p);
    return LARDER_OK;
}

larder_result reference_record_stream(struct reference *r, larder_addr addr,
                                      larder_stream stream)
{
    struct ref_place p = ref_find(r, addr);

    assert(stream < REFERENCE_STREAMS);
    if (p.segment == NULL || !ref_at(p)->allocated)
        return LARDER_ERR_UNKNOWN_ADDRESS;
    if (stream == p.segment->stream)
        return LARDER_OK;
    ref_at(p)->uses |= UINT64_C(1) << stream;
    if (r->begun_count > 0)
        ref_at(p)->capture_uses |= UINT64_C(1) << stream;
    return LARDER_OK;
}

larder_result reference_empty_cache(struct reference *r)
{
    if (r->begun_count > 0)
        return LARDER_ERR_CAPTURING;
    ref_release_cached(r);
    return LARDER_OK;
}

/* ---- private pools ------------------------------------------------------ */

static struct ref_private *private_find(const struct reference *r,
                                        larder_pool_id id)
{
    for (size_t i = 0; i < r->private_count; i++) {
        struct ref_private *private = r->privates[i];

        if (private->id.first == id.first && private->id.second == id.second)
            return private;
    }
    return NULL;
}

static struct ref_private *private_create(struct reference *r,
                                          larder_pool_id id)
{
    size_t none = 0;
    struct ref_private *private = ref_grow(NULL, 0, &none, sizeof *private);

    assert(r->private_count < REF_PRIVATE_MAX);
    memset(private, 0, sizeof *private);
    private->id = id;
    private->small.is_small = true;
    private->small.private = private;
    private->large.private = private;
    r->privates[r->private_count++] = private;
    return private;
}

/* Returns begun_count if it is not begun. */
static size_t begun_index(const struct reference *r,
                          const struct ref_private *private)
{
    size_t i = 0;

    while (i < r->begun_count && r->begun[i].private != private)
        i++;
    return i;
}

larder_result reference_pool_begin(struct reference *r, larder_pool_id id,
                                   larder_pool_filter *filter, void *ctx)
{
    struct ref_private *private = private_find(r, id);

    if (id.first == 0 && id.second == 0)
        return LARDER_ERR_INVALID;
    if (private == NULL)
    private = private_create(r, id);
    else if (private->users == 0 ||
             begun_index(r, private) <
                 r->begun_count) return LARDER_ERR_INVALID;
    private->users++;
    r->begun[r->begun_count++] = (struct ref_begun){private, filter, ctx};
    return LARDER_OK;
}

larder_result reference_pool_end(struct reference *r, larder_pool_id id)
{
    struct ref_private *private = private_find(r, id);
    size_t i = begun_index(r, private);

    if (private == NULL || i == r->begun_count)
        return LARDER_ERR_UNKNOWN_POOL;
    r->begun_count--;
    memmove(r->begun + i, r->begun + i + 1,
            (r->begun_count - i) * sizeof *r->begun);
    return LARDER_OK;
}

larder_result reference_pool_release(struct reference *r, larder_pool_id id)
{
    struct ref_private *private = private_find(r, id);

    if (private == NULL || private->users == 0)
        return LARDER_ERR_UNKNOWN_POOL;
    private->users--;
    return LARDER_OK;
}

/* ---- inspection --------------------------------------------------------- */

void reference_stats(const struct reference *r, larder_stats *out)
{
    *out = r->stats;
    out->size = sizeof *out;
    out->max_split_size =
        r->first_max_split == UINT64_MAX ? -1 : (int64_t)r->first_max_split;
}

/* Apply fn to every statistic. */
static void each_stat(struct reference *r, void (*fn)(larder_stat *))
{
#define X(name, text)                                                          \
    fn(&r->stats.name.all);                                                    \
    fn(&r->stats.name.small_pool);                                             \
    fn(&r->stats.name.large_pool);
    LARDER_METRIC_MAP(X)
#undef X
    fn(&r->stats.oversize_allocations);
    fn(&r->stats.oversize_segments);
}

static void reset_peak(larder_stat *s)
{
    s->peak = s->current;
}

static void reset_sums(larder_stat *s)
{
    s->allocated = 0;
    s->freed = 0;
}

void reference_reset_peak(struct reference *r)
{
    each_stat(r, reset_peak);
}

void reference_reset_accumulated(struct reference *r)
{
    each_stat(r, reset_sums);
#define X(name, text) r->stats.name = 0;
    LARDER_COUNTER_MAP(X)
#undef X
}

uint64_t reference_used_bytes(const struct reference *r)
{
    return r->device.used;
}
