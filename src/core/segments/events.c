/* events.c - blocks used on streams other than their own. */
#include "core/segments/events.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/segments/blocks.h"
#include "core/segments/order.h"
#include "core/state/zone.h"

/* Uses are allocated in chunks and kept in a free list, so that freeing a block
 * allocates no host memory. */
enum { USE_CHUNK = 64 };

struct use_chunk {
    struct use_chunk *next;
    struct use uses[USE_CHUNK];
};

/* ---- host memory ---------------------------------------------------------- */

static struct use *use_take(struct events *e)
{
    struct use *use;

    if (e->free_uses == NULL) {
        struct use_chunk *chunk = larder__host_alloc(1, sizeof *chunk);

        if (chunk == NULL)
            return NULL;
        chunk->next = e->chunks;
        e->chunks = chunk;
        for (int i = 0; i < USE_CHUNK; i++) {
            chunk->uses[i].next = e->free_uses;
            e->free_uses = &chunk->uses[i];
        }
    }
    use = e->free_uses;
    larder__assert(use != NULL);
    /* cppcheck-suppress nullPointerRedundantCheck; asserted, not in doubt */
    e->free_uses = use->next;
    *use = (struct use){0};
    return use;
}

static void use_give(struct events *e, struct use *use)
{
    larder__assert(e->free_uses != use);
    use->next = e->free_uses;
    e->free_uses = use;
}

/* The first queue whose stream is not below `stream`. */
static uint32_t queue_position(const struct events *e, larder_stream stream)
{
    uint32_t i = 0;

    while (i < e->queue_count && e->queues[i].stream < stream)
        i++;
    return i;
}

static bool queue_exists(const struct events *e, larder_stream stream)
{
    uint32_t i = queue_position(e, stream);

    return i < e->queue_count && e->queues[i].stream == stream;
}

static bool queue_add(struct events *e, larder_stream stream)
{
    uint32_t at = queue_position(e, stream);

    larder__assert(!queue_exists(e, stream));
    if (e->queue_count == e->queue_capacity) {
        uint32_t capacity = e->queue_capacity * 2 + 4;

        if (!larder__host_grow(&e->queues, capacity, sizeof *e->queues))
            return false;
        e->queue_capacity = capacity;
    }
    for (uint32_t i = e->queue_count; i > at; i--)
        e->queues[i] = e->queues[i - 1];
    e->queues[at] = (struct event_queue){.stream = stream};
    e->queue_count++;
    larder__assert(at == 0 || e->queues[at - 1].stream < stream);
    larder__assert(at + 1 == e->queue_count ||
                   e->queues[at + 1].stream > stream);
    return true;
}

/* Make room so that all events could be idle at once. */
static bool idle_make_room(struct events *e)
{
    size_t capacity = e->idle_capacity * 2 + 16;

    if (e->made < e->idle_capacity)
        return true;
    if (!larder__host_grow(&e->idle, capacity, sizeof *e->idle))
        return false;
    e->idle_capacity = capacity;
    return true;
}

/* ---- recording ------------------------------------------------------------ */

/* Whether the end of a capture will order what the stream does now. */
static bool stream_is_captured(const struct allocator *a, larder_stream stream)
{
    int is_capturing = 0;

    if (!allocator_is_capturing(a))
        return false;
    return a->policy->is_exact ||
           (larder_device_stream_is_capturing(a->device, stream,
                                              &is_capturing) == LARDER_OK &&
            is_capturing);
}

/* For a stream recorded before: the end of a capture does not order work that
 * was queued outside of it.  PyTorch ignores this. */
static bool stays_captured(const struct allocator *a, bool was, bool is)
{
    return a->policy->is_exact ? was || is : was && is;
}

larder_result larder__events_use(struct allocator *a, struct block *b,
                                 larder_stream stream)
{
    bool is_captured = stream_is_captured(a, stream);
    struct events *e = &a->events;
    struct use **link = &b->uses;
    struct use *use;
    larder_result r;

    larder__assert(allocator_is_locked(a));
    larder__assert(b->state == BLOCK_LIVE);
    larder__assert(stream != block_stream(b));
    while (*link != NULL && ((*link)->is_hold || (*link)->stream != stream))
        link = &(*link)->next;
    if (*link == NULL) {
        r = larder__device_stream_check(a->device, stream);
        if (r != LARDER_OK)
            return r;
        use = NULL;
        if (queue_exists(e, stream) || queue_add(e, stream))
            use = use_take(e);
        if (use == NULL)
            return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
        use->stream = stream;
        use->captured = is_captured;
        *link = use;
    } else {
        (*link)->captured = stays_captured(a, (*link)->captured, is_captured);
    }
    return LARDER_OK;
}

