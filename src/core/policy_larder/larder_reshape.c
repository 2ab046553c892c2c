/* larder_reshape.c - giving empty segments back to have them in other sizes.
 *
 * Only segments that are the driver's own count: parts of a reserved piece
 * give the device nothing. */
#include "base/bits.h"
#include "base/fail.h"
#include "core/blocks.h"
#include "core/policy_larder/larder_segments.h"
#include "core/policy_larder/larder.h"
#include "core/pool.h"
#include "core/segment.h"

enum {
    TIGHT_PERCENT = 34,     /* of the room, in use: sizes matter from here on */
    WEIGH_FROM_PERCENT = 5, /* of the room, in use: blocks are weighed */
    LARGE_PERCENT = 3,      /* of the room: a large block */
    FEW_LARGE_PERCENT = 40, /* of what is in use, in large blocks: few do */
    JOIN_PERCENT = 30,      /* of the room, in empty segments: join them */
    /* Half of the room in use, and more than a hundredth of it in what is
     * left of segments: the next one is had in the request's own size.  An
     * exchange is some three calls of the driver, so there is one for 3000
     * requests: 0.06 us to each, by the price table.  16 can be saved up. */
    EXCHANGE_PERCENT = 50,
    STRANDED_PERCENT = 1,
    EXCHANGE_REQUESTS = 3000,
    EXCHANGES_SAVED = 16
};

/* ---- how much there is, and how it is used -------------------------------- */

uint64_t larder__segments_room(const struct allocator *a)
{
    uint64_t room = a->props.total_bytes - a->props.context_bytes;

    if (room > a->larder->refused_at)
        room = a->larder->refused_at;
    return a->allowed_bytes < room ? a->allowed_bytes : room;
}

static uint64_t percent_of(uint64_t bytes, unsigned percent)
{
    return bytes / 100 * percent;
}

/* Bytes in use in blocks of at least that many. */
static uint64_t in_large_blocks(struct allocator *a, uint64_t least)
{
    uint64_t bytes = 0;

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        const struct block *b = s->head;

        if (s->bytes < least || s->heap->pool->owner != NULL)
            continue;
        for (; b != NULL; b = slab_get(&a->slab, b->next)) {
            if (b->bytes >= least && b->state != BLOCK_FREE)
                bytes += b->bytes;
        }
    }
    return bytes;
}

void larder__segments_weigh(struct allocator *a, const struct request *q)
{
    uint64_t room = larder__segments_room(a);
    uint64_t used = (uint64_t)metric_all(&a->stats.active_bytes) + q->size;
    uint64_t least = percent_of(room, LARGE_PERCENT);
    uint64_t large;

    if (a->larder->exchange_credit < EXCHANGES_SAVED * EXCHANGE_REQUESTS)
        a->larder->exchange_credit++;
    if (used >= percent_of(room, TIGHT_PERCENT))
        a->larder->is_tight = true;
    if (used < percent_of(room, WEIGH_FROM_PERCENT) ||
        used < a->larder->weighed_at + a->larder->weighed_at / 20)
        return;
    large = in_large_blocks(a, least) + (q->size >= least ? q->size : 0);
    a->larder->weighed_at = used;
    a->larder->has_few_large = large > percent_of(used, FEW_LARGE_PERCENT);
}

/* ---- empty segments ------------------------------------------------------- */

/* The block of a segment that can be given back to the device now. */
static struct block *empty_block(const struct segment *s)
{
    struct block *b = s->head;

    if (s->kind != SEGMENT_DRIVER || s->heap->pool->owner != NULL ||
        block_is_split(b) || b->state != BLOCK_FREE)
        return NULL;
    return b;
}

static uint64_t empty_bytes(const struct allocator *a, size_t *count)
{
    uint64_t bytes = 0;

    *count = 0;
    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (empty_block(s) != NULL) {
            bytes += s->bytes;
            ++*count;
        }
    }
    return bytes;
}

static bool is_before(const struct block *a, const struct block *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->addr < b->addr;
}

