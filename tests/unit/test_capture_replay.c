/* test_capture_replay.c - a graph is captured in a private pool and frees some
 * of its memory during the capture.  The rest of the program then allocates all
 * it can and releases all it can, and the graph is replayed: the graph finds
 * its memory as it left it, and so does everybody else.
 *
 * A graph is a list of kernels.  Each reads what earlier ones wrote and writes
 * to its own block, whether or not that was freed since; a block that two
 * kernels used in turn is written twice in each replay. */
#include <stdbool.h>

#include "support/rig.h"

enum {
    KERNELS = 24,
    GRAPH_STREAM = 9,
    OTHER_STREAMS = 3,
    SLOTS = 64,
    ROUNDS = 6,
    STRIDE = 509 /* between words that are written */
};

#define DEVICE_BYTES MIB(128)

struct kernel {
    larder_addr addr;
    uint64_t bytes;
    int reads;   /* the kernel whose block it reads; -1: none */
    bool is_out; /* never freed: the graph's result */
};

struct graph {
    struct kernel kernels[KERNELS];
    larder_pool_id pool;
    uint64_t replays;
    int wrong; /* wrong words found by kernels */
};

struct slot {
    larder_addr addr; /* 0: none */
    uint64_t bytes;
    uint64_t value;
};

struct way {
    const char *name;
    larder_policy policy;
    const char *conf;
    const char *vmm;
};

struct scene {
    struct rig rig;
    const struct way *way;
    struct graph graph;
    struct slot slots[SLOTS];
    uint32_t seed;
};

static uint32_t draw(struct scene *s, uint32_t end)
{
    s->seed = s->seed * 1664525u + 1013904223u;
    return (s->seed >> 8) % end;
}

/* ---- bytes ----------------------------------------------------------------- */

static volatile uint64_t *word_at(larder_addr addr, uint64_t i)
{
    return (volatile uint64_t *)(uintptr_t)addr + i;
}

static uint64_t word_of(uint64_t value, uint64_t i)
{
    return (value + i) * UINT64_C(0x9E3779B97F4A7C15);
}

static void words_put(larder_addr addr, uint64_t bytes, uint64_t value)
{
    for (uint64_t i = 0; i < bytes / 8; i += STRIDE)
        *word_at(addr, i) = word_of(value, i);
    *word_at(addr, bytes / 8 - 1) = word_of(value, bytes / 8 - 1);
}

static int words_wrong(larder_addr addr, uint64_t bytes, uint64_t value)
{
    int wrong = 0;

    for (uint64_t i = 0; i < bytes / 8; i += STRIDE)
        wrong += *word_at(addr, i) != word_of(value, i);
    return wrong +
           (*word_at(addr, bytes / 8 - 1) != word_of(value, bytes / 8 - 1));
}

/* ---- the graph -------------------------------------------------------------- */

static uint64_t kernel_value(const struct graph *g, int k)
{
    return g->replays * 1000003 + (uint64_t)k * 7919;
}

static void kernel_run(struct graph *g, int k)
{
    const struct kernel *at = &g->kernels[k];

    if (at->reads >= 0)
        g->wrong +=
            words_wrong(g->kernels[at->reads].addr, g->kernels[at->reads].bytes,
                        kernel_value(g, at->reads));
    words_put(at->addr, at->bytes, kernel_value(g, k));
}

static void graph_run(void *ctx)
{
    struct graph *g = ctx;

    g->replays++;
    for (int k = 0; k < KERNELS; k++)
        kernel_run(g, k);
}

/* The results of its last replay are still there. */
static int outputs_wrong(const struct graph *g)
{
    int wrong = 0;

    for (int k = 0; g->replays > 0 && k < KERNELS; k++) {
        if (g->kernels[k].is_out)
            wrong += words_wrong(g->kernels[k].addr, g->kernels[k].bytes,
                                 kernel_value(g, k));
    }
    return wrong;
}

static void graph_replay(struct scene *s)
{
    assert_int_equal(outputs_wrong(&s->graph), 0);
    assert_ok(
        larder_sim_launch(s->rig.dev, GRAPH_STREAM, graph_run, &s->graph));
    assert_ok(larder_sim_complete(s->rig.dev, GRAPH_STREAM));
    assert_int_equal(s->graph.wrong, 0);
    assert_int_equal(outputs_wrong(&s->graph), 0);
}

static int is_graph_stream(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == GRAPH_STREAM;
}

/* Every fourth block is an output.  The others live until the next kernel has
 * read them, so that later blocks reuse their memory. */