bool larder__events_copy(struct allocator *a, const struct block *b,
                         struct use **out)
{
    struct events *e = &a->events;

    *out = NULL;
    for (const struct use *use = b->uses; use != NULL; use = use->next) {
        struct use *copy = use->is_hold ? NULL : use_take(e);

        if (use->is_hold)
            continue;
        if (copy == NULL) {
            while (*out != NULL) {
                copy = *out;
                *out = copy->next;
                use_give(e, copy);
            }
            return false;
        }
        *copy = *use;
        copy->next = *out;
        *out = copy;
    }
    return true;
}

void larder__events_forget(struct allocator *a, struct block *b)
{
    larder__assert(b->state == BLOCK_LIVE && !block_is_exported(b));
    while (b->uses != NULL) {
        struct use *use = b->uses;

        b->uses = use->next;
        use_give(&a->events, use);
    }
}

larder_result larder__events_fail_exported(const struct block *b)
{
    return larder__fail(LARDER_ERR_BUSY,
                        "the memory at 0x%llx is exported: close that first",
                        (unsigned long long)zone_user(b));
}

static larder_result event_take(struct allocator *a, uint64_t *out)
{
    struct events *e = &a->events;
    larder_result r;

    larder__assert(e->idle_count <= e->made);
    if (e->idle_count > 0) {
        *out = e->idle[--e->idle_count];
        return LARDER_OK;
    }
    if (!idle_make_room(e))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder_device_event_create(a->device, out);
    if (r == LARDER_OK)
        e->made++;
    larder__assert(e->made <= e->idle_capacity);
    return r;
}

/* Record an event on the use's stream and queue it. */
static larder_result use_record(struct allocator *a, struct use *use)
{
    struct events *e = &a->events;
    struct event_queue *queue = &e->queues[queue_position(e, use->stream)];
    larder_result r = event_take(a, &use->event);

    larder__assert(queue_exists(e, use->stream));
    larder__assert(!use->is_hold && use->block != NULL);
    if (r != LARDER_OK)
        return r;
    r = larder_device_event_record(a->device, use->event, use->stream);
    if (r != LARDER_OK) {
        e->idle[e->idle_count++] = use->event;
        return r;
    }
    use->next = NULL;
    if (queue->first == NULL)
        queue->first = use;
    else
        queue->last->next = use;
    queue->last = use;
    e->waiting++;
    larder__assert(e->waiting + e->idle_count <= e->made);
    return LARDER_OK;
}

/* No event ends a hold; larder__events_unhold() does. */
static larder_result hold_count(struct allocator *a, struct use *hold)
{
    larder__assert(hold->is_hold && !hold->is_held);
    hold->is_held = true;
    a->events.held++;
    return LARDER_OK;
}

/* Turn the pending block's uses into events.  If it fails some uses remain. */
static larder_result block_record(struct allocator *a, struct block *b)
{
    while (b->uses != NULL) {
        struct use *use = b->uses;
        struct use *rest = use->next;
        larder_result r;

        use->block = b;
        r = use->is_hold ? hold_count(a, use) : use_record(a, use);
        if (r != LARDER_OK) {
            use->next = rest;
            return r;
        }
        b->uses = rest;
        b->events++;
    }
    return LARDER_OK;
}

static void defer(struct allocator *a, struct block *b)
{
    struct events *e = &a->events;

    larder__assert(b->state == BLOCK_PENDING);
    larder__assert(e->deferred_first == 0 || e->deferred_last != b->self);
    b->next_deferred = 0;
    if (e->deferred_first == 0)
        e->deferred_first = b->self;
    else
        slab_at(&a->slab, e->deferred_last)->next_deferred = b->self;
    e->deferred_last = b->self;
}

