/* test_pools.c - private pools: which requests they serve, how long they keep
 * memory, and what stays unchanged while one is begun. */
#include "support/rig.h"

#define SPEC "sim:1GiB,backing=none,events=manual"

static const larder_pool_id pool_a = {1, 0};
static const larder_pool_id pool_b = {1, 7};

static void begin(struct rig *rig, larder_pool_id id)
{
    assert_ok(larder_pool_begin(rig->a, id, NULL, NULL));
}

static void end(struct rig *rig, larder_pool_id id)
{
    assert_ok(larder_pool_end(rig->a, id));
}

static void release(struct rig *rig, larder_pool_id id)
{
    assert_ok(larder_pool_release(rig->a, id));
}

/* Allocate within the pool. */
static larder_addr alloc_in(struct rig *rig, larder_pool_id id, uint64_t bytes)
{
    return rig_alloc_in(rig, id, bytes, 0);
}

/* Finds the pool of the segment that contains a block. */
struct owner {
    larder_addr addr;
    larder_pool_id pool;
    int is_expandable;
    int found;
};

static int owner_visit(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *block)
{
    struct owner *o = ctx;

    if (block->addr != o->addr)
        return 0;
    o->pool = segment->pool;
    o->is_expandable = segment->is_expandable;
    o->found = 1;
    return 1;
}

static struct owner owner_of(struct rig *rig, larder_addr addr)
{
    struct owner o = {.addr = addr};

    assert_ok(larder_walk(rig->a, NULL, owner_visit, &o));
    assert_true(o.found);
    return o;
}

static void assert_in_pool(struct rig *rig, larder_addr addr, larder_pool_id id)
{
    struct owner o = owner_of(rig, addr);

    assert_int_equal(o.pool.first, id.first);
    assert_int_equal(o.pool.second, id.second);
}

static const larder_pool_id pool_default = {0, 0};

/* ---- segments ----------------------------------------------------------- */

/* What PyTorch's test_graph_memory_stats_and_use_result_after_destroy_graph
 * expects of one tensor in the pool of a graph. */
static void one_tensor_in_a_pool(uint64_t bytes, uint64_t segment_bytes)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr elsewhere = rig_alloc(&rig, 4096);
    larder_stats before = rig_stats(&rig);
    larder_stats st;
    larder_addr p = alloc_in(&rig, pool_a, bytes);

#define delta(name) (st.name.all.current - before.name.all.current)
    st = rig_stats(&rig);
    assert_int_equal(delta(segment), 1);
    assert_int_equal(delta(reserved_bytes), segment_bytes);
    assert_int_equal(delta(active_bytes), bytes);
    assert_int_equal(delta(active), 1);
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    st = rig_stats(&rig);
    assert_int_equal(delta(segment), 1);
    assert_int_equal(delta(reserved_bytes), segment_bytes);
    assert_int_equal(delta(active_bytes), 0);
    release(&rig, pool_a);
    st = rig_stats(&rig);
    assert_int_equal(delta(reserved_bytes), segment_bytes);
    assert_ok(larder_empty_cache(rig.a));
    st = rig_stats(&rig);
    assert_int_equal(delta(segment), 0);
    assert_int_equal(delta(reserved_bytes), 0);
    assert_int_equal(delta(active_bytes), 0);
#undef delta
    rig_free(&rig, elsewhere);
    rig_down(&rig);
}

static void a_pool_holds_segments_of_the_usual_sizes_until_released(
    void **state)
{
    (void)state;
    one_tensor_in_a_pool(512, MIB(2));
    one_tensor_in_a_pool(MIB(1), MIB(2));
    one_tensor_in_a_pool(MIB(1) + 512, MIB(20));
    one_tensor_in_a_pool(MIB(10) - 512, MIB(20));
    one_tensor_in_a_pool(MIB(10) + 512, MIB(12));
}

static void pools_never_use_each_others_free_memory(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr by_default = rig_alloc(&rig, MIB(4));
    larder_addr in_a = alloc_in(&rig, pool_a, MIB(4));
    larder_addr in_b = alloc_in(&rig, pool_b, MIB(4));

    (void)state;
    assert_in_pool(&rig, by_default, pool_default);
    assert_in_pool(&rig, in_a, pool_a);
    assert_in_pool(&rig, in_b, pool_b);
    assert_int_equal(rig_stats(&rig).segment.all.current, 3);
    rig_free(&rig, by_default);
    rig_free(&rig, in_a);
    rig_free(&rig, in_b);
    assert_int_equal(rig_alloc(&rig, MIB(4)), by_default);
    assert_int_equal(alloc_in(&rig, pool_b, MIB(4)), in_b);
    assert_int_equal(alloc_in(&rig, pool_a, MIB(4)), in_a);
    rig_down(&rig);
}

