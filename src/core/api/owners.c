/* owners.c - the public calls on the account of a device. */
#include <larder/account.h>

#include "base/bits.h"
#include "base/fail.h"
#include "core/segments/minimum.h"
#include "core/entry/handle.h"
#include "core/pools/private.h"
#include "core/pools/tags.h"
#include "core/region/region_pages.h"
#include "core/state/held.h"

const char *larder_owner_name(larder_owner_kind kind)
{
    switch (kind) {
#define X(name, value, text)                                                   \
    case LARDER_OWNER_##name:                                                  \
        return text;
        LARDER_OWNER_MAP(X)
#undef X
    }
    return "?";
}

/* ---- the lines ------------------------------------------------------------- */

/* An account that is being reported. */
struct account_report {
    struct allocator *a;
    larder_account_fn *fn;
    void *ctx;
    uint64_t used;             /* by all owners */
    uint64_t unused_in_pieces; /* for segments alone: tags and regions have
                                  pages */
    uint64_t kept_on_host;
};

static void owners_report(const struct account_report *t,
                          larder_account_line line)
{
    line.size = sizeof line;
    if (line.name == NULL)
        line.name = "";
    t->fn(t->ctx, &line);
}

/* Live and pending bytes of the segment. */
static uint64_t used_of(struct allocator *a, const struct segment *s)
{
    uint64_t bytes = 0;

    for (const struct block *b = s->head; b != NULL; b = block_next(a, b))
        bytes += block_is_in_use(b) ? b->bytes : 0;
    return bytes;
}

/* The same of the private pool; while it is paused, of memory or not. */
static uint64_t active_in(struct allocator *a, const struct private_pool *p)
{
    uint64_t bytes = 0;

    for (const struct segment *s = p->segments; s != NULL; s = s->pool_next)
        bytes += used_of(a, s);
    return bytes;
}

/* What a paused pool still holds, after a step that the device refused, waits for
 * it to resume: no other owner can have it. */
static uint64_t used_by(struct allocator *a, const struct private_pool *p)
{
    return p->is_paused ? p->holding.held_bytes : active_in(a, p);
}

static uint64_t unused_in_pieces(struct allocator *a)
{
    uint64_t bytes = 0;

    for (const struct piece *p = a->pieces; p != NULL; p = p->next) {
        bytes += p->bytes;
        for (const struct segment *s = p->parts; s != NULL; s = s->piece_next)
            bytes -= used_of(a, s);
    }
    return bytes;
}

/* How much more the owner could hold if no other held more than it uses or than
 * its minimum. */
static uint64_t available_to(const struct account_report *t,
                             const struct holding *h,
                             const larder_account_line *line)
{
    const struct account *account = &t->a->account;
    uint64_t capacity = held_capacity(t->a);
    uint64_t others =
        t->used - line->used_bytes + account_owed_to_others(account, h);
    uint64_t max;

    larder__assert(line->used_bytes <= t->used);
    if (line->kind == LARDER_OWNER_TAG || line->kind == LARDER_OWNER_REGION)
        others += t->unused_in_pieces;
    max = capacity > others ? capacity - others : 0;
    if (h->limit_bytes != 0)
        max = bits_lesser(max, h->limit_bytes);
    return max > h->held_bytes ? max - h->held_bytes : 0;
}

static void report_owner(const struct account_report *t,
                         const struct holding *h, larder_account_line line)
{
    line.held_bytes = h->held_bytes;
    line.minimum_bytes = h->minimum_bytes;
    line.limit_bytes = h->limit_bytes;
    line.available_bytes = available_to(t, h, &line);
    owners_report(t, line);
}

static void report_private(struct account_report *t,
                           const struct private_pool *p)
{
    larder_account_line line = {.kind = LARDER_OWNER_POOL,
                                .pool = p->id,
                                .name = p->name,
                                .asleep_bytes = p->paused_bytes};

    if (p->name != NULL) {
        line.kind = p->tag != NULL ? LARDER_OWNER_TAG : LARDER_OWNER_REGION;
        line.pool = (larder_pool_id){0};
    }
    t->kept_on_host += kept_bytes(&p->kept);
    line.used_bytes = used_by(t->a, p);
    report_owner(t, &p->holding, line);
}