/* Holds need no event. */
static bool needs_event(const struct block *b)
{
    const struct use *use = b->uses;

    while (use != NULL && use->is_hold)
        use = use->next;
    return use != NULL;
}

void larder__events_defer(struct allocator *a, struct block *b)
{
    larder__assert(allocator_is_locked(a));
    larder__assert(b->state == BLOCK_LIVE && b->uses != NULL);
    b->state = BLOCK_PENDING;
    b->events = 0;
    /* If the device fails to record an event now it is asked again at the next
     * allocation; the free succeeds either way. */
    if ((allocator_is_capturing(a) && needs_event(b)) ||
        block_record(a, b) != LARDER_OK)
        defer(a, b);
}

/* Drop uses recorded during a capture: its end orders them (CUDA's rules of
 * stream capture), so they need no event. */
static void block_drop_captured(struct allocator *a, struct block *b)
{
    struct use **link = &b->uses;

    while (*link != NULL) {
        struct use *use = *link;

        if (use->captured) {
            *link = use->next;
            use_give(&a->events, use);
        } else {
            link = &use->next;
        }
    }
}

/* Record events for the deferred blocks; those for which it fails stay
 * deferred. */
static larder_result record_deferred(struct allocator *a)
{
    uint32_t number = a->events.deferred_first;
    larder_result r = LARDER_OK;

    a->events.deferred_first = 0;
    while (number != 0) {
        struct block *b = slab_at(&a->slab, number);
        larder_result one;

        larder__assert(b->state == BLOCK_PENDING);
        number = b->next_deferred;
        block_drop_captured(a, b);
        one = block_record(a, b);
        if (one != LARDER_OK)
            defer(a, b);
        else if (b->events == 0)
            larder__block_free(a, b);
        fail_keep_first(&r, one);
    }
    return r;
}

/* ---- completing ----------------------------------------------------------- */

/* Remove the first event of the queue, which has completed. */
static void queue_pop(struct allocator *a, struct event_queue *queue)
{
    struct events *e = &a->events;
    struct use *use = queue->first;
    struct block *b = use->block;

    larder__assert(e->waiting > 0 && b->events > 0);
    larder__assert(b->state == BLOCK_PENDING && use->stream == queue->stream);
    larder__assert(e->idle_count < e->idle_capacity);
    queue->first = use->next;
    e->idle[e->idle_count++] = use->event;
    e->waiting--;
    use_give(e, use);
    b->events--;
    if (b->events == 0 && b->uses == NULL)
        larder__block_free(a, b);
}

void larder__events_poll(struct allocator *a)
{
    struct events *e = &a->events;

    larder__assert(allocator_is_locked(a));
    (void)record_deferred(a); /* the rest is tried again */
    for (uint32_t i = 0; i < e->queue_count; i++) {
        struct event_queue *queue = &e->queues[i];

        while (queue->first != NULL &&
               larder_device_event_query(a->device, queue->first->event) ==
                   LARDER_OK)
            queue_pop(a, queue);
    }
}

/* Wait for the events of the queue, in order, up to the one of this use. */
static larder_result queue_sync(struct allocator *a, struct event_queue *queue,
                                const struct use *last)
{
    bool is_last = last == NULL;

    while (!is_last) {
        larder_result r =
            larder_device_event_sync(a->device, queue->first->event);

        if (r != LARDER_OK)
            return r;
        is_last = queue->first == last;
        queue_pop(a, queue);
    }
    return LARDER_OK;
}

larder_result larder__events_sync(struct allocator *a)
{
    struct events *e = &a->events;
    larder_result r = record_deferred(a);

    for (uint32_t i = 0; i < e->queue_count; i++) {
        struct event_queue *queue = &e->queues[i];
        const struct use *last = queue->first == NULL ? NULL : queue->last;

        fail_keep_first(&r, queue_sync(a, queue, last));
    }
    return r;
}

static const struct use *last_of_owner(const struct event_queue *queue,
                                       const struct private_pool *owner)
{
    const struct use *last = NULL;

    for (const struct use *use = queue->first; use != NULL; use = use->next) {
        if (use->block->segment->heap->pool->owner == owner)
            last = use;
    }
    return last;
}