static void a_pools_memory_keeps_to_its_stream(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p;

    (void)state;
    begin(&rig, pool_a);
    p = rig_alloc_on(&rig, 4096, 1);
    rig_free(&rig, p);
    assert_int_not_equal(rig_alloc_on(&rig, 4096, 2), p);
    assert_int_equal(rig_alloc_on(&rig, 4096, 1), p);
    end(&rig, pool_a);
    rig_down(&rig);
}

static void pools_do_without_expandable_segments(void **state)
{
    struct rig rig = rig_up(SPEC, "expandable_segments:True");
    larder_addr p = alloc_in(&rig, pool_a, MIB(4));
    larder_addr q = rig_alloc(&rig, MIB(4));

    (void)state;
    assert_false(owner_of(&rig, p).is_expandable);
    assert_true(owner_of(&rig, q).is_expandable);
    rig_down(&rig);
}

/* ---- requests served by a pool ------------------------------------------ */

static int accepts(void *ctx, larder_stream stream)
{
    const larder_stream *only = ctx;

    return stream == *only;
}

static void only_accepted_streams_get_memory_from_a_pool(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_stream one = 1;
    larder_stream two = 2;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, pool_a, accepts, &one));
    assert_ok(larder_pool_begin(rig.a, pool_b, accepts, &two));
    assert_in_pool(&rig, rig_alloc_on(&rig, 4096, 1), pool_a);
    assert_in_pool(&rig, rig_alloc_on(&rig, 4096, 2), pool_b);
    assert_in_pool(&rig, rig_alloc_on(&rig, 4096, 3), pool_default);
    end(&rig, pool_a);
    assert_in_pool(&rig, rig_alloc_on(&rig, 4096, 1), pool_default);
    assert_in_pool(&rig, rig_alloc_on(&rig, 4096, 2), pool_b);
    end(&rig, pool_b);
    assert_in_pool(&rig, rig_alloc_on(&rig, 4096, 2), pool_default);
    rig_down(&rig);
}

static void the_pool_begun_first_serves(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    begin(&rig, pool_b);
    begin(&rig, pool_a);
    assert_in_pool(&rig, rig_alloc(&rig, 4096), pool_b);
    end(&rig, pool_b);
    assert_in_pool(&rig, rig_alloc(&rig, 4096), pool_a);
    end(&rig, pool_a);
    rig_down(&rig);
}

/* ---- users -------------------------------------------------------------- */

static void a_shared_pool_stays_until_its_last_user_releases_it(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc_in(&rig, pool_a, MIB(4));

    (void)state;
    rig_free(&rig, p);
    assert_int_equal(alloc_in(&rig, pool_a, MIB(4)), p); /* a second user */
    rig_free(&rig, p);
    release(&rig, pool_a);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(20));
    release(&rig, pool_a);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

static void live_memory_outlives_the_release_of_its_pool(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr small = alloc_in(&rig, pool_a, 4096);
    larder_addr large = alloc_in(&rig, pool_a, MIB(4));

    (void)state;
    release(&rig, pool_a);
    release(&rig, pool_a);
    rig_free(&rig, large);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(2));
    assert_in_pool(&rig, small, pool_a);
    assert_result(LARDER_ERR_INVALID,
                  larder_pool_begin(rig.a, pool_a, NULL, NULL));
    rig_free(&rig, small);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    begin(&rig, pool_a); /* a new pool: the old one is gone with its memory */
    end(&rig, pool_a);
    rig_down(&rig);
}

/* A request gets no memory: there is none, or it cannot be used, and is not taken
 * back at once. */
static void get_nothing(struct rig *rig, int is_mapped)
{
    static const larder_call calls[] = {
        LARDER_CALL_page_create, LARDER_CALL_set_access, LARDER_CALL_unmap};
    int first = is_mapped ? 1 : 0, last = is_mapped ? 2 : 0;
    larder_addr p;

    for (int i = first; i <= last; i++)
        assert_ok(larder_device_fail(rig->dev, calls[i], 1, 0,
                                     is_mapped ? LARDER_ERR_DEVICE
                                               : LARDER_ERR_OUT_OF_MEMORY));
    assert_result(is_mapped ? LARDER_ERR_DEVICE : LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, MIB(4), 0, &p));
    for (int i = first; i <= last; i++)
        assert_ok(larder_device_fail(rig->dev, calls[i], 0, 0, LARDER_OK));
}

