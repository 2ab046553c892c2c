/* world.c - a run's beginning and end. */
#include "storm/storm.h"

#include "storm/hold.h"

/* Settings that a policy or a release does not accept together are refused:
 * then there is no run. */
bool world_up(struct world *w, const struct plan *plan)
{
    larder_options opt;
    larder_result r;

    *w = (struct world){.plan = *plan, .captured = -1, .next_value = 1};
    pthread_rwlock_init(&w->turn, NULL);
    pthread_mutex_init(&w->lock, NULL);
    larder_options_init(&opt);
    opt.policy = plan->policy;
    opt.conf = plan->conf;
    if (larder_device_open(plan->spec, 0, &w->dev) != LARDER_OK) {
        storm_fail("larder_device_open: %s", larder_last_error());
        return false;
    }
    r = larder_create(w->dev, &opt, &w->a);
    if (r != LARDER_OK) {
        if (r != LARDER_ERR_CONF)
            storm_fail("larder_create: %s", larder_last_error());
        return false;
    }
    opt.policy = LARDER_POLICY_DEFAULT;
    opt.conf = "pinned_max_cached_size_mb:4";
    if (plan_has(plan, GROUP_pinned) &&
        larder_pinned_create(w->dev, &opt, &w->pinned) != LARDER_OK)
        storm_fail("larder_pinned_create: %s", larder_last_error());
    for (int i = 0; i < POOLS; i++)
        w->pools[i].id = (larder_pool_id){1 + (uint64_t)i, 7};
    return !storm_failed();
}

static void must(larder_result r, const char *call)
{
    if (r != LARDER_OK)
        storm_fail("at the end: %s: %s", call, larder_last_error());
}
#define MUST(expression) must((expression), #expression)

static void end_pools(struct worker *me)
{
    struct world *w = me->w;

    if (w->captured >= 0)
        op_capture(me);
    for (int i = 0; i < POOLS; i++) {
        if (w->pools[i].is_begun)
            MUST(larder_pool_end(w->a, w->pools[i].id));
        w->pools[i].is_begun = false;
    }
    w->begun = 0;
    for (int i = 0; i < CHECKPOINTS; i++)
        larder_checkpoint_destroy(w->checkpoints[i].handle);
}

struct wish {
    const char *region;
    bool is_met;
};

static void add_wish(void *ctx, const larder_account_line *line)
{
    struct wish *wish = ctx;

    if (line->kind == LARDER_OWNER_REGION &&
        strcmp(line->name, wish->region) == 0)
        wish->is_met = line->available_bytes >= line->asleep_bytes;
}

/* Reserved pieces may leave too little to resume the region: the account says
 * whether they do.  Then it stays paused until the allocator is gone. */
static bool end_pause(struct world *w, const struct region *g)
{
    struct wish wish = {.region = g->name, .is_met = false};

    MUST(larder_account(w->a, add_wish, &wish));
    if (wish.is_met)
        MUST(larder_region_resume(g->handle));
    return wish.is_met;
}

/* Pools with users keep their memory from regions, and minimums keep the whole
 * segment of which they cover a part. */
static void end_claims(struct world *w)
{
    char tag[16];

    MUST(larder_cache_set_minimum(w->a, 0));
    for (struct pool *p = w->pools; p < w->pools + POOLS; p++) {
        if (p->users > 0)
            MUST(larder_pool_set_minimum(w->a, p->id, 0));
        for (; p->users > 0; p->users--)
            MUST(larder_pool_release(w->a, p->id));
    }
    for (int i = 0; i < w->plan.threads; i++) {
        snprintf(tag, sizeof tag, "tag %d", i);
        MUST(larder_tag_set_minimum(w->a, tag, 0));
    }
    for (int i = 0; i < REGIONS; i++) {
        if (w->regions[i].handle != NULL)
            MUST(larder_region_set_minimum(w->regions[i].handle, 0));
    }
}

static void end_regions(struct worker *me)
{
    struct world *w = me->w;

    for (int i = 0; i < REGIONS; i++) {
        struct region *g = &w->regions[i];

        if (g->handle == NULL)
            continue;
        MUST(larder_region_set_limit(g->handle, 0));
        if (g->is_paused && !end_pause(w, g))
            continue;
        MUST(larder_region_destroy(g->handle));
        g->handle = NULL;
    }
}

static void end_blocks(struct worker *me)
{
    struct world *w = me->w;

    for (struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->state != BLOCK_LIVE || b->kind == KIND_REGION)
            continue;
        if (b->kind == KIND_PINNED)
            MUST(larder_pinned_free(w->pinned, (void *)(uintptr_t)b->addr));
        else
            MUST(larder_free(w->a, b->addr));
        b->state = BLOCK_GONE;
    }
}

/* What was injected may have cost an event or an address range for good. */
static void look_for_leaks(struct worker *me)
{
    larder_sim_usage use = {.size = sizeof use};

    MUST(larder_sim_get_usage(me->w->dev, &use));
    if (use.allocations != 0 ||
        (use.pages + use.mappings != 0 && !me->w->has_abandoned))
        storm_fail("at the end: %llu allocations, %llu pages and %llu mappings "
                   "are left on the device",
                   (unsigned long long)use.allocations,
                   (unsigned long long)use.pages,
                   (unsigned long long)use.mappings);
    if (use.reservations + use.events != 0 &&
        !plan_has(&me->w->plan, GROUP_fault))
        storm_fail("at the end: %llu reservations and %llu events are left",
                   (unsigned long long)use.reservations,
                   (unsigned long long)use.events);
}

/* Half of the runs free everything first. */
void world_down(struct worker *me)
{
    struct world *w = me->w;
    bool frees = (w->plan.seed & 1) != 0;

    world_settle(me);
    if (storm_failed())
        return;
    end_pools(me);
    holds_close(me);
    if (frees) {
        MUST(larder_configure(w->a,
                              "limit:1024g,per_process_memory_fraction:1"));
        end_blocks(me);
        end_claims(w);
        end_regions(me);
    }
    for (int i = 0; i < REGIONS; i++)
        frees &= w->regions[i].handle == NULL;
    streams_complete(me);
    if (w->pinned != NULL)
        MUST(larder_destroy(w->pinned));
    /* debug:3 reports what was live. */
    if (larder_destroy(w->a) != LARDER_OK &&
        (frees || strstr(larder_last_error(), "not freed") == NULL))
        storm_fail("at the end: larder_destroy: %s", larder_last_error());
    for (int i = 0; i < REGIONS; i++)
        (void)larder_region_destroy(w->regions[i].handle);
    if (!storm_failed())
        look_for_leaks(me);
    MUST(larder_device_close(w->dev));
}
