/* plan.c - a run's configuration, from its seed. */
#include "storm/storm.h"

#include "support/random.h"

/* Most runs use a few features, so that each is met without the others. */
static unsigned draw_groups(uint64_t *random, unsigned allowed)
{
    static const unsigned sparsely[] = {2, 3, 4, 5};
    const unsigned in_8 = sparsely[random_u64(random, 4)];
    unsigned groups = 0;

    for (int g = 0; g < GROUP_COUNT; g++) {
        if (random_u64(random, 8) < in_8)
            groups |= BIT(g);
    }
    groups |= BIT(GROUP_ordering);
    if (random_u64(random, 3) != 0) /* one thread repeats exactly */
        groups &= ~BIT(GROUP_threads);
    if (groups & BIT(GROUP_lend))
        groups |= BIT(GROUP_pool);
    return groups & allowed;
}

static void add(char *conf, size_t size, const char *words)
{
    size_t used = strlen(conf);

    snprintf(conf + used, size - used, "%s%s", used > 0 ? "," : "", words);
}

static void draw_spec(struct plan *plan, uint64_t *random)
{
    static const uint64_t mib[] = {24, 40, 64, 96};
    static const char *const events[] = {"driver", "driver", "driver", "manual",
                                         "immediate"};
    /* What debug:2 fills stays queued where a free completes nothing. */
    const char *how =
        events[random_u64(random, plan_has(plan, GROUP_debug) ? 3 : 5)];
    const bool has_pages =
        random_u64(random, plan_has(plan, GROUP_region) ? 8 : 3) != 0;

    plan->device_bytes = MIB(mib[random_u64(random, 4)]);
    if (plan_has(plan, GROUP_region)) /* they hold some */
        plan->device_bytes += MIB(16);
    plan->is_manual = strcmp(how, "manual") == 0;
    snprintf(plan->spec, sizeof plan->spec, "sim:%lluMiB,vmm=%s,events=%s%s",
             (unsigned long long)(plan->device_bytes >> 20),
             has_pages ? "on" : "off", how,
             has_pages && plan_has(plan, GROUP_share) ? ",export=fd" : "");
}

static void draw_pytorch_conf(struct plan *plan, uint64_t *random)
{
    static const char *const keys[] = {
        "expandable_segments:True",
        "max_split_size_mb:21",
        "roundup_power2_divisions:4",
        "garbage_collection_threshold:0.6,per_process_memory_fraction:0.9",
        "throw_on_cudamalloc_oom:True",
        "large_segment_size_mb:12",
    };
    char words[64];
    size_t releases = 0;

    while (larder_pytorch_release(releases) != NULL)
        releases++;
    if (random_u64(random, 2) == 0) {
        snprintf(words, sizeof words, "pytorch:%s",
                 larder_pytorch_release(random_u64(random, releases)));
        add(plan->conf, sizeof plan->conf, words);
    }
    for (int i = 0; i < 2; i++) {
        if (random_u64(random, 2) == 0)
            add(plan->conf, sizeof plan->conf,
                keys[3 * i + random_u64(random, 3)]);
    }
}

static void draw_odd_conf(struct plan *plan, uint64_t *random)
{
    static const char *const keys[] = {"small_kib", "handle_mib"};
    char words[64];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint64_t bits;

        if (random_u64(random, 3) != 0)
            continue;
        bits = random_u64(random, 10);
        snprintf(words, sizeof words, "%s:%llu", keys[i],
                 (unsigned long long)(1 + random_u64(random, 1u << bits)));
        add(plan->conf, sizeof plan->conf, words);
    }
}

static void draw_larder_conf(struct plan *plan, uint64_t *random)
{
    static const char *const defrag[] = {"defrag:off", "defrag:eager",
                                         "defrag:limit"};

    if (random_u64(random, 3) == 0)
        add(plan->conf, sizeof plan->conf, defrag[random_u64(random, 3)]);
    if (random_u64(random, 4) == 0)
        add(plan->conf, sizeof plan->conf, "expandable_segments:True");
    if (random_u64(random, 4) == 0)
        add(plan->conf, sizeof plan->conf, "lifetimes:off");
    /* The program promises that one thread issues all work. */
    if (plan_has(plan, GROUP_migrate) && plan->threads == 1 &&
        random_u64(random, 2) == 0)
        add(plan->conf, sizeof plan->conf, "migrate:on");
    if (plan_has(plan, GROUP_odd))
        draw_odd_conf(plan, random);
}

static void draw_conf(struct plan *plan, uint64_t *random)
{
    char words[64];

    if (plan->policy == LARDER_POLICY_LARDER)
        draw_larder_conf(plan, random);
    else
        draw_pytorch_conf(plan, random);
    if (plan_has(plan, GROUP_reserve) && random_u64(random, 2) == 0)
        add(plan->conf, sizeof plan->conf, "preallocate:16MiB");
    if (plan_has(plan, GROUP_debug)) {
        snprintf(words, sizeof words, "debug:%d",
                 1 + (int)random_u64(random, 3));
        add(plan->conf, sizeof plan->conf, words);
    }
    if (plan_has(plan, GROUP_limit) && random_u64(random, 2) == 0)
        add(plan->conf, sizeof plan->conf, "limit:20MiB");
    if (random_u64(random, 8) == 0)
        add(plan->conf, sizeof plan->conf, "pending_limit:4MiB");
    if (random_u64(random, 6) == 0)
        add(plan->conf, sizeof plan->conf, "reclaim_budget_ms:0");
}

void plan_make(struct plan *plan, uint64_t seed, unsigned allowed,
               unsigned forced)
{
    static const larder_policy policies[] = {
        LARDER_POLICY_LARDER,  LARDER_POLICY_LARDER,  LARDER_POLICY_LARDER,
        LARDER_POLICY_PYTORCH, LARDER_POLICY_PYTORCH, LARDER_POLICY_DIRECT};
    uint64_t random = random_begin(seed);

    random_next(&random);
    *plan = (struct plan){.seed = seed, .threads = 1, .steps = 800};
    plan->groups = draw_groups(&random, allowed) | forced;
    if (plan_has(plan, GROUP_threads))
        plan->threads = 2 + (int)random_u64(&random, THREADS_MAX - 1);
    plan->policy = policies[random_u64(&random, 6)];
    if (plan_has(plan, GROUP_region) || plan_has(plan, GROUP_migrate))
        plan->policy = policies[random_u64(&random, 4)]; /* most have them */
    draw_spec(plan, &random);
    draw_conf(plan, &random);
}
