/* ops_setting.c - settings, limits and minimums changed on the way. */
#include "storm/storm.h"

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
    "throw_on_cudamalloc_oom:False",
    "pending_limit:2MiB",
    "pending_limit:0",
    "reclaim_budget_ms:0",
    "reclaim_budget_ms:unlimited",
    "history:500",
    "history:0",
    "defrag:off",
    "defrag:limit",
    "defrag:eager",
    "lifetimes:off",
    "lifetimes:hints",
    "handle_mib:3",
    "handle_mib:0",
    "migrate:off",
    "dump_on_oom:/dev/null",
    "preallocate:4MiB",
    "preallocate:0",
    "expandable_segments_reserve:0.5",
    "max_non_split_rounding_mb:25",
    "large_segment_size_mb:12",
};

/* Settings that one thread's runs are without: a clock decides. */
static const char *const timed[] = {"trim_age:0.01", "trim_age:0"};

/* What is refused changes nothing. */
static const char *const wrong[] = {
    "limit:16MiB,nonsense:1",
    "expandable_segments:true",
    "debug:7",
    "max_split_size_mb:1",
    "limit:",
};

void op_configure(struct worker *me)
{
    larder_allocator *a = me->w->a;
    size_t i = draw(me, sizeof settings / sizeof settings[0]);
    const char *bad = wrong[draw(me, sizeof wrong / sizeof wrong[0])];

    if (larder_conf_check(settings[i]) != LARDER_OK)
        storm_fail("'%s' is not accepted: %s", settings[i],
                   larder_last_error());
    if (me->w->plan.threads > 1 && chance(me, 8)) {
        CALL(me, MAY(CONF), larder_configure(a, timed[draw(me, 2)]));
    } else if (chance(me, 6)) {
        if (larder_configure(a, bad) != LARDER_ERR_CONF)
            storm_fail("'%s' is accepted", bad);
    } else {
        storm_note(me, "%s", settings[i]);
        CALL(me, MAY(CONF) | MAY(OUT_OF_MEMORY),
             larder_configure(a, settings[i]));
    }
}

void op_fraction(struct worker *me)
{
    double want = chance(me, 2) ? 1.0 : 0.3 + (double)draw(me, 64) / 100;
    double got = 0;

    if (CALL(me, 0, larder_set_memory_fraction(me->w->a, want)) == LARDER_OK &&
        (larder_memory_fraction(me->w->a, &got) != LARDER_OK || got != want))
        storm_fail("the fraction %f was set and is %f", want, got);
}

void op_cache_bounds(struct worker *me)
{
    uint64_t bytes = chance(me, 2) ? 0 : MIB(2) * draw(me, 12);

    if (chance(me, 2) || !plan_has(&me->w->plan, GROUP_minimum))
        CALL(me, 0, larder_cache_set_limit(me->w->a, bytes));
    else
        CALL(me, MAY(OUT_OF_MEMORY),
             larder_cache_set_minimum(me->w->a, bytes / 2));
}