larder_result larder__events_sync_owner(struct allocator *a,
                                        const struct private_pool *owner)
{
    struct events *e = &a->events;
    larder_result r = record_deferred(a);

    for (uint32_t i = 0; i < e->queue_count; i++)
        fail_keep_first(&r, queue_sync(a, &e->queues[i],
                                       last_of_owner(&e->queues[i], owner)));
    return r;
}

/* ---- holds ---------------------------------------------------------------- */

/* A hold waits for no stream; it has its heap's. */
larder_result larder__events_hold(struct allocator *a, struct block *b,
                                  struct use **out)
{
    struct use *hold = use_take(&a->events);

    larder__assert(b->state == BLOCK_LIVE);
    if (hold == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    hold->stream = b->segment->heap->stream;
    hold->is_hold = true;
    hold->block = b;
    hold->next = b->uses;
    b->uses = hold;
    *out = hold;
    return LARDER_OK;
}

/* If the block is still deferred it is freed once its events are done. */
void larder__events_unhold(struct allocator *a, struct use *hold)
{
    struct block *b = hold->block;
    struct use **link = &b->uses;
    bool was_held = hold->is_held;

    while (!was_held && *link != hold)
        link = &(*link)->next;
    if (!was_held)
        *link = hold->next;
    use_give(&a->events, hold);
    if (!was_held)
        return;
    larder__assert(a->events.held > 0 && b->events > 0);
    larder__assert(b->state == BLOCK_PENDING);
    a->events.held--;
    b->events--;
    if (b->events == 0 && b->uses == NULL)
        larder__block_free(a, b);
}

/* ---- waiting -------------------------------------------------------------- */

bool larder__events_wait_one(struct allocator *a)
{
    struct events *e = &a->events;

    (void)record_deferred(a);
    for (uint32_t i = 0; i < e->queue_count; i++) {
        struct event_queue *queue = &e->queues[i];

        if (queue->first == NULL)
            continue;
        if (larder_device_event_sync(a->device, queue->first->event) !=
            LARDER_OK)
            continue;
        queue_pop(a, queue);
        return true;
    }
    return false;
}

larder_result larder__events_pass(struct allocator *a, larder_stream stream)
{
    struct events *e = &a->events;
    uint64_t event;
    larder_result r = event_take(a, &event);

    if (r != LARDER_OK)
        return r;
    r = larder_device_event_record(a->device, event, stream);
    if (r == LARDER_OK)
        r = larder_device_event_sync(a->device, event);
    e->idle[e->idle_count++] = event;
    return r;
}

larder_result larder__events_pass_heaps(struct allocator *a,
                                        const struct pool *pools)
{
    larder_result r = LARDER_OK;
    const struct heap *heap;

    for (size_t i = 0; r == LARDER_OK && (heap = pools_heap(pools, i)) != NULL;
         i++)
        r = larder__events_pass(a, heap->stream);
    return r;
}

larder_result larder__events_pass_uses(struct allocator *a,
                                       const struct segment *s)
{
    larder_result r = LARDER_OK;

    for (const struct block *b = s->head; b != NULL && r == LARDER_OK;
         b = block_next(a, b)) {
        for (const struct use *use = b->state == BLOCK_LIVE ? b->uses : NULL;
             use != NULL && r == LARDER_OK; use = use->next)
            r = larder__events_pass(a, use->stream);
    }
    return r;
}

larder_result larder__events_destroy(struct allocator *a)
{
    struct events *e = &a->events;
    larder_result r = LARDER_OK;

    for (uint32_t i = 0; i < e->queue_count; i++) { /* events not waited for */
        while (e->queues[i].first != NULL) {
            struct use *use = e->queues[i].first;

            e->queues[i].first = use->next;
            e->idle[e->idle_count++] = use->event;
        }
    }
    while (e->idle_count > 0)
        fail_keep_first(&r, larder_device_event_destroy(
                                a->device, e->idle[--e->idle_count]));
    while (e->chunks != NULL) {
        struct use_chunk *chunk = e->chunks;

        e->chunks = chunk->next;
        larder__host_free(chunk);
    }
    larder__host_free(e->queues);
    larder__host_free(e->idle);
    *e = (struct events){0};
    return r;
}
