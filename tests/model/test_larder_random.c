/* test_larder_random.c - the larder policy against a record of what every byte
 * should be, in random operations with real memory: allocations on several
 * streams, recorded streams, graphs captured in pools and replayed, work that
 * completes late, devices that fail.
 *
 *   test_larder_random [STEPS [SEED]]
 *
 * Every live block is filled completely, or in places if it is large, and
 * compared when it is freed.  A block that was freed while a recorded stream
 * still had work is compared until that work has completed.  What a captured
 * graph writes is written again by each replay. */
#include <stdbool.h>

#include <larder/hint.h>

#include "support/random.h"
#include "support/rig.h"

enum {
    SLOTS = 160,
    STREAMS = 4,
    GHOSTS = 64,       /* freed, still used by a stream */
    GRAPH_BLOCKS = 12, /* of a captured graph */
    GRAPH_STREAM = 9,
    FULL_BYTES = 1 << 14 /* written in full up to here */
};

struct piece {
    larder_addr addr;
    uint64_t bytes;
    unsigned char value;
    larder_stream stream;    /* its own */
    bool on_stream[STREAMS]; /* recorded */
};

struct ghost {
    struct piece piece;
    uint64_t events[STREAMS]; /* 0: none */
};

struct random {
    struct rig rig;
    uint64_t seed;
    struct piece slots[SLOTS];
    struct ghost ghosts[GHOSTS];
    struct piece graph[GRAPH_BLOCKS];
    int graph_count;     /* 0: no graph */
    larder_pool_id pool; /* each graph has its own */
    bool is_lossy;       /* calls fail */
    uint64_t failed;     /* allocations */
    uint64_t live;
    uint64_t requested;
};

static uint64_t draw(struct random *m, uint64_t end)
{
    return random_next(&m->seed) % end;
}

/* ---- contents ------------------------------------------------------------- */

static uint64_t piece_step(const struct piece *p)
{
    return p->bytes <= FULL_BYTES ? 1 : 1021;
}

static void piece_write(struct random *m, struct piece *p)
{
    unsigned char *bytes = (unsigned char *)(uintptr_t)p->addr;

    p->value = (unsigned char)draw(m, 256);
    for (uint64_t i = 0; i < p->bytes; i += piece_step(p))
        bytes[i] = p->value;
    bytes[p->bytes - 1] = p->value;
}

static void piece_compare(const struct piece *p, const char *what)
{
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)p->addr;

    for (uint64_t i = 0; i < p->bytes; i += piece_step(p)) {
        if (bytes[i] != p->value)
            fail_msg("%s: byte %llu of %llu at 0x%llx is %d, not %d", what,
                     (unsigned long long)i, (unsigned long long)p->bytes,
                     (unsigned long long)p->addr, bytes[i], p->value);
    }
    assert_int_equal(bytes[p->bytes - 1], p->value);
}

/* ---- freed blocks still in use -------------------------------------------- */

static bool is_passed(struct random *m, const struct ghost *g)
{
    for (int i = 0; i < STREAMS; i++) {
        if (g->events[i] != 0 &&
            larder_device_event_query(m->rig.dev, g->events[i]) ==
                LARDER_ERR_NOT_READY)
            return false;
    }
    return true;
}

static void ghost_drop(struct random *m, struct ghost *g)
{
    for (int i = 0; i < STREAMS; i++) {
        if (g->events[i] != 0)
            assert_ok(larder_device_event_destroy(m->rig.dev, g->events[i]));
    }
    memset(g, 0, sizeof *g);
}

/* As long as a stream has not passed, the memory is not reused. */
static void ghosts_compare(struct random *m)
{
    for (int i = 0; i < GHOSTS; i++) {
        struct ghost *g = &m->ghosts[i];

        if (g->piece.addr == 0)
            continue;
        if (is_passed(m, g))
            ghost_drop(m, g);
        else
            piece_compare(&g->piece, "released, in use");
    }
}

/* Calls fail for the test as well: then it cannot tell when the work is
 * done. */
static bool ghost_event(struct random *m, struct ghost *g, larder_stream stream)
{
    uint64_t *event = &g->events[stream];
    larder_result r = larder_device_event_create(m->rig.dev, event);

    if (r == LARDER_OK) {
        r = larder_device_event_record(m->rig.dev, *event, stream);
        if (r == LARDER_OK)
            return true;
        assert_ok(larder_device_event_destroy(m->rig.dev, *event));
    }
    assert_true(m->is_lossy);
    *event = 0;
    return false;
}

/* Call before the block is freed, so that our events come before the
 * allocator's. */
static void ghost_add(struct random *m, const struct piece *p)
{
    struct ghost *g = m->ghosts;
    bool any = false;

    while (g < m->ghosts + GHOSTS && g->piece.addr != 0)
        g++;
    if (g == m->ghosts + GHOSTS)
        return;
    for (int i = 0; i < STREAMS; i++) {
        if (p->on_stream[i])
            any |= ghost_event(m, g, (larder_stream)i);
    }
    if (any)
        g->piece = *p;
}

/* ---- operations ----------------------------------------------------------- */