/* Its addresses were reserved for that request. */
static void a_pool_that_got_no_memory_is_released_too(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_LARDER,
                                             LARDER_POLICY_PYTORCH};
    static const char conf[] = "pytorch:2.8,expandable_segments:True";

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig rig = rig_up_policy(SPEC, policies[i / 2], conf);

        begin(&rig, pool_a);
        get_nothing(&rig, i % 2 != 0);
        end(&rig, pool_a);
        release(&rig, pool_a);
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_usage(rig.dev).reservations, 0);
        begin(&rig, pool_a); /* a new pool: the old one is gone */
        end(&rig, pool_a);
        rig_down(&rig);
    }
}

static void a_full_device_takes_back_a_released_pool(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_addr p = alloc_in(&rig, pool_a, MIB(40));
    larder_addr q;

    (void)state;
    rig_free(&rig, p);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(40), 0, &q));
    release(&rig, pool_a);
    q = rig_alloc(&rig, MIB(40));
    assert_in_pool(&rig, q, pool_default);
    rig_down(&rig);
}

/* As in PyTorch 2.13, a begun pool is not a capture: memory is released
 * meanwhile. */
/* Of the first releases of PyTorch whose pools lend, last of all and first. */
static void a_pool_lends_each_stream_its_own_memory(void **state)
{
    static const char *const releases[] = {"pytorch:2.8", "pytorch:2.11"};
    enum { STREAMS = 3 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_up("sim:150MiB,backing=none", releases[i]);
        larder_addr own[STREAMS], p;

        for (larder_stream s = 0; s < STREAMS; s++)
            own[s] = rig_alloc_in(&rig, pool_a, MIB(40), s);
        assert_ok(larder_pool_set_lending(rig.a, pool_a, 1));
        for (larder_stream s = 0; s < STREAMS; s++)
            rig_free(&rig, own[s]);
        for (larder_stream s = 0; s < STREAMS; s++)
            assert_int_equal(rig_alloc_on(&rig, MIB(40), s), own[s]);
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(40), STREAMS, &p));
        rig_down(&rig);
    }
}

static void a_pool_released_while_it_is_begun_stays_until_its_end(void **state)
{
    struct rig rig = rig_up(SPEC, "pytorch:2.13");
    larder_addr p;

    (void)state;
    begin(&rig, pool_a);
    release(&rig, pool_a);
    assert_ok(larder_empty_cache(rig.a));
    p = rig_alloc(&rig, 4096);
    assert_in_pool(&rig, p, pool_a);
    end(&rig, pool_a);
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_release(rig.a, pool_a),
                   "does not exist");
    rig_down(&rig);
}

static void an_allocator_with_begun_pools_can_be_destroyed(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p;

    (void)state;
    begin(&rig, pool_a);
    begin(&rig, pool_b);
    p = rig_alloc(&rig, 4096);
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    rig_down(&rig);
}

/* ---- errors ------------------------------------------------------------- */

static void mistakes_are_named_and_change_nothing(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc_in(&rig, pool_a, MIB(4));
    larder_pool_id strange = {9, 9};
    struct picture before;

    (void)state;
    before = picture_take(&rig);
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_end(rig.a, pool_a),
                   "(1, 0)");
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_end(rig.a, strange),
                   "(9, 9)");
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_release(rig.a, strange),
                   "(9, 9)");
    assert_refused(LARDER_ERR_INVALID,
                   larder_pool_begin(rig.a, pool_default, NULL, NULL),
                   "(0, 0)");
    begin(&rig, pool_a);
    assert_refused(LARDER_ERR_INVALID,
                   larder_pool_begin(rig.a, pool_a, NULL, NULL), "(1, 0)");
    end(&rig, pool_a);
    release(&rig, pool_a);
    release(&rig, pool_a);
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_release(rig.a, pool_a),
                   "(1, 0)");
    assert_refused(LARDER_ERR_INVALID,
                   larder_pool_begin(rig.a, pool_a, NULL, NULL), "(1, 0)");
    assert_unchanged(&rig, before);
    rig_free(&rig, p);
    rig_down(&rig);
}