static void graph_allocate(struct scene *s)
{
    static const uint64_t sizes[] = {MIB(3),  KIB(700), 4096,   MIB(9),
                                     KIB(90), MIB(2),   MIB(1), 512};
    struct graph *g = &s->graph;

    for (int k = 0; k < KERNELS; k++) {
        struct kernel *at = &g->kernels[k];

        at->bytes = sizes[k % 8];
        at->is_out = k % 4 == 3 && at->bytes < MIB(2);
        at->reads = k - 1;
        at->addr = rig_alloc_on(&s->rig, at->bytes, GRAPH_STREAM);
        if (k > 0 && !at[-1].is_out)
            rig_free(&s->rig, at[-1].addr);
    }
    rig_free(&s->rig, g->kernels[KERNELS - 1].addr);
    g->kernels[KERNELS - 1].is_out = false;
}

/* Attempts count too: the device may refuse these calls during a capture.
 * Releasing new handles that were not needed does not count. */
static uint64_t calls_that_take_memory(struct rig *rig)
{
    static const larder_call calls[] = {
        LARDER_CALL_unmap, LARDER_CALL_mem_free, LARDER_CALL_event_record,
        LARDER_CALL_event_sync, LARDER_CALL_stream_sync};
    larder_device_counters counters = rig_counters(rig);
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        sum += counters.calls[calls[i]] + counters.failed[calls[i]];
    return sum;
}

/* During the capture another stream requests memory that would have to be taken
 * from another owner. */
static void graph_capture(struct scene *s)
{
    uint64_t before = calls_that_take_memory(&s->rig);
    larder_addr none;

    s->graph.pool = (larder_pool_id){3, 1};
    assert_ok(larder_sim_capture_begin(s->rig.dev, GRAPH_STREAM));
    assert_ok(
        larder_pool_begin(s->rig.a, s->graph.pool, is_graph_stream, NULL));
    graph_allocate(s);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(s->rig.a, DEVICE_BYTES - MIB(20), 1, &none));
    assert_result(LARDER_ERR_CAPTURING, larder_empty_cache(s->rig.a));
    assert_result(LARDER_ERR_CAPTURING, larder_trim(s->rig.a, 0, NULL));
    assert_ok(larder_pool_end(s->rig.a, s->graph.pool));
    assert_ok(larder_sim_capture_end(s->rig.dev, GRAPH_STREAM));
    assert_int_equal(calls_that_take_memory(&s->rig), before);
}

/* ---- the others -------------------------------------------------------------- */

/* False: out of memory. */
static bool slot_get(struct scene *s, struct slot *at)
{
    at->bytes = 512 + (uint64_t)draw(s, 1u << (10 + draw(s, 14)));
    if (larder_alloc(s->rig.a, at->bytes, draw(s, OTHER_STREAMS), &at->addr) !=
        LARDER_OK) {
        at->addr = 0;
        return false;
    }
    at->bytes -= at->bytes % 8;
    at->value = draw(s, 1u << 20);
    words_put(at->addr, at->bytes, at->value);
    return true;
}

static void slot_put(struct scene *s, struct slot *at)
{
    if (at->addr == 0)
        return;
    assert_int_equal(words_wrong(at->addr, at->bytes, at->value), 0);
    rig_free(&s->rig, at->addr);
    at->addr = 0;
}

/* All sizes, until nothing is left; then sizes too large for any hole. */
static void take_all_there_is(struct scene *s)
{
    larder_addr most = 0;
    uint64_t bytes = DEVICE_BYTES;

    for (int i = 0; i < 400; i++) {
        struct slot *at = &s->slots[draw(s, SLOTS)];

        if (at->addr != 0)
            slot_put(s, at);
        else
            (void)slot_get(s, at);
    }
    while (bytes >= MIB(1) &&
           larder_alloc(s->rig.a, bytes, 1, &most) != LARDER_OK)
        bytes -= MIB(1);
    if (most != 0)
        rig_free(&s->rig, most);
}

/* Everything a program can do to release memory. */
static void give_all_back(struct scene *s)
{
    assert_ok(larder_empty_cache(s->rig.a));
    assert_ok(larder_trim(s->rig.a, 0, NULL));
}

struct search {
    const struct graph *graph;
    int found; /* kernels whose block is in the pool's memory */
};