static bool may_fail(const struct random *m, larder_result r)
{
    return r == LARDER_ERR_OUT_OF_MEMORY ||
           (m->is_lossy && r == LARDER_ERR_DEVICE);
}

static uint64_t draw_bytes(struct random *m)
{
    return 1 + draw(m, UINT64_C(1) << (8 + draw(m, 16)));
}

static void fill(struct random *m, struct piece *p)
{
    larder_result r;

    memset(p, 0, sizeof *p);
    p->bytes = draw_bytes(m);
    p->stream = draw(m, STREAMS);
    r = larder_alloc_hinted(m->rig.a, p->bytes, p->stream,
                            (larder_hint)draw(m, LARDER_HINT_SHORT + 1),
                            &p->addr);
    if (r != LARDER_OK) {
        assert_true(may_fail(m, r));
        p->addr = 0;
        m->failed++;
        return;
    }
    piece_write(m, p);
    m->live++;
    m->requested += p->bytes;
}

struct owner {
    larder_addr addr;
    larder_stream stream;
};

static int find_owner(void *ctx, const larder_segment_info *segment,
                      const larder_block_info *block)
{
    struct owner *o = ctx;

    if (block->addr != o->addr)
        return 0;
    o->stream = segment->stream;
    return 1;
}

/* A borrowed block returns to its owner, which need not wait for its own work,
 * but for that of the borrowing stream. */
static void settle_streams(struct random *m, struct piece *p)
{
    struct owner owner = {.addr = p->addr, .stream = p->stream};

    assert_ok(larder_walk(m->rig.a, NULL, find_owner, &owner));
    if (owner.stream == p->stream)
        return;
    p->on_stream[p->stream] = true;
    p->on_stream[owner.stream] = false;
}

static void drop(struct random *m, struct piece *p)
{
    piece_compare(p, "live");
    settle_streams(m, p);
    ghost_add(m, p);
    assert_ok(larder_free(m->rig.a, p->addr));
    p->addr = 0;
    m->live--;
    m->requested -= p->bytes;
}

static void step_slot(struct random *m)
{
    struct piece *p = &m->slots[draw(m, SLOTS)];

    if (p->addr == 0)
        fill(m, p);
    else
        drop(m, p);
}

/* On its own stream a use ends with the block. */
static void step_record(struct random *m)
{
    struct piece *p = &m->slots[draw(m, SLOTS)];
    larder_stream stream = draw(m, STREAMS);

    if (p->addr == 0)
        return;
    assert_ok(larder_record_stream(m->rig.a, p->addr, stream));
    p->on_stream[stream] = stream != p->stream;
}

static void step_complete(struct random *m)
{
    assert_ok(larder_sim_complete(m->rig.dev, draw(m, STREAMS)));
}

/* ---- graphs --------------------------------------------------------------- */

static int is_graph(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == GRAPH_STREAM;
}

static void graph_drop(struct random *m)
{
    if (m->graph_count > 0)
        assert_ok(larder_pool_release(m->rig.a, m->pool));
    m->graph_count = 0;
}

/* Blocks allocated and freed during the capture of a graph, which continues to
 * write to them. */
static void graph_capture(struct random *m)
{
    larder_result r = LARDER_OK;

    m->pool.first++;
    assert_ok(larder_pool_begin(m->rig.a, m->pool, is_graph, NULL));
    for (m->graph_count = 0; m->graph_count < GRAPH_BLOCKS; m->graph_count++) {
        struct piece *p = &m->graph[m->graph_count];

        p->bytes = draw_bytes(m);
        r = larder_alloc(m->rig.a, p->bytes, GRAPH_STREAM, &p->addr);
        if (r != LARDER_OK)
            break;
        piece_write(m, p);
    }
    assert_true(r == LARDER_OK || may_fail(m, r));
    for (int i = 0; i < m->graph_count; i++)
        assert_ok(larder_free(m->rig.a, m->graph[i].addr));
    assert_ok(larder_pool_end(m->rig.a, m->pool));
    if (m->graph_count == 0)
        assert_ok(larder_pool_release(m->rig.a, m->pool));
}

static void step_graph(struct random *m)
{
    if (m->graph_count == 0) {
        graph_capture(m);
        return;
    }
    for (int i = 0; i < m->graph_count; i++)
        piece_compare(&m->graph[i], "written by the graph");
    for (int i = 0; i < m->graph_count; i++)
        piece_write(m, &m->graph[i]);
    if (draw(m, 8) == 0)
        graph_drop(m);
}

/* ---- failures ------------------------------------------------------------- */

