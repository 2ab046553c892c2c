/* test_kv_serve.c - a language model server whose key-value cache is a region:
 * after a warm-up it makes no driver calls, and when idle it holds little more
 * than its weights.
 *
 * The workload is generated from a seed: requests arrive at random, the
 * logarithms of prompt and answer lengths are uniform, a prompt is processed in
 * parts, and each step has temporary tensors as large as its data. */
#include <stdbool.h>

#include "support/random.h"
#include "support/rig.h"

#include <larder/region.h>

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

enum {
    RUNNING_MAX = 48,
    PAGES_EACH = 64, /* 2 MiB hold the keys and values of 64 tokens */
    PAGE_TOKENS = 64,
    PAGES_MAX = 384,   /* the server's own limit */
    PART_TOKENS = 512, /* of a prompt per step */
    LAYERS = 4,
    HIDDEN_BYTES = 4096, /* per token */
    WARM_STEPS = 20000,
    STEPS = 20000,
    WEIGHTS = 24
};

struct running {
    uint64_t pages[PAGES_EACH];
    int page_count;
    int prompt; /* tokens still to be processed */
    int tokens;
    int answer; /* tokens still to be generated; 0: no request */
};

struct server {
    struct rig rig;
    larder_region *kv;
    larder_addr weights[WEIGHTS];
    struct running running[RUNNING_MAX];
    uint64_t free_pages[PAGES_MAX];
    int free_count;
    uint64_t random;
};

static uint64_t draw(struct server *s, uint64_t below)
{
    return random_next(&s->random) % below;
}

/* Each power of two from low to low << doublings is equally likely. */
static int draw_length(struct server *s, int low, int doublings)
{
    int base = low << draw(s, (uint64_t)doublings);

    return base + (int)draw(s, (uint64_t)base);
}

/* ---- the cache --------------------------------------------------------------- */

static bool has_room(struct server *s, const struct running *q, int tokens)
{
    int need = (q->tokens + tokens + PAGE_TOKENS - 1) / PAGE_TOKENS;

    return need - q->page_count <= s->free_count && need <= PAGES_EACH;
}

static void grow(struct server *s, struct running *q, int tokens)
{
    q->tokens += tokens;
    while (q->page_count * PAGE_TOKENS < q->tokens) {
        uint64_t page = s->free_pages[--s->free_count];

        assert_ok(larder_region_commit(s->kv, page * PAGE, PAGE));
        q->pages[q->page_count++] = page;
    }
}

static void finish(struct server *s, struct running *q)
{
    while (q->page_count > 0) {
        uint64_t page = q->pages[--q->page_count];

        assert_ok(larder_region_decommit(s->kv, page * PAGE, PAGE));
        s->free_pages[s->free_count++] = page;
    }
    q->answer = 0;
}

/* ---- steps -------------------------------------------------------------------- */

static void temporaries(struct server *s, int tokens)
{
    uint64_t bytes = (uint64_t)tokens * HIDDEN_BYTES;
    larder_addr attention, mlp;

    for (int i = 0; i < LAYERS; i++) {
        attention = rig_alloc(&s->rig, bytes * 3);
        mlp = rig_alloc(&s->rig, bytes * 4);
        rig_free(&s->rig, attention);
        rig_free(&s->rig, mlp);
    }
}

static void come(struct server *s, struct running *q)
{
    q->prompt = draw_length(s, 16, 7);
    q->answer = draw_length(s, 8, 7);
    q->tokens = 0;
}

static void prefill(struct server *s, struct running *q)
{
    int part = q->prompt < PART_TOKENS ? q->prompt : PART_TOKENS;

    if (!has_room(s, q, part))
        return; /* later */
    temporaries(s, part);
    grow(s, q, part);
    q->prompt -= part;
}

/* One token for each request; one that finds no room is dropped. */
static void decode(struct server *s)
{
    int count = 0;

    for (int i = 0; i < RUNNING_MAX; i++) {
        struct running *q = &s->running[i];

        if (q->answer == 0 || q->prompt > 0)
            continue;
        count++;
        if (has_room(s, q, 1))
            grow(s, q, 1);
        else
            q->answer = 1;
        if (--q->answer == 0)
            finish(s, q);
    }
    if (count > 0)
        temporaries(s, count);
}

static void step(struct server *s)
{
    struct running *q = &s->running[draw(s, RUNNING_MAX)];

    if (q->answer == 0 && draw(s, 2) == 0)
        come(s, q);
    for (int i = 0; i < RUNNING_MAX; i++) {
        if (s->running[i].answer > 0 && s->running[i].prompt > 0)
            prefill(s, &s->running[i]);
    }
    decode(s);
}

/* ---- the tests ------------------------------------------------------------------ */

static struct server *server_up(uint64_t seed)
{
    struct server *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->random = seed;
    s->rig = rig_up_policy("sim:16GiB,backing=none", LARDER_POLICY_LARDER, "");
    for (int i = 0; i < WEIGHTS; i++)
        s->weights[i] = rig_alloc(&s->rig, MIB(64));
    assert_ok(larder_region_create(s->rig.a, PAGES_MAX * PAGE, NULL, &s->kv));
    for (int i = PAGES_MAX; i-- > 0;)
        s->free_pages[s->free_count++] = (uint64_t)i;
    return s;
}

static void server_down(struct server *s)
{
    assert_ok(larder_region_destroy(s->kv));
    for (int i = 0; i < WEIGHTS; i++)
        rig_free(&s->rig, s->weights[i]);
    rig_down(&s->rig);
    free(s);
}

/* Of every kind, except queries. */
static uint64_t driver_calls(struct rig *rig)
{
    larder_device_counters c = rig_counters(rig);
    uint64_t sum = 0;

    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        sum += i == LARDER_CALL_mem_info ? 0 : c.calls[i] + c.failed[i];
    return sum;
}

static uint64_t committed(struct server *s)
{
    larder_region_info info = {.size = sizeof info};

    assert_ok(larder_region_get_info(s->kv, &info));
    return info.committed_bytes;
}

static void the_driver_is_not_called_in_steady_state(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct server *s = server_up(seed);
        uint64_t highest = 0;

        for (int i = 0; i < WARM_STEPS; i++)
            step(s);
        assert_true(driver_calls(&s->rig) > 100); /* not from the start */
        assert_ok(larder_device_reset_counters(s->rig.dev));
        for (int i = 0; i < STEPS; i++) {
            step(s);
            if (committed(s) > highest)
                highest = committed(s);
        }
        assert_int_equal(driver_calls(&s->rig), 0);
        assert_int_equal(highest, PAGES_MAX * PAGE); /* it had work */
        assert_ok(larder_check(s->rig.a));
        server_down(s);
    }
}

static void an_idle_server_holds_little_more_than_its_weights(void **state)
{
    const uint64_t floor_bytes = WEIGHTS * MIB(64);

    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct server *s = server_up(seed);
        uint64_t released;

        for (int i = 0; i < WARM_STEPS / 10; i++)
            step(s);
        for (int i = 0; i < RUNNING_MAX; i++)
            finish(s, &s->running[i]);
        assert_true(rig_usage(s->rig.dev).used_bytes > floor_bytes / 5 * 6);
        assert_ok(larder_region_trim(s->kv, &released));
        assert_ok(larder_trim(s->rig.a, 0, &released));
        assert_in_range(rig_usage(s->rig.dev).used_bytes, floor_bytes,
                        floor_bytes / 5 * 6);
        server_down(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_is_not_called_in_steady_state),
        cmocka_unit_test(an_idle_server_holds_little_more_than_its_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
