/* bench_sharing.c - one account in a process: the driver cost of regions, sleep
 * and lending, and what they save (docs/SHARING.md).
 *
 *   bench_sharing
 *
 * On a simulated GPU without memory behind it; times are sums of the bundled
 * price table, in milliseconds. */
#include <inttypes.h>
#include <stdio.h>

#include <larder/account.h>
#include <larder/device.h>
#include <larder/region.h>
#include <larder/sim.h>
#include <larder/tag.h>

#include "measure.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define PAGE ((uint64_t)LARDER_REGION_PAGE)

static larder_device *dev;
static larder_allocator *a;

static void up(const char *spec, larder_policy policy, const char *conf)
{
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = conf;
    must(larder_device_open(spec, 0, &dev));
    must(larder_create(dev, &opt, &a));
}

static void down(void)
{
    must(larder_destroy(a));
    must(larder_device_close(dev));
}

static larder_addr have(uint64_t bytes)
{
    larder_addr p;

    must(larder_alloc(a, bytes, 0, &p));
    return p;
}

static larder_device_counters counters(void)
{
    larder_device_counters c = {.size = sizeof c};

    must(larder_device_get_counters(dev, &c));
    return c;
}

static uint64_t calls_of(const larder_device_counters *c)
{
    uint64_t sum = 0;

    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        sum += c->calls[i];
    return sum;
}

static uint64_t used_bytes(void)
{
    larder_sim_usage usage = {.size = sizeof usage};

    must(larder_sim_get_usage(dev, &usage));
    return usage.used_bytes;
}

/* The calls since the counters were reset. */
static void print_calls(const char *what)
{
    larder_device_counters c = counters();

    printf("%-44s %6" PRIu64 " calls (create %" PRIu64 ", map %" PRIu64
           ", access %" PRIu64 ", unmap %" PRIu64 ", release %" PRIu64
           ") %9.3f ms\n",
           what, calls_of(&c), c.calls[LARDER_CALL_page_create],
           c.calls[LARDER_CALL_map], c.calls[LARDER_CALL_set_access],
           c.calls[LARDER_CALL_unmap], c.calls[LARDER_CALL_page_release],
           (double)c.time_ns / 1e6);
    must(larder_device_reset_counters(dev));
}

/* ---- regions --------------------------------------------------------------- */

static void bench_commit(void)
{
    larder_region *kv;

    up("sim:80GiB,backing=none", LARDER_POLICY_LARDER, "");
    must(larder_region_create(a, GIB(64), NULL, &kv));
    must(larder_device_reset_counters(dev));
    must(larder_region_commit(kv, 0, 100 * PAGE));
    print_calls("region: commit 100 pages anew");
    must(larder_region_decommit(kv, 0, 100 * PAGE));
    must(larder_region_commit(kv, 0, 100 * PAGE));
    print_calls("region: decommit, commit again");
    must(larder_region_destroy(kv));
    must(larder_region_create(a, GIB(64), NULL, &kv));
    must(larder_device_reset_counters(dev));
    must(larder_region_commit(kv, 0, 100 * PAGE));
    print_calls("region: commit 100 pages that are cached");
    must(larder_region_destroy(kv));
    down();
}

/* Requests of a server: the logarithms of prompt and answer lengths are
 * uniform; pages of 64 tokens come from a list, last released first, at most
 * 1.5 GiB of them; each step has temporary tensors too. */
enum {
    REQUESTS = 64,
    PAGES_EACH = 64,
    BUDGET = 768,
    STEPS = 20000,
    TOKENS = 64
};

struct serving {
    larder_region *kv;
    uint64_t free_pages[REQUESTS * PAGES_EACH];
    size_t free_count;
    uint64_t next;
    struct {
        uint64_t pages[PAGES_EACH];
        int count;
        int tokens;
        int left;
    } running[REQUESTS];
    uint64_t seed;
    uint64_t committed;
    uint64_t peak;
};

static uint64_t draw(struct serving *s, uint64_t below)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (s->seed >> 33) % below;
}

/* Every power of two from `low` on is equally likely. */
static int length(struct serving *s, int low, int doublings)
{
    int base = low << draw(s, (uint64_t)doublings);

    return base + (int)draw(s, (uint64_t)base);
}

static void give_page(struct serving *s, int r)
{
    uint64_t page =
        s->free_count > 0 ? s->free_pages[--s->free_count] : s->next++;

    must(larder_region_commit(s->kv, page * PAGE, PAGE));
    s->running[r].pages[s->running[r].count++] = page;
    s->committed++;
    if (s->committed > s->peak)
        s->peak = s->committed;
}

static void finish(struct serving *s, int r)
{
    for (int i = 0; i < s->running[r].count; i++) {
        uint64_t page = s->running[r].pages[i];

        must(larder_region_decommit(s->kv, page * PAGE, PAGE));
        s->free_pages[s->free_count++] = page;
    }
    s->committed -= (uint64_t)s->running[r].count;
    s->running[r].count = 0;
}

