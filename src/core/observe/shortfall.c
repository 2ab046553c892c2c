/* shortfall.c - explains from the current state why a request failed. */
#include "core/observe/oom.h"

#include <inttypes.h>

#include "base/bits.h"
#include "core/pools/private.h"
#include "core/segments/release.h"
#include "core/state/paged.h"

enum { HOLDERS = 16 }; /* streams that are distinguished; others are ignored */

struct holder {
    larder_stream stream;
    uint64_t live;
};

/* What is held, summed over all blocks. */
struct held_state {
    struct holder holders[HOLDERS];
    int holder_count;
    uint64_t segments;
    uint64_t live;
    uint64_t live_count;
    uint64_t live_largest;
    uint64_t pending;
    uint64_t free;            /* has memory, or loose */
    uint64_t free_count;      /* of blocks */
    uint64_t own_largest;     /* largest free block usable by the request */
    uint64_t foreign_largest; /* largest free block elsewhere */
    uint64_t loose;           /* mapped nowhere */
};

/* ---- counting ----------------------------------------------------------- */

static void count_free(const struct request *q, const struct block *b,
                       struct held_state *h)
{
    uint64_t bytes = b->bytes;
    uint64_t *largest =
        b->segment->heap == q->heap ? &h->own_largest : &h->foreign_largest;

    h->free += bytes;
    h->free_count++;
    if (bytes > *largest)
        *largest = bytes;
}

static void shortfall_count_block(const struct request *q,
                                  const struct block *b, struct held_state *h)
{
    if (b->state == BLOCK_FREE) {
        count_free(q, b, h);
    } else if (b->state == BLOCK_PENDING) {
        h->pending += b->bytes;
    } else if (b->state == BLOCK_LIVE) {
        h->live += b->bytes;
        h->live_count++;
        if (b->bytes > h->live_largest)
            h->live_largest = b->bytes;
    }
}

static void count_holder(const struct segment *s, uint64_t live,
                         struct held_state *h)
{
    int i = 0;

    while (i < h->holder_count && h->holders[i].stream != s->heap->stream)
        i++;
    if (i == HOLDERS)
        return;
    larder__assert(h->holder_count < HOLDERS || i < h->holder_count);
    if (i == h->holder_count)
        h->holders[h->holder_count++] =
            (struct holder){.stream = s->heap->stream};
    h->holders[i].live += live;
}

/* Whether the segment is paused, or a range without memory. */
static bool holds_nothing(const struct segment *s)
{
    return segment_is_paused(s) ||
           (s->kind == SEGMENT_PAGED && s->page_count == 0);
}

static struct held_state count(struct allocator *a, const struct request *q)
{
    struct held_state h = {0};

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        uint64_t before = h.live;

        if (holds_nothing(s))
            continue;
        h.segments++;
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b))
            shortfall_count_block(q, b, &h);
        count_holder(s, h.live - before, &h);
    }
    larder__assert(h.live_largest <= h.live);
    larder__assert(h.own_largest <= h.free && h.foreign_largest <= h.free);
    h.loose = larder__paged_loose_bytes(a);
    h.free += h.loose;
    return h;
}

/* ---- text --------------------------------------------------------------- */