/* A refused begin does not count as a user. */
static void a_refused_begin_does_not_hold_the_pool(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p;

    (void)state;
    begin(&rig, pool_a);
    p = rig_alloc(&rig, MIB(4));
    assert_result(LARDER_ERR_INVALID,
                  larder_pool_begin(rig.a, pool_a, NULL, NULL));
    end(&rig, pool_a);
    rig_free(&rig, p);
    release(&rig, pool_a);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

/* ---- while a pool is begun ---------------------------------------------- */

static void empty_cache_is_refused_while_a_pool_is_begun(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct picture before;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(4)));
    begin(&rig, pool_a);
    before = picture_take(&rig);
    assert_result(LARDER_ERR_CAPTURING, larder_empty_cache(rig.a));
    assert_unchanged(&rig, before);
    end(&rig, pool_a);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

/* The calls that a stream capture forbids. */
static const larder_call forbidden[] = {
    LARDER_CALL_mem_free,   LARDER_CALL_unmap,       LARDER_CALL_event_query,
    LARDER_CALL_event_sync, LARDER_CALL_stream_sync,
};

enum { FORBIDDEN_COUNT = sizeof forbidden / sizeof forbidden[0] };

/* Failed attempts count too. */
static void assert_no_forbidden_call(const larder_device_counters *before,
                                     const larder_device_counters *after)
{
    for (size_t i = 0; i < FORBIDDEN_COUNT; i++) {
        larder_call call = forbidden[i];

        if (after->calls[call] != before->calls[call] ||
            after->failed[call] != before->failed[call])
            print_error("%s was called\n", larder_call_name(call));
        assert_int_equal(after->calls[call], before->calls[call]);
        assert_int_equal(after->failed[call], before->failed[call]);
    }
}

/* Leave memory behind for every way of releasing: cached segments of both
 * pools, an oversize one, old ones, a pending block. */
static void leave_cached_memory(struct rig *rig)
{
    larder_addr large[3];
    larder_addr pending = rig_alloc(rig, 4096);

    for (size_t i = 0; i < 3; i++)
        large[i] = rig_alloc(rig, MIB(30) * (i + 1));
    for (size_t i = 0; i < 3; i++)
        rig_free(rig, large[i]);
    assert_ok(larder_record_stream(rig->a, pending, 1));
    rig_free(rig, pending);
}

/* Request more than there is, in and outside of the pool. */
static void run_out(struct rig *rig, larder_addr live)
{
    larder_addr p;

    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, GIB(2), 0, &p));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, MIB(150), 0, &p));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, MIB(150), 1, &p));
    p = rig_alloc(rig, MIB(70));
    rig_free(rig, p);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, MIB(110), 0, &p));
    assert_ok(larder_record_stream(rig->a, live, 2));
    rig_free(rig, live);
}

static int only_stream_0(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == 0;
}

static void capture_with(const char *conf)
{
    struct rig rig = rig_up("sim:300MiB,backing=none,events=manual", conf);
    larder_addr live = rig_alloc(&rig, 4096);
    larder_device_counters before;
    larder_device_counters after;

    leave_cached_memory(&rig);
    assert_ok(larder_sim_capture_begin(rig.dev, 0));
    assert_ok(larder_pool_begin(rig.a, pool_a, only_stream_0, NULL));
    before = rig_counters(&rig);
    run_out(&rig, live);
    after = rig_counters(&rig);
    assert_no_forbidden_call(&before, &after);
    assert_ok(larder_pool_end(rig.a, pool_a));
    assert_ok(larder_sim_capture_end(rig.dev, 0));
    rig_alloc(&rig, MIB(200)); /* now the cache may be released */
    rig_down(&rig);
}

static void a_capture_makes_no_forbidden_call(void **state)
{
    (void)state;
    capture_with("");
    capture_with("expandable_segments:True");
}

static void oversize_segments_make_no_forbidden_call(void **state)
{
    (void)state;
    capture_with("max_split_size_mb:50");
}

static void garbage_collection_makes_no_forbidden_call(void **state)
{
    (void)state;
    capture_with("garbage_collection_threshold:0.1,"
                 "per_process_memory_fraction:0.95");
}

/* The simulated device does refuse them. */
static void a_capture_on_the_device_refuses_those_calls(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    uint64_t event;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(4)));
    assert_ok(larder_device_event_create(rig.dev, &event));
    assert_ok(larder_device_event_record(rig.dev, event, 1));
    assert_ok(larder_sim_capture_begin(rig.dev, 0));
    assert_result(LARDER_ERR_CAPTURING,
                  larder_device_event_query(rig.dev, event));
    assert_result(LARDER_ERR_CAPTURING,
                  larder_device_event_sync(rig.dev, event));
    assert_result(LARDER_ERR_CAPTURING, larder_device_stream_sync(rig.dev, 1));
    assert_int_not_equal(larder_empty_cache(rig.a), LARDER_OK);
    assert_int_equal(rig_reserved(&rig), MIB(20));
    assert_ok(larder_sim_capture_end(rig.dev, 0));
    assert_ok(larder_device_event_destroy(rig.dev, event));
    assert_ok(larder_empty_cache(rig.a));
    rig_down(&rig);
}