static int find_kernels(void *ctx, const larder_segment_info *segment)
{
    struct search *look = ctx;

    for (int k = 0; k < KERNELS; k++) {
        const struct kernel *at = &look->graph->kernels[k];

        look->found += segment->pool.first == look->graph->pool.first &&
                       segment->pool.second == look->graph->pool.second &&
                       at->addr >= segment->addr &&
                       at->addr + at->bytes <= segment->addr + segment->bytes;
    }
    return 0;
}

static void pool_has_all_of_it(struct scene *s)
{
    struct search look = {.graph = &s->graph};

    assert_ok(larder_walk(s->rig.a, find_kernels, NULL, &look));
    assert_int_equal(look.found, KERNELS);
}

static void all_is_well(struct scene *s)
{
    pool_has_all_of_it(s);
    graph_replay(s);
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *at = &s->slots[i];

        if (at->addr != 0)
            assert_int_equal(words_wrong(at->addr, at->bytes, at->value), 0);
    }
    assert_ok(larder_check(s->rig.a));
}

/* ---- scenes ------------------------------------------------------------------ */

static void scene_up(struct scene *s, const struct way *way)
{
    char spec[80];

    snprintf(spec, sizeof spec, "sim:128MiB,backing=memory,context=0,vmm=%s",
             way->vmm);
    *s = (struct scene){.way = way, .seed = 5};
    s->rig = rig_up_policy(spec, way->policy, way->conf);
}

/* Once the pool is gone its memory is available to all: nearly the whole device
 * is. */
static void pool_is_let_go(struct scene *s)
{
    uint64_t pool_bytes;

    for (int i = 0; i < SLOTS; i++)
        slot_put(s, &s->slots[i]);
    assert_ok(larder_empty_cache(s->rig.a));
    pool_bytes = rig_reserved(&s->rig);
    assert_true(pool_bytes >= MIB(12));
    for (int k = 0; k < KERNELS; k++) {
        if (s->graph.kernels[k].is_out)
            rig_free(&s->rig, s->graph.kernels[k].addr);
    }
    assert_ok(larder_pool_release(s->rig.a, s->graph.pool));
    rig_free(&s->rig, rig_alloc_on(&s->rig, DEVICE_BYTES - MIB(8), 1));
}

static void replay_under_pressure(const struct way *way)
{
    struct scene *s = test_calloc(1, sizeof *s);

    scene_up(s, way);
    for (int i = 0; i < SLOTS / 4; i++)
        (void)slot_get(s, &s->slots[i]);
    rig_free(&s->rig, rig_alloc_on(&s->rig, MIB(40), 0));
    graph_capture(s);
    all_is_well(s);
    for (int round = 0; round < ROUNDS; round++) {
        take_all_there_is(s);
        all_is_well(s);
        if (round % 2 != 0)
            give_all_back(s);
        all_is_well(s);
    }
    pool_is_let_go(s);
    rig_down(&s->rig);
    test_free(s);
}

static const struct way ways[] = {
    {"larder, by page", LARDER_POLICY_LARDER, "handle_mib:2", "on"},
    {"larder", LARDER_POLICY_LARDER, "", "on"},
    {"larder, eager", LARDER_POLICY_LARDER, "defrag:eager", "on"},
    {"larder, never", LARDER_POLICY_LARDER, "defrag:off", "on"},
    {"larder, by age", LARDER_POLICY_LARDER, "trim_age:0.004", "on"},
    {"larder, segments", LARDER_POLICY_LARDER, "", "off"},
    {"pytorch", LARDER_POLICY_PYTORCH, "", "off"},
    {"pytorch, expandable", LARDER_POLICY_PYTORCH, "expandable_segments:True",
     "on"},
    {"pytorch, garbage", LARDER_POLICY_PYTORCH,
     "garbage_collection_threshold:0.2,per_process_memory_fraction:1", "on"},
};

static void a_graph_finds_its_memory_whatever_others_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        print_message("%s\n", ways[i].name);
        replay_under_pressure(&ways[i]);
    }
}

/* The others did take what they could, by moving it. */
static void memory_outside_the_pool_is_moved(void **state)
{
    struct scene *s = test_calloc(1, sizeof *s);
    uint64_t moved;

    (void)state;
    scene_up(s, &ways[0]);
    graph_capture(s);
    moved = rig_counters(&s->rig).pages_unmapped;
    for (int i = 0; i < ROUNDS; i++)
        take_all_there_is(s);
    assert_true(rig_counters(&s->rig).pages_unmapped > moved + 50);
    all_is_well(s);
    pool_is_let_go(s);
    rig_down(&s->rig);
    test_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_finds_its_memory_whatever_others_take),
        cmocka_unit_test(memory_outside_the_pool_is_moved),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
