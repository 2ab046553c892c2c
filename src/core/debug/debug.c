/* debug.c - the settings debug:2 and 3: memory that a program must not write is
 * filled with known bytes and checked later. */
#include "core/debug/debug.h"

#include "base/host.h"
#include "core/segments/order.h"
#include "core/segments/release.h"

/* The fraction of the device's memory that may be quarantined. */
enum { QUARANTINE_PART = 32 };

/* ---- creation --------------------------------------------------------------- */

larder_result larder__debug_create(struct allocator *a)
{
    if (a->conf.debug < 2 || a->policy->is_host)
        return LARDER_OK;
    a->debug = larder__host_alloc(1, sizeof *a->debug);
    if (a->debug == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    a->debug->level = a->conf.debug;
    a->debug->quarantine.max_bytes = a->props.total_bytes / QUARANTINE_PART;
    if (a->debug->level > 2)
        larder__stale_begin(a);
    a->make_room = larder__quarantine_empty;
    return LARDER_OK;
}

void larder__debug_destroy(struct allocator *a)
{
    if (a->debug == NULL)
        return;
    larder__assert(a->debug->quarantine.count == 0);
    larder__bytes_end(a->debug);
    larder__host_free(a->debug);
    a->debug = NULL;
}

/* ---- allocating and freeing --------------------------------------------------- */

/* Its memory is mapped, and its stream may be used to fill it. */
static bool is_at_hand(struct allocator *a, const struct block *b)
{
    return !segment_is_paused(b->segment) &&
           larder__bytes_may(a, block_stream(b));
}

static bool may_look(struct allocator *a, const struct block *b)
{
    return !a->debug->is_blind && is_at_hand(a, b);
}

larder_result larder__debug_allocated(struct allocator *a, struct block *b)
{
    larder__assert(b->zones != ZONES_WRITTEN);
    return b->zones == ZONES_BARE && may_look(a, b) ? larder__zones_write(a, b)
                                                    : LARDER_OK;
}

static void check_zones(struct allocator *a, const struct block *b)
{
    if (b->zones == ZONES_WRITTEN && may_look(a, b))
        larder__zones_check(a, b);
}

/* A block that was lent returns to its pool at once. */
static bool may_quarantine(struct allocator *a, const struct block *b)
{
    return b->zones != ZONES_NONE && !b->is_lent && is_at_hand(a, b);
}

larder_result larder__debug_free(struct allocator *a, struct block *b)
{
    struct pool *pool = b->segment->heap->pool;
    struct quarantined *q = NULL;
    bool goes = a->debug->level > 2 && larder__stale_applies(a, b);

    larder__assert(b->state == BLOCK_LIVE);
    check_zones(a, b);
    larder__unrecorded_check(a, b);
    if (!goes && may_quarantine(a, b))
        q = larder__quarantine_keep(a, b);
    map_remove(&a->map, b);
    larder__block_retire(a, b);
    if (q != NULL)
        larder__quarantine_begin(a, q);
    if (goes)
        larder__stale_release(a, pool);
    return larder__finding_report(a);
}

/* ---- pause and resume ------------------------------------------------------ */

typedef void block_act(struct allocator *a, struct block *b);

/* Apply it to each live block of the owner that has red zones. */
static void each_zoned(struct allocator *a, const struct private_pool *owner,
                       block_act *act)
{
    for (const struct segment *s = owner->segments; s != NULL;
         s = s->pool_next) {
        for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
            if (b->state == BLOCK_LIVE && b->zones != ZONES_NONE)
                act(a, b);
        }
    }
}

static void act_check(struct allocator *a, struct block *b)
{
    check_zones(a, b);
}

/* Zones that cannot be written again are no longer checked. */
static void act_remake(struct allocator *a, struct block *b)
{
    b->zones = ZONES_BARE;
    (void)larder__debug_allocated(a, b);
}

void larder__debug_pause(struct allocator *a, const struct private_pool *owner,
                         bool is_dropped)
{
    larder__quarantine_leave(a, owner);
    if (is_dropped)
        each_zoned(a, owner, act_check);
}

void larder__debug_resume(struct allocator *a, const struct private_pool *owner)
{
    each_zoned(a, owner, act_remake);
}

/* ---- regions ------------------------------------------------------------------ */

void larder__debug_committed(struct allocator *a, const struct block *b)
{
    struct bytes_range range = {b->addr, b->bytes};

    /* An error here costs only the poison. */
    if (may_look(a, b))
        (void)larder__bytes_fill(a, range, POISON_BYTE, block_stream(b));
}

bool larder__debug_releases(const struct allocator *a)
{
    return a->debug->level > 2 && !allocator_is_capturing(a);
}

/* ---- checking everything -------------------------------------------------------- */

static void check_segment(struct allocator *a, const struct segment *s)
{
    for (const struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        if (b->state == BLOCK_LIVE)
            check_zones(a, b);
    }
}

larder_result larder__debug_check(struct allocator *a)
{
    for (const struct segment *s = a->segments; s != NULL; s = s->next)
        check_segment(a, s);
    larder__quarantine_check(a);
    return larder__finding_report(a);
}

larder_result larder__debug_end(struct allocator *a)
{
    for (const struct segment *s = a->segments; s != NULL; s = s->next)
        check_segment(a, s);
    (void)larder__quarantine_empty(a);
    if (a->debug->level > 2)
        larder__leaks_note(a);
    return larder__finding_report(a);
}