static void destroying_in_a_capture_is_refused(void **state)
{
    struct rig rig = rig_up("sim:64MiB", "");
    larder_pool_id pool = {1, 0};

    (void)state;
    rig_alloc(&rig, MIB(4));
    assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
    assert_ok(larder_sim_capture_begin(rig.dev, 0));
    assert_refused(LARDER_ERR_CAPTURING, larder_destroy(rig.a),
                   "being captured");
    assert_ok(larder_check(rig.a));
    assert_ok(larder_sim_capture_end(rig.dev, 0));
    assert_ok(larder_pool_end(rig.a, pool));
    rig_down(&rig);
}

/* Small memory on the first two, large on two, a private pool's on the last. */
static void destroying_is_refused_whichever_stream_is_captured(void **state)
{
    enum { STREAMS = 5 };
    struct rig rig = rig_up("sim:300MiB", "");
    larder_pool_id pool = {1, 0};

    (void)state;
    rig_alloc_on(&rig, 4096, 0);
    rig_alloc_on(&rig, 4096, 1);
    rig_alloc_on(&rig, MIB(4), 2);
    rig_alloc_on(&rig, MIB(4), 3);
    rig_alloc_in(&rig, pool, MIB(4), 4);
    for (larder_stream stream = 0; stream < STREAMS; stream++) {
        assert_ok(larder_sim_capture_begin(rig.dev, stream));
        assert_refused(LARDER_ERR_CAPTURING, larder_destroy(rig.a),
                       "being captured");
        assert_ok(larder_sim_capture_end(rig.dev, stream));
    }
    rig_down(&rig);
}

static void a_block_recorded_in_a_capture_is_dealt_with_after_it(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p;

    (void)state;
    assert_ok(larder_sim_capture_begin(rig.dev, 0));
    begin(&rig, pool_a);
    p = rig_alloc(&rig, MIB(4));
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    assert_int_not_equal(rig_alloc(&rig, MIB(4)), p);
    end(&rig, pool_a);
    assert_ok(larder_sim_capture_end(rig.dev, 0));
    assert_int_equal(rig_stats(&rig).active.all.current, 2);
    rig_alloc(&rig, 512);
    assert_int_equal(rig_stats(&rig).active.all.current, 2);
    assert_int_equal(alloc_in(&rig, pool_a, MIB(4)), p);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_pool_holds_segments_of_the_usual_sizes_until_released),
        cmocka_unit_test(pools_never_use_each_others_free_memory),
        cmocka_unit_test(a_pools_memory_keeps_to_its_stream),
        cmocka_unit_test(pools_do_without_expandable_segments),
        cmocka_unit_test(only_accepted_streams_get_memory_from_a_pool),
        cmocka_unit_test(the_pool_begun_first_serves),
        cmocka_unit_test(a_shared_pool_stays_until_its_last_user_releases_it),
        cmocka_unit_test(live_memory_outlives_the_release_of_its_pool),
        cmocka_unit_test(a_pool_that_got_no_memory_is_released_too),
        cmocka_unit_test(a_full_device_takes_back_a_released_pool),
        cmocka_unit_test(a_pool_lends_each_stream_its_own_memory),
        cmocka_unit_test(a_pool_released_while_it_is_begun_stays_until_its_end),
        cmocka_unit_test(an_allocator_with_begun_pools_can_be_destroyed),
        cmocka_unit_test(mistakes_are_named_and_change_nothing),
        cmocka_unit_test(a_refused_begin_does_not_hold_the_pool),
        cmocka_unit_test(empty_cache_is_refused_while_a_pool_is_begun),
        cmocka_unit_test(a_capture_makes_no_forbidden_call),
        cmocka_unit_test(oversize_segments_make_no_forbidden_call),
        cmocka_unit_test(garbage_collection_makes_no_forbidden_call),
        cmocka_unit_test(a_capture_on_the_device_refuses_those_calls),
        cmocka_unit_test(destroying_in_a_capture_is_refused),
        cmocka_unit_test(destroying_is_refused_whichever_stream_is_captured),
        cmocka_unit_test(a_block_recorded_in_a_capture_is_dealt_with_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
