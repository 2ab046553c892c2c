/* alloc.c - the path of a request: size, pool, find, split, count. */
#include "base/bits.h"
#include "base/fail.h"
#include "core/observe/oom.h"
#include "core/peers/peers.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/request/request.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"
#include "core/state/held.h"
#include "core/state/zone.h"

/* PyTorch refuses sizes from here on without trying. */
#define REQUEST_LIMIT (UINT64_C(1) << 60)

/* ---- sizes ---------------------------------------------------------------- */

static uint32_t size_divisions(const struct conf *conf, uint64_t bytes)
{
    unsigned log2 = bits_log2(bytes);
    unsigned class = log2 < 20 ? 0 : log2 - 20;

    if (class >= CONF_SIZE_CLASSES)
        class = CONF_SIZE_CLASSES - 1;
    return conf->divisions[class];
}

/* Round up to the next of `divisions` steps between two powers of two. */
static uint64_t round_to_division(uint64_t bytes, uint32_t divisions)
{
    unsigned floor_log2 = bits_log2(bytes);
    unsigned divisions_log2 = bits_log2(divisions);

    larder__assert(bytes > 0 && bits_is_pow2(divisions));
    if (bits_is_pow2(bytes))
        return bytes;
    if (divisions_log2 > floor_log2)
        return UINT64_C(2) << floor_log2;
    return bits_up(bytes, UINT64_C(1) << (floor_log2 - divisions_log2));
}

uint64_t larder__round_size(const struct conf *conf, uint32_t unit,
                            uint64_t bytes)
{
    uint32_t divisions;

    if (bytes < unit)
        return unit;
    divisions = size_divisions(conf, bytes);
    /* One division means no divisions, not powers of two, as in PyTorch. */
    if (divisions > 1 && bytes > (uint64_t)unit * divisions)
        return bits_up(round_to_division(bytes, divisions), unit);
    return bits_up(bytes, unit);
}

/* ---- requests that fail -------------------------------------------------- */

bool larder__request_is_hopeless(const struct allocator *a,
                                 const struct request *q)
{
    uint64_t total = a->props.total_bytes - a->props.context_bytes;
    uint64_t live = (uint64_t)metric_all(&a->stats.allocated_bytes) -
                    larder__tags_paused_bytes(a);

    if (a->allowed_bytes < total)
        total = a->allowed_bytes;
    total -= bits_lesser(total, held_owed_to_others(a, q->heap->pool));
    return q->size > total || live > total - q->size;
}

bool larder__request_reject(struct allocator *a, struct request *q)
{
    q->rejected = q->refused_by != REFUSED_BY_DEVICE && a->conf.throw_on_oom;
    a->stats.num_oom_rejections += q->rejected;
    return q->rejected;
}

/* ---- finding memory --------------------------------------------------------- */

/* Take the piece of the setting preallocate:SIZE, once. */
static larder_result preallocate(struct allocator *a, struct request *q)
{
    char why[LARDER_FAIL_MAX / 2];
    larder_result r;

    if (a->preallocated)
        return LARDER_OK;
    r = larder__piece_take(a, a->conf.preallocate_bytes);
    if (r == LARDER_ERR_OUT_OF_MEMORY && !allocator_is_capturing(a)) {
        (void)larder__release_cached(a); /* set while memory was in use */
        r = larder__piece_take(a, a->conf.preallocate_bytes);
    }
    if (r == LARDER_OK) {
        a->preallocated = true;
        return LARDER_OK;
    }
    larder__copy_error(why, sizeof why);
    larder__set_error("preallocate:%llu could not be taken: %s",
                      (unsigned long long)a->conf.preallocate_bytes, why);
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    q->segment_bytes = a->conf.preallocate_bytes;
    return larder__out_of_memory(a, q, true);
}

