/* quarantine.c - freed blocks that are kept from reuse for a while. */
#include "core/debug/debug.h"

#include <inttypes.h>

#include "base/host.h"
#include "core/segments/events.h"
#include "core/segments/order.h"
#include "core/state/zone.h"

/* Uses at most 3 MiB of host memory. */
enum { QUARANTINED_MAX = 1 << 16 };

struct quarantined {
    struct block *block;
    struct use *hold;
    bool is_filled;
    struct quarantined *next;
};

static struct bytes_range range_of(const struct block *b)
{
    return (struct bytes_range){b->addr, b->bytes};
}

/* ---- checking --------------------------------------------------------------- */

static void note(struct allocator *a, const struct block *b, larder_addr at,
                 unsigned char found)
{
    larder__finding_note(
        a, b, LARDER_ERR_OVERWRITTEN,
        "0x%02x was written to 0x%" PRIx64 ", which was freed: it lies %" PRId64
        " bytes from the beginning of the former allocation at 0x%" PRIx64
        " of %" PRIu64 " bytes on stream %" PRIu64,
        found, at, (int64_t)(at - zone_user(b)), zone_user(b), b->requested,
        block_stream(b));
}

static void check_entry(struct allocator *a, const struct quarantined *q)
{
    const struct block *b = q->block;
    uint64_t part;

    if (!q->is_filled)
        return;
    for (uint64_t done = 0; done < b->bytes; done += part) {
        struct bytes_range range = {b->addr + done, b->bytes - done};
        const unsigned char *read;
        uint64_t at;

        if (range.bytes > BYTES_READ_MAX)
            range.bytes = BYTES_READ_MAX;
        part = range.bytes;
        read = larder__bytes_read(a, &range, 1, block_stream(b));
        if (read == NULL)
            return;
        at = larder__bytes_differ(read, part, POISON_BYTE);
        if (at < part) {
            note(a, b, range.addr + at, read[at]);
            return;
        }
    }
}

/* ---- adding and removing ----------------------------------------------------- */

/* Whether only the quarantine's own reference keeps the block. */
static bool is_done(const struct block *b)
{
    return b->events == 1 && b->uses == NULL;
}

static void fill(struct allocator *a, struct quarantined *q)
{
    if (!a->debug->is_blind && larder__bytes_may(a, block_stream(q->block)))
        q->is_filled = larder__bytes_fill(a, range_of(q->block), POISON_BYTE,
                                          block_stream(q->block)) == LARDER_OK;
}

static void append(struct quarantine *all, struct quarantined *q)
{
    q->next = NULL;
    if (all->first == NULL)
        all->first = q;
    else
        all->last->next = q;
    all->last = q;
}

/* Move blocks that recorded streams no longer use into the queue. */
static void take_done(struct allocator *a)
{
    struct quarantine *all = &a->debug->quarantine;
    struct quarantined **link = &all->used;

    while (*link != NULL) {
        struct quarantined *q = *link;

        if (!is_done(q->block)) {
            link = &q->next;
            continue;
        }
        *link = q->next;
        fill(a, q);
        append(all, q);
    }
}

/* Release a block that was taken out of the queue. */
static void let_go(struct allocator *a, struct quarantined *q)
{
    struct quarantine *all = &a->debug->quarantine;

    larder__assert(all->count > 0 && all->bytes >= q->block->bytes);
    all->count--;
    all->bytes -= q->block->bytes;
    if (larder__bytes_may(a, block_stream(q->block)))
        check_entry(a, q);
    larder__events_unhold(a, q->hold);
    larder__host_free(q);
}

static bool let_first_go(struct allocator *a)
{
    struct quarantine *all = &a->debug->quarantine;
    struct quarantined **row = all->first != NULL ? &all->first : &all->used;
    struct quarantined *q = *row;

    if (q == NULL)
        return false;
    *row = q->next;
    let_go(a, q);
    return true;
}

struct quarantined *larder__quarantine_keep(struct allocator *a,
                                            struct block *b)
{
    struct quarantined *q;

    if (b->bytes > a->debug->quarantine.max_bytes)
        return NULL;
    q = larder__host_alloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->block = b;
    if (larder__events_hold(a, b, &q->hold) == LARDER_OK)
        return q;
    larder__host_free(q);
    return NULL;
}

void larder__quarantine_begin(struct allocator *a, struct quarantined *q)
{
    struct quarantine *all = &a->debug->quarantine;

    larder__assert(q->block->state == BLOCK_PENDING);
    all->count++;
    all->bytes += q->block->bytes;
    q->next = all->used;
    all->used = q;
    take_done(a);
    while ((all->bytes > all->max_bytes || all->count > QUARANTINED_MAX) &&
           let_first_go(a))
        ;
}

void larder__quarantine_check(struct allocator *a)
{
    take_done(a);
    for (const struct quarantined *q = a->debug->quarantine.first; q != NULL;
         q = q->next) {
        if (larder__bytes_may(a, block_stream(q->block)))
            check_entry(a, q);
    }
}

static void leave_row(struct allocator *a, struct quarantined **row,
                      const struct private_pool *owner)
{
    while (*row != NULL) {
        struct quarantined *q = *row;

        if (q->block->segment->heap->pool->owner != owner) {
            row = &q->next;
            continue;
        }
        *row = q->next;
        let_go(a, q);
    }
}

void larder__quarantine_leave(struct allocator *a,
                              const struct private_pool *owner)
{
    struct quarantine *all = &a->debug->quarantine;

    leave_row(a, &all->used, owner); /* before its blocks are filled for
                                      * nothing */
    take_done(a);
    leave_row(a, &all->first, owner);
    all->last = all->first;
    while (all->last != NULL && all->last->next != NULL)
        all->last = all->last->next;
}

bool larder__quarantine_empty(struct allocator *a)
{
    bool any = false;

    while (let_first_go(a))
        any = true;
    return any;
}
