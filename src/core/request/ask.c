/* ask.c - asks other processes for memory that a request lacks. */
#include "base/bits.h"
#include "core/peers/peers.h"
#include "core/request/request.h"

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

larder_result larder__request_ask(struct allocator *a, struct request *q,
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