larder_result larder__request_route(struct allocator *a, struct request *q)
{
    if (!larder__slab_ensure(&a->slab, SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return pool_heap(a, pool_for(a, q->size, q->stream, q->hint), q->stream,
                     &q->heap);
}

larder_result larder__find_again(struct allocator *a, struct request *q)
{
    larder_result r;

    q->segment_bytes = larder__segment_size(&a->conf, q->size);
    r = larder__request_route(a, q);
    return r == LARDER_OK ? a->policy->find(a, q) : r;
}

larder_result larder__find_reclaimed(struct allocator *a, struct request *q)
{
    q->reclaimed = true;
    (void)larder__run_reclaims(a); /* whatever they return */
    return larder__find_again(a, q);
}

/* ---- asking other processes ---------------------------------------------- */

/* Whether memory released by other processes cannot help. */
static bool is_hopeless(const struct allocator *a, const struct request *q)
{
    return q->refused_by != REFUSED_BY_DEVICE || q->rejected ||
           larder__request_is_hopeless(a, q);
}

/* The device memory that would be enough for the request. */
static uint64_t need_of(const struct allocator *a, const struct request *q)
{
    uint64_t need = bits_up(q->size, PAGE_BYTES);

    return !a->is_paged && q->segment_bytes > need ? q->segment_bytes : need;
}

/* After a request found nothing: try again as long as that may help.  `moves` is
 * the value of larder__peers_moves() before the search.  Drops and retakes the
 * locks.  ERR_OUT_OF_MEMORY. */
static larder_result request_ask(struct allocator *a, struct request *q,
                                 uint64_t moves)
{
    struct peers_search search = larder__peers_search(a);
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;
    larder_result routed;

    search.moves = moves;
    while (r == LARDER_ERR_OUT_OF_MEMORY && !is_hopeless(a, q) &&
           larder__peers_help(a, &search, need_of(a, q))) {
        a->ledger_refusal = NULL;
        r = larder__find_again(a, q);
    }
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    /* The heap may be gone: locks were dropped, and a pool may have ended. */
    routed = larder__request_route(a, q);
    return routed == LARDER_OK ? r : routed;
}

/* ---- the request ------------------------------------------------------------ */

/* Memory that a graph uses has no red zones: each replay writes to what was
 * free during capture, and by then that may be where zones of other blocks
 * are. */
static bool has_zones(struct allocator *a, const struct request *q)
{
    struct private_pool *owner = pool_owner_for(a, q->stream);

    if (owner != NULL && larder__private_is_graphs(a, q->stream))
        owner->has_graph = true;
    return (owner == NULL || !owner->has_graph) &&
           !larder__private_may_be_graphs(a, q->stream);
}

static larder_result request_prepare(struct allocator *a, struct request *q)
{
    if (q->bytes >= REQUEST_LIMIT)
        return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                            "CUDA out of memory. Tried to allocate more than "
                            "1EB memory.");
    if (!events_are_idle(&a->events) && !allocator_is_capturing(a))
        larder__events_poll(a);
    if (a->debug != NULL && has_zones(a, q))
        q->zone_bytes = 2 * ZONE_BYTES;
    q->size = larder__round_size(&a->conf, allocator_unit(a),
                                 q->bytes + q->zone_bytes);
    q->segment_bytes = larder__segment_size(&a->conf, q->size);
    larder__assert(q->size >= q->bytes && q->segment_bytes >= q->size);
    larder__assert(q->size % allocator_unit(a) == 0);
    return larder__request_route(a, q);
}

larder_result larder__request(struct allocator *a, uint64_t bytes,
                              larder_stream stream, larder_hint hint,
                              larder_addr *out)
{
    struct request q = {.bytes = bytes, .stream = stream, .hint = hint};
    uint64_t moves = a->peers == NULL ? 0 : larder__peers_moves(a);
    larder_result r = request_prepare(a, &q);

    larder__assert(allocator_is_locked(a) && bytes > 0);
    if (r == LARDER_OK && a->conf.preallocate_bytes != 0)
        r = preallocate(a, &q);
    if (r != LARDER_OK)
        return r;
    a->ledger_refusal = NULL;
    if (a->conf.pending_limit_bytes != CONF_UNLIMITED)
        larder__request_limit_pending(a, &q);
    r = a->policy->find(a, &q);
    if (r == LARDER_ERR_OUT_OF_MEMORY && allocator_make_room(a))
        r = larder__find_again(a, &q);
    if (r == LARDER_ERR_OUT_OF_MEMORY && a->peers != NULL)
        r = request_ask(a, &q, moves);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        return larder__out_of_memory(a, &q, false);
    if (r != LARDER_OK)
        return r;
    larder__assert(q.block->bytes >= q.size);
    larder__assert(q.block->segment->heap == q.heap);
    larder__block_allocate(a, q.block, q.size, q.bytes,
                           a->policy->should_split(a, &q));
    q.block->uses = q.uses;
    q.block->is_lent = q.takes_lent;
    q.block->zones = q.zone_bytes > 0 ? ZONES_BARE : ZONES_NONE;
    map_put(&a->map, q.block);
    *out = zone_user(q.block);
    return LARDER_OK;
}
