/* ask.c - asking other processes for what a request lacks. */
#include "base/bits.h"
#include "core/peers/peers.h"
#include "core/request/request.h"
#include "core/state/shard.h"
#include "core/state/usage.h"

enum { WHOLE_BYTES = 2 << 20 /* what a device gives at least */ };

/* What others can give does not help. */
static bool is_hopeless(const struct allocator *a, const struct request *q)
{
    return q->over_limit || usage_is_final(q) || q->rejected ||
           larder__request_is_hopeless(a, q);
}

/* What the device has to have more for it to be found; 0: it may be found. */
static uint64_t lacking(struct allocator *a, const struct request *q)
{
    uint64_t need = bits_up(q->size, WHOLE_BYTES);
    uint64_t free_bytes = 0;
    uint64_t total;
    uint64_t have;

    if (!a->is_paged && q->segment_bytes > need)
        need = q->segment_bytes;
    (void)larder__device_mem_info(a->device, &free_bytes, &total);
    have = larder__peers_room(a->peers, free_bytes);
    if (a->is_paged)
        have += a->policy->state->movable_bytes(a);
    return need > have ? need - have : 0;
}

larder_result larder__request_ask(struct allocator *a, struct request *q,
                                  struct peers_search *search)
{
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    while (r == LARDER_ERR_OUT_OF_MEMORY && !is_hopeless(a, q)) {
        uint64_t bytes = lacking(a, q);
        bool goes_on;

        larder__unlock_all(a);
        goes_on = larder__peers_search_goes_on(a->peers, search, bytes);
        larder__lock_all(a);
        if (!goes_on)
            break;
        a->ledger_refusal = NULL;
        r = larder__find_again(a, q);
    }
    return r;
}