const char *larder__size_text(uint64_t bytes, char out[SIZE_TEXT_MAX])
{
    const double kib = 1024.0;
    double value = (double)bytes;
    struct text t;

    larder__text_init(&t, out, SIZE_TEXT_MAX);
    if (bytes <= 1024)
        larder__text_add(&t, "%" PRIu64 " bytes", bytes);
    else if (bytes <= LARDER_MIB)
        larder__text_add(&t, "%.2f KiB", value / kib);
    else if (bytes <= LARDER_MIB * 1024)
        larder__text_add(&t, "%.2f MiB", value / kib / kib);
    else
        larder__text_add(&t, "%.2f GiB", value / kib / kib / kib);
    return out;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Name the stream that holds the most, if several hold memory. */
static void add_holder(const struct held_state *h, struct text *t)
{
    const struct holder *most = &h->holders[0];
    uint64_t unknown = h->live; /* held by streams that are not distinguished */

    for (int i = 0; i < h->holder_count; i++) {
        unknown -= h->holders[i].live;
        if (h->holders[i].live > most->live)
            most = &h->holders[i];
    }
    if (h->holder_count == 0 || most->live == h->live || most->live < unknown)
        return;
    larder__text_add(t, " Stream %" PRIu64 " holds the most: %s.", most->stream,
                     SIZE_TEXT(most->live));
}

/* All memory held, and the part that is in no segment. */
static void add_reserved(const struct allocator *a, const struct held_state *h,
                         struct text *t)
{
    larder__text_add(t, " Reserved: %s", SIZE_TEXT(a->held_bytes));
    if (h->loose > 0)
        larder__text_add(t, ", %s of it free and mapped nowhere, the rest",
                         SIZE_TEXT(h->loose));
}

static void add_figures(const struct allocator *a, const struct held_state *h,
                        struct text *t)
{
    larder__assert(h->free >= h->loose);
    add_reserved(a, h, t);
    larder__text_add(
        t,
        " in %" PRIu64 " segment%s: %s in use in %" PRIu64
        " block%s, the largest of %s; %s free in %" PRIu64 " block%s",
        h->segments, plural(h->segments), SIZE_TEXT(h->live), h->live_count,
        plural(h->live_count), SIZE_TEXT(h->live_largest),
        SIZE_TEXT(h->free - h->loose), h->free_count, plural(h->free_count));
    if (h->pending > 0)
        larder__text_add(t, "; %s freed but still in use by other streams",
                         SIZE_TEXT(h->pending));
    larder__text_add(t, ".");
    add_holder(h, t);
    larder__text_add(t,
                     " The largest free block that this request could use: %s.",
                     SIZE_TEXT(h->own_largest));
}

/* By how much the limit and the device allow to grow. */
static uint64_t room_bytes(const struct allocator *a, uint64_t device_free)
{
    uint64_t limit =
        a->held_bytes < a->allowed_bytes ? a->allowed_bytes - a->held_bytes : 0;

    return limit < device_free ? limit : device_free;
}

static void add_too_much(const struct request *q, const struct held_state *h,
                         uint64_t attainable, struct text *t)
{
    uint64_t needed = h->live + h->pending + q->size;

    larder__assert(needed > attainable && q->refused_by != REFUSED_BY_POOL);
    larder__text_add(t,
                     " Why: not enough memory. In use or requested: %s, "
                     "available to this process: %s; %s is missing.",
                     SIZE_TEXT(needed), SIZE_TEXT(attainable),
                     SIZE_TEXT(needed - attainable));
}

static void add_pool(struct allocator *a, const struct request *q,
                     struct text *t)
{
    const struct private_pool *p = q->heap->pool->owner;
    larder_pool_info info;

    larder__assert(p != NULL && p->holding.limit_bytes != 0);
    /* cppcheck-suppress nullPointerRedundantCheck; asserted, not in doubt */
    if (p->tag != NULL) { /* reported above, with its figures */
        larder__text_add(t, " Why: the tag's limit.");
        return;
    }
    larder_pool_info_init(&info);
    larder__private_info(a, p, &info);
    larder__text_add(
        t,
        " Why: private pool (%" PRIu64 ", %" PRIu64
        ") holds %s of the %s that larder_pool_set_limit() allows.",
        p->id.first, p->id.second, SIZE_TEXT(info.reserved_bytes),
        SIZE_TEXT(p->holding.limit_bytes));
}

bool larder__shortfall_add_limit(struct allocator *a, const struct request *q,
                                 struct text *t)
{
    bool is_of_pool = q->refused_by == REFUSED_BY_POOL;

    if (is_of_pool)
        add_pool(a, q, t);
    else if (a->ledger_refusal != NULL)
        larder__text_add(t, " Why: %s leaves too little.", a->ledger_refusal);
    return is_of_pool || a->ledger_refusal != NULL;
}

static void add_pieces(const struct allocator *a, const struct held_state *h,
                       uint64_t room, struct text *t)
{
    larder__text_add(t,
                     " Why: fragmentation. %s was free, including the device's "
                     "free memory, which is enough, but not in one block that "
                     "this request could use",
                     SIZE_TEXT(h->free + room));
    if (a->is_paged && a->conf.defrag == CONF_DEFRAG_OFF)
        larder__text_add(t, ", and defrag:off forbids moving pages");
    larder__text_add(t, ".");
}

static void add_cause(struct allocator *a, const struct request *q,
                      const struct held_state *h, uint64_t room, struct text *t)
{
    uint64_t attainable = h->live + h->pending + h->free + room;

    if (larder__shortfall_add_limit(a, q, t))
        return;
    if (q->out_of_time) {
        larder__text_add(t,
                         " Why: reclaim_budget_ms:%" PRIu64
                         " expired. %s was freed, but recorded streams still "
                         "used it.",
                         a->conf.reclaim_budget_ms, SIZE_TEXT(h->pending));
    } else if (h->free + h->pending + room < q->size) {
        add_too_much(q, h, attainable, t);
    } else if (allocator_is_capturing(a)) {
        larder__text_add(t, " Why: no memory is released while a private pool "
                            "is begun or a stream is being captured.");
    } else if (h->foreign_largest >= q->size &&
               h->own_largest < h->foreign_largest) {
        larder__text_add(
            t,
            " Why: each stream and pool has its own free memory. A "
            "block of %s was free, but belongs to another.",
            SIZE_TEXT(h->foreign_largest));
    } else {
        add_pieces(a, h, room, t);
    }
}

/* The largest such request that could have succeeded after releasing all unused
 * memory. */
static uint64_t would_fit(const struct allocator *a, const struct held_state *h,
                          uint64_t room)
{
    uint64_t whole = room + larder__unused_bytes(a);
    uint64_t fresh =
        whole / ROUND_SEGMENT_BYTES * ROUND_SEGMENT_BYTES + h->loose;

    if (a->is_paged)
        fresh += larder__paged_movable_bytes(a);
    return fresh > h->own_largest ? fresh : h->own_largest;
}

void larder__shortfall_add(struct allocator *a, const struct request *q,
                           uint64_t device_free, struct text *t)
{
    struct held_state h = count(a, q);
    uint64_t room = room_bytes(a, device_free);
    uint64_t fits = would_fit(a, &h, room);

    add_figures(a, &h, t);
    add_cause(a, q, &h, room, t);
    if (q->refused_by == REFUSED_BY_POOL || allocator_is_capturing(a) ||
        fits >= q->size)
        return;
    larder__text_add(t, " Up to %s would have fitted.", SIZE_TEXT(fits));
}