static void step(struct serving *s)
{
    larder_addr temporary[4];

    for (int r = 0; r < REQUESTS; r++) {
        if (s->running[r].count == 0) {
            if (draw(s, 10) != 0)
                continue;
            s->running[r].tokens = length(s, 16, 7);
            s->running[r].left = length(s, 8, 7);
        }
        s->running[r].tokens++;
        while (s->running[r].count * TOKENS < s->running[r].tokens &&
               s->committed < BUDGET)
            give_page(s, r);
        if (--s->running[r].left <= 0 || s->committed == BUDGET)
            finish(s, r); /* done, or postponed because the cache is full */
    }
    for (int i = 0; i < 4; i++)
        temporary[i] = have(MIB(2) << draw(s, 5));
    for (int i = 0; i < 4; i++)
        must(larder_free(a, temporary[i]));
}

static void bench_serve(void)
{
    static struct serving s = {.seed = 17};
    larder_addr weights;
    uint64_t released;

    up("sim:24GiB,backing=none", LARDER_POLICY_LARDER, "");
    weights = have(MIB(2304));
    must(larder_region_create(a, GIB(64), NULL, &s.kv));
    for (int i = 0; i < STEPS / 2; i++)
        step(&s);
    print_calls("serve: the first 10000 steps, from nothing");
    for (int i = 0; i < STEPS / 2; i++)
        step(&s);
    print_calls("serve: the next 10000 steps");
    printf("%-44s %6.2f GiB in use at most, %.2f GiB held\n", "serve: pages",
           (double)(s.peak * PAGE) / (double)GIB(1),
           (double)used_bytes() / (double)GIB(1));
    for (int r = 0; r < REQUESTS; r++)
        finish(&s, r);
    must(larder_region_trim(s.kv, &released));
    must(larder_trim(a, 0, &released));
    printf("%-44s %6.2f GiB held, %.2f GiB of weights: %.3f times\n",
           "serve: idle", (double)used_bytes() / (double)GIB(1),
           (double)MIB(2304) / (double)GIB(1),
           (double)used_bytes() / (double)MIB(2304));
    must(larder_free(a, weights));
    must(larder_region_destroy(s.kv));
    down();
}

/* ---- sleep and wake -------------------------------------------------------- */

enum { TENSORS = 1024, CYCLES = 100 };

/* A graph's pool of 4 GiB, which keeps its memory. */
static void have_graph(void)
{
    static const larder_pool_id id = {7, 1};
    larder_addr scratch;

    must(larder_pool_begin(a, id, NULL, NULL));
    must(larder_sim_capture_begin(dev, 3));
    must(larder_alloc(a, GIB(4), 3, &scratch));
    must(larder_free(a, scratch));
    must(larder_sim_capture_end(dev, 3));
    must(larder_pool_end(a, id));
}

static void bench_sleep(void)
{
    uint64_t before;

    up("sim:80GiB,backing=none", LARDER_POLICY_LARDER, "");
    have_graph();
    must(larder_tag_begin(a, "weights"));
    for (int i = 0; i < TENSORS; i++)
        (void)have(MIB(32));
    must(larder_tag_end(a));
    before = used_bytes();
    must(larder_device_reset_counters(dev));
    must(larder_pause(a, "weights", LARDER_PAUSE_DROP));
    print_calls("tag of 32 GiB, graphs resident: sleep");
    must(larder_resume(a, "weights"));
    print_calls("tag of 32 GiB, graphs resident: wake");
    for (int i = 0; i < CYCLES; i++) {
        must(larder_pause(a, "weights", LARDER_PAUSE_DROP));
        must(larder_resume(a, "weights"));
    }
    printf("%-44s %6" PRId64 " bytes left behind\n", "tag: 100 cycles",
           (int64_t)(used_bytes() - before));
    down();
}

static void bench_region_sleep(void)
{
    larder_region *kv;
    uint64_t before;

    up("sim:80GiB,backing=none", LARDER_POLICY_LARDER, "");
    have_graph();
    must(larder_region_create(a, GIB(64), NULL, &kv));
    for (int i = 0; i < TENSORS; i++)
        must(larder_region_commit(kv, (uint64_t)i * 16 * PAGE, 16 * PAGE));
    before = used_bytes();
    must(larder_device_reset_counters(dev));
    must(larder_region_pause(kv, LARDER_PAUSE_DROP));
    print_calls("region of 32 GiB, graphs resident: sleep");
    must(larder_region_resume(kv));
    print_calls("region of 32 GiB, graphs resident: wake");
    for (int i = 0; i < CYCLES; i++) {
        must(larder_region_pause(kv, LARDER_PAUSE_DROP));
        must(larder_region_resume(kv));
    }
    printf("%-44s %6" PRId64 " bytes left behind\n", "region: 100 cycles",
           (int64_t)(used_bytes() - before));
    must(larder_region_destroy(kv));
    down();
}

int main(void)
{
    bench_commit();
    bench_serve();
    bench_sleep();
    bench_region_sleep();
    return 0;
}
