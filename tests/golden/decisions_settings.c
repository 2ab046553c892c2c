/* decisions_settings.c - operations of random programs on limits, minimums and
 * other settings. */
#include <larder/account.h>

#include "golden/decisions.h"

static uint64_t draw_bound(struct world *w)
{
    return chance(w, 3) ? 0
                        : MIB(1) * draw(w, 2 + w->plan.device_bytes / MIB(2));
}

static void limit_all(struct world *w)
{
    static const double fractions[] = {0.25, 0.5, 0.8, 1, 1};
    double fraction = fractions[draw(w, 5)];

    step_says(w, "fraction %g", fraction);
    CALL(w, larder_set_memory_fraction(w->rig.a, fraction));
}

void op_limit(struct world *w)
{
    uint64_t bytes = draw_bound(w);
    uint64_t which = draw(w, 8);

    step_says(w, "limit %llu of %llu", (unsigned long long)bytes,
              (unsigned long long)which);
    if (which == 0)
        limit_all(w);
    else if (which <= 2)
        CALL(w, larder_cache_set_limit(w->rig.a, bytes));
    else if (which <= 4)
        CALL(w, larder_tag_limit(w->rig.a, tag_name(draw(w, TAGS)), bytes));
    else if (which <= 6)
        CALL(w, larder_pool_set_limit(w->rig.a, w->pools[draw(w, POOLS)].id,
                                      bytes));
    else if (w->regions[0] != NULL)
        CALL(w, larder_region_set_limit(w->regions[0], bytes & ~(MIB(2) - 1)));
}

void op_minimum(struct world *w)
{
    uint64_t bytes = draw_bound(w) / 2;
    uint64_t which = draw(w, 8);

    step_says(w, "minimum %llu of %llu", (unsigned long long)bytes,
              (unsigned long long)which);
    if (which <= 2)
        CALL(w, larder_cache_set_minimum(w->rig.a, bytes));
    else if (which <= 4)
        CALL(w,
             larder_tag_set_minimum(w->rig.a, tag_name(draw(w, TAGS)), bytes));
    else if (which <= 6)
        CALL(w, larder_pool_set_minimum(w->rig.a, w->pools[draw(w, POOLS)].id,
                                        bytes));
    else if (w->regions[0] != NULL)
        CALL(w,
             larder_region_set_minimum(w->regions[0], bytes & ~(MIB(2) - 1)));
}

void op_configure(struct world *w)
{
    static const char *const settings[] = {
        "",
        "limit:16MiB",
        "limit:1024g",
        "max_split_size_mb:21",
        "roundup_power2_divisions:8",
        "garbage_collection_threshold:0.5",
        "per_process_memory_fraction:0.7",
        "per_process_memory_fraction:1",
        "expandable_segments:True",
        "expandable_segments:False",
        "pending_limit:2MiB",
        "pending_limit:0",
        "reclaim_budget_ms:0",
        "reclaim_budget_ms:unlimited",
        "defrag:off",
        "defrag:limit",
        "defrag:eager",
        "migrate:on",
        "migrate:off",
        "lifetimes:off",
        "lifetimes:hints",
        "handle_mib:4",
        "handle_mib:0",
        "limit:16MiB,nonsense:1",
    };
    const char *conf = settings[draw(w, sizeof settings / sizeof settings[0])];

    step_says(w, "configure %s", conf);
    CALL(w, larder_configure(w->rig.a, conf));
}
