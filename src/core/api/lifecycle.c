/* lifecycle.c - making and destroying allocators. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"
#include "core/api/lifecycle.h"
#include "core/debug/debug.h"
#include "core/entry/handle.h"
#include "core/pause/pause.h"
#include "core/peers/draw.h"
#include "core/peers/peers.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/region/region_pages.h"
#include "core/segments/events.h"

#include "core/history/recording.h"
#include "core/segments/segment.h"
#include "core/trim/trim.h"

/* ---- options -------------------------------------------------------------- */

void larder_options_init_sized(larder_options *opt, size_t size)
{
    sized_init(opt, size);
}

larder_result larder__options_read(const larder_options *opt,
                                   larder_options *out)
{
    const unsigned char *tail = (const unsigned char *)opt;
    size_t known;

    memset(out, 0, sizeof *out);
    if (opt == NULL)
        return LARDER_OK;
    if (opt->size < sizeof opt->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_options.size is %zu: use "
                            "larder_options_init()",
                            opt->size);
    known = opt->size < sizeof *out ? opt->size : sizeof *out;
    for (size_t i = known; i < opt->size; i++) {
        if (tail[i] != 0)
            return larder__fail(LARDER_ERR_INVALID,
                                "larder_options has a field that this version "
                                "of the library does not know");
    }
    memcpy(out, opt, known);
    if (out->flags != 0)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_options.flags is %u, must be 0",
                            out->flags);
    return LARDER_OK;
}

/* Those that users can choose; the first is the default. */
static const struct policy *const policies[] = {
    &larder__policy_larder,
    &larder__policy_pytorch,
    &larder__policy_direct,
};

enum { POLICIES = sizeof policies / sizeof policies[0] };

static const struct policy *policy_get(larder_policy id)
{
    if (id == LARDER_POLICY_DEFAULT)
        return policies[0];
    for (int i = 0; i < POLICIES; i++) {
        if (policies[i]->id == id)
            return policies[i];
    }
    return NULL;
}