static void step_failure(struct random *m)
{
    static const larder_call calls[] = {
        LARDER_CALL_mem_alloc,    LARDER_CALL_page_create,
        LARDER_CALL_map,          LARDER_CALL_unmap,
        LARDER_CALL_set_access,   LARDER_CALL_event_sync,
        LARDER_CALL_event_query,  LARDER_CALL_event_record,
        LARDER_CALL_page_release, LARDER_CALL_stream_sync,
    };
    larder_call call = calls[draw(m, sizeof calls / sizeof calls[0])];

    assert_ok(larder_device_fail(m->rig.dev, call, 1 + draw(m, 3),
                                 1 + draw(m, 2), LARDER_ERR_DEVICE));
    for (int i = 0; i < 12; i++)
        step_slot(m);
    (void)larder_empty_cache(m->rig.a);
    for (int c = 0; c < LARDER_CALL_COUNT; c++)
        assert_ok(
            larder_device_fail(m->rig.dev, (larder_call)c, 0, 1, LARDER_OK));
    assert_ok(larder_check(m->rig.a));
}

/* ---- runs ----------------------------------------------------------------- */

static int add_segment(void *ctx, const larder_segment_info *segment)
{
    uint64_t *bytes = ctx;

    *bytes += segment->bytes;
    return 0;
}

/* The walk also shows memory that is held but mapped nowhere. */
static void sum_segments(struct random *m)
{
    uint64_t bytes = 0;

    assert_ok(larder_walk(m->rig.a, add_segment, NULL, &bytes));
    assert_int_equal(bytes, rig_reserved(&m->rig));
}

static void verify(struct random *m)
{
    larder_stats st = rig_stats(&m->rig);

    sum_segments(m);
    assert_int_equal(st.allocation.all.current, m->live);
    assert_true((uint64_t)st.requested_bytes.all.current >= m->requested);
    assert_ok(larder_check(m->rig.a));
    ghosts_compare(m);
}

static void step(struct random *m)
{
    uint64_t choice = draw(m, 1000);

    if (choice < 880)
        step_slot(m);
    else if (choice < 930)
        step_record(m);
    else if (choice < 970)
        step_complete(m);
    else if (choice < 980)
        step_graph(m);
    else if (choice < 982 && m->is_lossy)
        step_failure(m);
    else if (choice == 999)
        (void)larder_empty_cache(m->rig.a);
}

static void end(struct random *m)
{
    for (int i = 0; i < SLOTS; i++) {
        if (m->slots[i].addr != 0)
            drop(m, &m->slots[i]);
    }
    graph_drop(m);
    for (int i = 0; i < STREAMS; i++)
        assert_ok(larder_sim_complete(m->rig.dev, (larder_stream)i));
    for (int i = 0; i < GHOSTS; i++)
        ghost_drop(m, &m->ghosts[i]);
    verify(m);
    rig_down(&m->rig);
}

static long steps = 12000;
static uint64_t first_seed = 2024;

static void run(const char *spec, const char *conf, bool is_lossy)
{
    struct random *m = test_calloc(1, sizeof *m);

    m->rig = rig_up_policy(spec, LARDER_POLICY_LARDER, conf);
    m->seed = first_seed;
    m->is_lossy = is_lossy;
    for (long i = 0; i < steps; i++) {
        step(m);
        if (i % 250 == 0)
            verify(m);
    }
    end(m);
    test_free(m);
}

static void random_steps_with_plenty_of_memory(void **state)
{
    (void)state;
    run("sim:2GiB,backing=memory,events=manual", "", false);
}

static void random_steps_on_a_full_device(void **state)
{
    (void)state;
    run("sim:64MiB,backing=memory,events=manual", "", false);
}

static void random_steps_under_a_limit(void **state)
{
    (void)state;
    run("sim:2GiB,backing=memory,events=manual", "limit:80MiB", false);
}

static void random_steps_with_eager_moves(void **state)
{
    (void)state;
    run("sim:160MiB,backing=memory,events=manual", "defrag:eager", false);
    run("sim:160MiB,backing=memory,events=manual", "defrag:eager,handle_mib:2",
        false);
}

static void random_steps_without_moves(void **state)
{
    (void)state;
    run("sim:96MiB,backing=memory,events=manual", "defrag:off", false);
}

/* In handles of several pages, although the device is small. */
static void random_steps_that_move_live_memory(void **state)
{
    (void)state;
    run("sim:96MiB,backing=memory,events=manual", "migrate:on", false);
    run("sim:96MiB,backing=memory,events=manual", "migrate:on", true);
}

static void random_steps_without_virtual_memory(void **state)
{
    (void)state;
    run("sim:96MiB,backing=memory,events=manual,vmm=off", "", false);
}

static void random_steps_with_failing_calls(void **state)
{
    (void)state;
    run("sim:96MiB,backing=memory,events=manual", "", true);
    run("sim:2GiB,backing=memory,events=manual", "", true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_with_plenty_of_memory),
        cmocka_unit_test(random_steps_on_a_full_device),
        cmocka_unit_test(random_steps_under_a_limit),
        cmocka_unit_test(random_steps_with_eager_moves),
        cmocka_unit_test(random_steps_without_moves),
        cmocka_unit_test(random_steps_that_move_live_memory),
        cmocka_unit_test(random_steps_without_virtual_memory),
        cmocka_unit_test(random_steps_with_failing_calls),
    };

    if (argc > 1)
        steps = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (steps <= 0 || first_seed == 0) {
        fprintf(stderr, "usage: %s [STEPS [SEED]], both above 0\n", argv[0]);
        return 2;
    }
    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