/* Report memory of the device that no owner in this allocator holds. */
static void report_rest(const struct account_report *t, uint64_t held_there,
                        uint64_t free_bytes, uint64_t total_bytes)
{
    const struct allocator *a = t->a;
    uint64_t own = a->held_bytes + a->account.refused_bytes;
    uint64_t rest = total_bytes - bits_lesser(total_bytes, free_bytes);
    uint64_t other = held_there - bits_lesser(held_there, own);
    uint64_t context;

    /* Free, but a move that failed has to take it again. */
    free_bytes -= bits_lesser(free_bytes, own - bits_lesser(own, rest));
    rest -= bits_lesser(rest, own);
    other = bits_lesser(rest, other);
    rest -= other;
    context = bits_lesser(rest, a->props.context_bytes);
    owners_report(
        t, (larder_account_line){.kind = LARDER_OWNER_REFUSED,
                                 .held_bytes = a->account.refused_bytes});
    owners_report(t, (larder_account_line){.kind = LARDER_OWNER_ALLOCATORS,
                                           .held_bytes = other});
    owners_report(t, (larder_account_line){.kind = LARDER_OWNER_CONTEXT,
                                           .held_bytes = context});
    owners_report(t, (larder_account_line){.kind = LARDER_OWNER_OTHERS,
                                           .held_bytes = rest - context});
    owners_report(t, (larder_account_line){.kind = LARDER_OWNER_FREE,
                                           .held_bytes = free_bytes});
}

/* What all allocators on the device hold and what is free, at one moment: ask
 * again while the values change. */
static larder_result ask_device(const struct allocator *a, uint64_t *held,
                                uint64_t *free_bytes, uint64_t *total_bytes)
{
    enum { TRIES = 100 };
    larder_result r = LARDER_OK;

    for (int i = 0; i < TRIES && r == LARDER_OK; i++) {
        *held = larder__device_held(a->device);
        r = larder_device_mem_info(a->device, free_bytes, total_bytes);
        if (*held == larder__device_held(a->device))
            break;
    }
    return r;
}

static larder_result report_all(struct allocator *a, struct account_report *t)
{
    uint64_t used = (uint64_t)metric_all(&a->stats.active_bytes);
    uint64_t free_bytes;
    uint64_t total_bytes;
    uint64_t held;
    larder_result r = ask_device(a, &held, &free_bytes, &total_bytes);

    larder__assert(allocator_is_locked(a));
    if (r != LARDER_OK)
        return r;
    if (a->props.total_bytes == 0) /* nothing is known about host memory */
        total_bytes = free_bytes + a->held_bytes;
    t->used = used;
    t->unused_in_pieces = unused_in_pieces(a);
    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        uint64_t active = active_in(a, p);

        larder__assert(active <= used); /* all sums are of one moment */
        used -= active;
        t->used += used_by(a, p) - active;
    }
    report_owner(
        t, &a->account.cache,
        (larder_account_line){.kind = LARDER_OWNER_CACHE, .used_bytes = used});
    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next)
        report_private(t, p);
    report_rest(t, held, free_bytes, total_bytes);
    owners_report(
        t, (larder_account_line){
               .kind = LARDER_OWNER_PINNED,
               .held_bytes = larder__device_pinned(a->device) + t->kept_on_host,
               .asleep_bytes = t->kept_on_host});
    return LARDER_OK;
}

larder_result larder_account(larder_allocator *handle, larder_account_fn *fn,
                             void *ctx)
{
    struct account_report t = {.fn = fn, .ctx = ctx};
    struct allocator *a;
    larder_result r;

    if (fn == NULL)
        return larder__fail(LARDER_ERR_INVALID, "larder_account(): fn is NULL");
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    t.a = a;
    return larder__handle_end(a, report_all(a, &t));
}

/* ---- minimums and limits --------------------------------------------------- */

larder_result larder_cache_set_minimum(larder_allocator *handle, uint64_t bytes)
{
    struct allocator *a;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a,
                              larder__minimum_set(a, &a->account.cache, bytes));
}

/* A pool without users does not grow, and may be destroyed when cached memory
 * is released. */
static larder_result check_may_grow(const struct private_pool *p,
                                    uint64_t bytes)
{
    if (p->users > 0 || bytes <= p->holding.minimum_bytes)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_UNKNOWN_POOL,
                        "private pool (%llu, %llu) was released by its last "
                        "user: its minimum cannot be raised",
                        (unsigned long long)p->id.first,
                        (unsigned long long)p->id.second);
}

larder_result larder_pool_set_minimum(larder_allocator *handle,
                                      larder_pool_id id, uint64_t bytes)
{
    struct allocator *a;
    struct private_pool *p;
    larder_result r =
        larder__private_lock(handle, id, &a, &p, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    r = check_may_grow(p, bytes);
    if (r == LARDER_OK)
        r = larder__minimum_set(a, &p->holding, bytes);
    return larder__handle_end(a, r);
}

larder_result larder_tag_set_minimum(larder_allocator *handle, const char *name,
                                     uint64_t bytes)
{
    struct allocator *a;
    struct tag *tag;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    r = larder__tag_get(a, name, &tag);
    if (r == LARDER_OK)
        r = larder__minimum_set(a, &tag->pool->holding, bytes);
    return larder__handle_end(a, r);
}

larder_result larder_cache_set_limit(larder_allocator *handle, uint64_t bytes)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    a->account.cache.limit_bytes = bytes;
    larder__paged_reset(a);
    return larder__handle_end(a, LARDER_OK);
}
