/* decisions_plan.c - what a random program is made of, from its number. */
#include "golden/decisions.h"

static uint64_t below(struct plan *plan, uint64_t end)
{
    return random_u64(&plan->seed, end);
}

static void add_conf(struct plan *plan, const char *words)
{
    size_t used = strlen(plan->conf);

    snprintf(plan->conf + used, sizeof plan->conf - used, "%s%s",
             used > 0 ? "," : "", words);
}

/* One of the words, or none, once in `in`. */
static void draw_conf(struct plan *plan, uint64_t in, const char *const *words,
                      size_t count)
{
    if (below(plan, in) == 0)
        add_conf(plan, words[below(plan, count)]);
}

#define DRAW_CONF(plan, in, ...)                                               \
    draw_conf((plan), (in), (const char *const[]){__VA_ARGS__},                \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Most programs use a few, so that each is met without the others. */
static unsigned draw_some(struct plan *plan)
{
    const unsigned in_8 = 1 + (unsigned)below(plan, 4);
    unsigned features = 0;

    for (int f = 0; f < FEATURE_COUNT; f++) {
        if (below(plan, 8) < in_8)
            features |= BIT(f);
    }
    features |= BIT(below(plan, FEATURE_COUNT));
    /* Rarely, as they hide much else. */
    if (below(plan, 3) != 0)
        features &= ~(BIT(FEATURE_faults) | BIT(FEATURE_hostless));
    if (below(plan, 6) != 0)
        features &= ~(BIT(FEATURE_debug) | BIT(FEATURE_exports));
    return features;
}

/* What half of the programs are for. */
static unsigned draw_features(struct plan *plan)
{
    switch (plan->number % 8) {
    case 0:
        return BIT(FEATURE_migrate) | BIT(FEATURE_faults) |
               BIT(below(plan, FEATURE_COUNT));
    case 1:
        return BIT(FEATURE_tags) | BIT(FEATURE_regions) | BIT(FEATURE_faults) |
               BIT(below(plan, FEATURE_COUNT));
    case 2:
        return BIT(FEATURE_hints) | BIT(FEATURE_releases) |
               (below(plan, 2) == 0 ? BIT(FEATURE_limits) : 0);
    case 3:
        return BIT(FEATURE_pools) | BIT(FEATURE_lending) |
               BIT(FEATURE_checkpoints) | BIT(below(plan, FEATURE_COUNT));
    default:
        return draw_some(plan);
    }
}

static larder_policy draw_policy(struct plan *plan)
{
    const uint64_t what = below(plan, 16);

    if (plan_has(plan, FEATURE_regions) || plan->number % 8 == 0 || what >= 4)
        return LARDER_POLICY_LARDER;
    return what == 0 ? LARDER_POLICY_DIRECT : LARDER_POLICY_PYTORCH;
}

static void draw_spec(struct plan *plan)
{
    static const uint64_t mib[] = {24, 40, 64, 96, 160};
    static const char *const events[] = {"manual", "manual", "driver",
                                         "immediate"};
    const bool has_pages =
        below(plan, plan_has(plan, FEATURE_regions) ? 12 : 5) != 0 ||
        plan->number % 8 < 3;
    /* What debug:2 writes stays queued where a free completes nothing. */
    const char *how =
        events[plan_has(plan, FEATURE_debug) ? 2 : below(plan, 4)];
    const bool is_real = plan_has(plan, FEATURE_debug) ||
                         (has_pages && plan_has(plan, FEATURE_exports));

    plan->device_bytes = MIB(mib[below(plan, 5)]);
    if (plan_has(plan, FEATURE_regions))
        plan->device_bytes += MIB(24);
    snprintf(plan->spec, sizeof plan->spec,
             "sim:%lluMiB,backing=%s,vmm=%s,events=%s%s%s",
             (unsigned long long)(plan->device_bytes >> 20),
             is_real ? "memory" : "none", has_pages ? "on" : "off", how,
             below(plan, 4) == 0 ? ",context=3MiB" : "",
             has_pages && plan_has(plan, FEATURE_exports) ? ",export=fd" : "");
}

static void draw_pytorch_conf(struct plan *plan)
{
    char words[64];
    size_t releases = 1;

    while (larder_pytorch_release(releases) != NULL)
        releases++;
    if (below(plan, 2) == 0) {
        snprintf(words, sizeof words, "pytorch:%s",
                 larder_pytorch_release(below(plan, releases)));
        add_conf(plan, words);
    }
    DRAW_CONF(plan, 2, "expandable_segments:True", "max_split_size_mb:21",
              "roundup_power2_divisions:4");
    DRAW_CONF(plan, 3, "throw_on_cudamalloc_oom:True",
              "large_segment_size_mb:12",
              "garbage_collection_threshold:0.6,"
              "per_process_memory_fraction:0.9");
}

static void draw_larder_conf(struct plan *plan)
{
    DRAW_CONF(plan, 2, "defrag:off", "defrag:eager", "defrag:eager");
    DRAW_CONF(plan, 2, "handle_mib:2", "handle_mib:4", "handle_mib:6",
              "handle_mib:32");
    DRAW_CONF(plan, 4, "expandable_segments:True");
    DRAW_CONF(plan, 6, "small_kib:300", "small_kib:1024");
    DRAW_CONF(plan, 8, "lifetimes:off");
    DRAW_CONF(plan, plan_has(plan, FEATURE_limits) ? 2 : 8,
              "throw_on_cudamalloc_oom:True");
    DRAW_CONF(plan, 8, "large_segment_size_mb:12", "roundup_power2_divisions:4",
              "max_split_size_mb:21");
    if (plan_has(plan, FEATURE_migrate))
        DRAW_CONF(plan, 2, "migrate:on", "migrate:on", "migrate:off");
}

static void draw_settings(struct plan *plan)
{
    static const char *const debug[] = {"debug:2", "debug:3"};

    if (plan->policy == LARDER_POLICY_PYTORCH)
        draw_pytorch_conf(plan);
    else
        draw_larder_conf(plan);
    if (plan_has(plan, FEATURE_pieces))
        DRAW_CONF(plan, 2, "preallocate:16MiB", "preallocate:7MiB");
    if (plan_has(plan, FEATURE_limits))
        DRAW_CONF(plan, 2, "limit:20MiB", "limit:36MiB",
                  "per_process_memory_fraction:0.7");
    if (plan_has(plan, FEATURE_debug))
        add_conf(plan, debug[below(plan, 2)]);
    DRAW_CONF(plan, 8, "pending_limit:4MiB");
    DRAW_CONF(plan, 6, "reclaim_budget_ms:0");
}

void plan_make(struct plan *plan, unsigned number)
{
    *plan = (struct plan){
        .number = number,
        .steps = 1200,
        .seed = random_begin(number + 1),
    };
    random_next(&plan->seed);
    plan->features = draw_features(plan);
    if (plan->features & (BIT(FEATURE_lending) | BIT(FEATURE_checkpoints) |
                          BIT(FEATURE_capture)))
        plan->features |= BIT(FEATURE_pools);
    plan->policy = draw_policy(plan);
    draw_spec(plan);
    draw_settings(plan);
}