/* The smallest empty segment of `bytes` or more, else the largest. */
static struct block *empty_for(const struct allocator *a, uint64_t bytes)
{
    struct block *least = NULL;
    struct block *most = NULL;

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        struct block *b = empty_block(s);

        if (b == NULL)
            continue;
        if (b->bytes >= bytes && (least == NULL || is_before(b, least)))
            least = b;
        if (most == NULL || is_before(most, b))
            most = b;
    }
    return least != NULL ? least : most;
}

bool larder__segments_release_for(struct allocator *a, uint64_t bytes)
{
    uint64_t room = larder__segments_room(a);
    size_t count;

    if (bytes > room || a->held_bytes - empty_bytes(a, &count) > room - bytes)
        return false;
    while (a->held_bytes > room - bytes) {
        uint64_t missing = a->held_bytes - (room - bytes);

        if (larder__segment_release(a, empty_for(a, missing)) != LARDER_OK)
            return false;
    }
    return true;
}

/* ---- one of all ----------------------------------------------------------- */

/* Whether segments go back for others at all: not for small ones, and what
 * collects garbage asks for less to be held, not for more. */
static bool may_reshape(const struct allocator *a, const struct request *q)
{
    bool collects = a->fraction_is_set && a->conf.gc_threshold > 0;

    return a->larder->is_tight && !collects && !q->heap->pool->is_small &&
           a->conf.defrag != CONF_DEFRAG_OFF && !allocator_is_capturing(a);
}

bool larder__segments_should_join(const struct allocator *a,
                                  const struct request *q)
{
    uint64_t least = percent_of(larder__segments_room(a), JOIN_PERCENT);
    uint64_t active = (uint64_t)metric_all(&a->stats.active_bytes);
    size_t count;

    if (a->larder->has_few_large || !may_reshape(a, q))
        return false;
    if (least < q->size)
        least = q->size;
    /* Most often this answers, without a look at the segments. */
    if (a->held_bytes < active + least)
        return false;
    return empty_bytes(a, &count) >= least && count > 1;
}

static void release_empty(struct allocator *a)
{
    struct segment *next;

    for (struct segment *s = a->segments; s != NULL; s = next) {
        struct block *b = empty_block(s);

        next = s->next;
        if (b != NULL) /* what the device refuses stays as it is */
            (void)larder__segment_release(a, b);
    }
}

larder_result larder__segments_join(struct allocator *a, struct request *q,
                                    struct block **out)
{
    uint64_t held = a->held_bytes;
    uint64_t room;
    larder_result r;

    release_empty(a);
    room = larder__segments_room(a);
    room = bits_down(room > a->held_bytes ? room - a->held_bytes : 0,
                     ROUND_SEGMENT_BYTES);
    if (room < q->segment_bytes)
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = larder__segment_get(a, q->heap, room, out);
    if (r == LARDER_ERR_OUT_OF_MEMORY) {
        /* Others have some of it: what was held, then. */
        held = bits_down(held - a->held_bytes, ROUND_SEGMENT_BYTES);
        if (held < q->segment_bytes)
            held = q->segment_bytes;
        a->larder->refused_at = a->held_bytes + held;
        r = larder__segment_get(a, q->heap, held, out);
    }
    if (r == LARDER_OK)
        heap_insert(*out);
    return r;
}

/* ---- one of the right size ------------------------------------------------ */

bool larder__segments_should_exchange(struct allocator *a,
                                      const struct request *q,
                                      const struct block *empty)
{
    uint64_t room = larder__segments_room(a);
    uint64_t used = (uint64_t)metric_all(&a->stats.active_bytes) + q->size;
    int64_t left = metric_all(&a->stats.inactive_split_bytes);
    uint64_t stranded = (uint64_t)left + empty->bytes - q->size;

    if (!a->larder->has_few_large || !may_reshape(a, q) ||
        empty->bytes <= q->segment_bytes ||
        used < percent_of(room, EXCHANGE_PERCENT) ||
        stranded <= percent_of(room, STRANDED_PERCENT) ||
        a->larder->exchange_credit < EXCHANGE_REQUESTS)
        return false;
    a->larder->exchange_credit -= EXCHANGE_REQUESTS;
    return true;
}