larder_result larder_policy_parse(const char *name, larder_policy *out)
{
    if (name == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    for (int i = 0; i < POLICIES; i++) {
        if (strcmp(policies[i]->name, name) == 0) {
            *out = policies[i]->id;
            return LARDER_OK;
        }
    }
    return larder__fail(
        LARDER_ERR_INVALID,
        "'%s' is not a policy: expected larder, pytorch or direct", name);
}

const char *larder_policy_name(larder_policy policy)
{
    const struct policy *p = policy_get(policy);

    return p == NULL ? "?" : p->name;
}

/* ---- creating ------------------------------------------------------------- */

static void allocator_free(struct allocator *a)
{
    larder__debug_destroy(a);
    larder__history_end(a);
    larder__shards_destroy(a);
    larder__slab_destroy(&a->slab);
    larder__map_destroy(&a->map);
    larder__pools_destroy(a->pools);
    larder__private_destroy(a);
    larder__tags_destroy(a);
    larder__host_free(a->orphans.list);
    larder__paged_unmake(a);
    larder__host_free(a->reclaims.list);
    larder__host_free(a->oom_observers.list);
    larder__host_free(a);
}

/* The largest request of the small pool: a setting where pages move. */
static uint64_t small_max(const struct allocator *a)
{
    static_assert(CONF_SMALL_KIB_LEAST * LARDER_KIB >= 1u << MAP_SLOT_LOG2,
                  "no two large blocks begin in the same slot");
    return a->is_paged ? a->conf.small_kib * LARDER_KIB
                       : (uint64_t)SMALL_MAX_BYTES;
}

static larder_result allocator_init(struct allocator *a, larder_device *dev,
                                    const larder_options *opt)
{
    const char *conf =
        opt->conf != NULL ? opt->conf : secure_getenv("LARDER_CONF");
    larder_result r;

    a->device = dev;
    a->props.size = sizeof a->props;
    r = larder_device_get_props(dev, &a->props);
    if (r != LARDER_OK)
        return r;
    larder__shards_init(a);
    larder__conf_init(&a->conf);
    r = larder__paged_make(a);
    if (r != LARDER_OK)
        return r;
    r = larder__configure(a, conf != NULL ? conf : "");
    a->small_max_bytes = small_max(a); /* never changes */
    a->slab.has_serials =
        a->policy->is_exact && a->conf.rules->free_order != PYTORCH_ADDRESSES;
    if (r == LARDER_OK)
        r = larder__configure_history(a);
    if (r == LARDER_OK)
        r = larder__debug_create(a);
    if (r != LARDER_OK)
        return r;
    return larder__map_init(&a->map)
               ? LARDER_OK
               : larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
}

static larder_result allocator_make(larder_device *dev,
                                    const struct policy *policy,
                                    const larder_options *opt,
                                    struct allocator **out)
{
    struct allocator *a = larder__host_alloc(1, sizeof *a);
    larder_result r;

    if (a == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    lock_init(&a->lock, RANK_ALLOCATOR);
    larder__slab_init(&a->slab);
    larder__pools_init(a->pools, NULL);
    a->policy = policy;
    r = allocator_init(a, dev, opt);
    if (r != LARDER_OK) {
        allocator_free(a);
        return r;
    }
    larder__audit_begin(a, larder__check_rules);
    *out = a;
    return LARDER_OK;
}

larder_result larder__allocator_create(larder_device *dev,
                                       const struct policy *policy,
                                       const larder_options *own,
                                       larder_allocator **out)
{
    struct allocator *a = NULL;
    larder_allocator *handle;
    larder_result r = allocator_make(dev, policy, own, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__peers_join(a, larder__trim_for_peer);
    if (r == LARDER_OK)
        r = larder__trimmer_set(a);
    handle = r == LARDER_OK ? larder__handle_make(a) : NULL;
    if (handle == NULL) {
        larder__trimmer_end(a);
        larder__peers_leave(a);
        allocator_free(a);
        return r != LARDER_OK ? r
                              : larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    larder__device_hold(dev);
    *out = handle;
    return LARDER_OK;
}

larder_result larder_create(larder_device *dev, const larder_options *opt,
                            larder_allocator **out)
{
    const struct policy *policy;
    larder_options own;
    larder_result r;

    r = larder__device_check(dev);
    if (r != LARDER_OK)
        return r;
    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__options_read(opt, &own);
    if (r != LARDER_OK)
        return r;
    policy = policy_get(own.policy);
    if (policy == NULL)
        return larder__fail(LARDER_ERR_INVALID, "%d is not a policy",
                            (int)own.policy);
    return larder__allocator_create(dev, policy, &own, out);
}

/* ---- destroying ----------------------------------------------------------- */

/* Wait for the streams recorded for blocks that are live or have no event
 * yet. */
static larder_result sync_uses(struct allocator *a, const struct segment *s)
{
    larder_result r = LARDER_OK;

    for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        if (!block_is_in_use(b))
            continue;
        for (const struct use *use = b->uses; use != NULL; use = use->next)
            fail_keep_first(&r,
                            larder_device_stream_sync(a->device, use->stream));
    }
    return r;
}

static larder_result segment_destroy(struct allocator *a, struct segment *s)
{
    larder_result r = LARDER_OK;

    larder__assert(s->heap != NULL && s->head != NULL);
    if (s->pages != NULL)
        return larder__paged_destroy(a, s);
    if (s->kind == SEGMENT_DRIVER)
        r = larder__return_memory(a, s->addr, s->bytes);
    larder__segment_free(s);
    return r;
}

static larder_result release_everything(struct allocator *a)
{
    larder_result r = LARDER_OK;

    for (uint32_t i = 0; i < a->events.queue_count; i++) {
        const struct use *last =
            a->events.queues[i].first == NULL ? NULL : a->events.queues[i].last;

        if (last != NULL)
            fail_keep_first(&r,
                            larder_device_event_sync(a->device, last->event));
    }
    for (const struct segment *s = a->segments; s != NULL; s = s->next)
        fail_keep_first(&r, sync_uses(a, s));
    larder__pause_destroy(a);
    while (a->segments != NULL)
        fail_keep_first(&r, segment_destroy(a, a->segments));
    larder__paged_release_loose(a);
    fail_keep_first(&r, larder__pieces_release(a));
    fail_keep_first(&r, larder__orphans_release(a));
    fail_keep_first(&r, larder__events_destroy(a));
    larder__device_lacks(a->device, a->held_bytes + a->account.refused_bytes);
    return r;
}

static bool pools_are_captured(const struct allocator *a,
                               const struct pool *pools)
{
    const struct heap *heap;

    for (size_t i = 0; (heap = pools_heap(pools, i)) != NULL; i++) {
        int is_capturing = 0;

        if (larder_device_stream_is_capturing(a->device, heap->stream,
                                              &is_capturing) == LARDER_OK &&
            is_capturing)
            return true;
    }
    return false;
}

/* Whether a stream that memory was allocated for is capturing: the device would
 * refuse to release memory. */
static bool is_captured(struct allocator *a)
{
    bool is;

    allocator_lock(a);
    is = pools_are_captured(a, a->pools);
    for (const struct private_pool *p = a->privates.first; p != NULL && !is;
         p = p->next)
        is = pools_are_captured(a, p->pools);
    allocator_unlock(a);
    return is;
}

/* Check for other calls first: one that waits for this thread may hold the
 * locks. */
static larder_result close_handle(larder_allocator *handle, struct allocator *a)
{
    larder_result r = larder__handle_alone(handle);

    if (r == LARDER_OK && is_captured(a))
        return larder__fail(LARDER_ERR_CAPTURING,
                            "the allocator cannot be destroyed while one of "
                            "its streams is being captured");
    return r == LARDER_OK ? larder__handle_take(handle) : r;
}

/* Run the final checks of the setting debug. */
static larder_result check_at_end(struct allocator *a)
{
    larder_result r;

    if (a->debug == NULL)
        return LARDER_OK;
    allocator_lock(a);
    r = larder__debug_end(a);
    allocator_unlock(a);
    return r;
}

larder_result larder_destroy(larder_allocator *handle)
{
    struct allocator *a;
    larder_device *dev;
    bool owns_device;
    larder_result found;
    larder_result r;

    if (handle == NULL)
        return LARDER_OK;
    a = larder__handle_enter(handle);
    if (a == NULL)
        return larder__handle_bad(handle);
    r = close_handle(handle, a);
    if (r != LARDER_OK) {
        larder__handle_leave(handle);
        return r;
    }
    dev = a->device;
    owns_device = a->owns_device;
    larder__trimmer_end(a);
    larder__peers_withdraw(a);
    found = check_at_end(a);
    r = release_everything(a);
    larder__peers_leave(a);
    allocator_free(a);
    larder__device_drop(dev);
    if (owns_device)
        fail_keep_first(&r, larder_device_close(dev));
    larder__handle_leave(handle);
    return r == LARDER_OK ? found : LARDER_ERR_DEVICE;
}
