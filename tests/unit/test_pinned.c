/* test_pinned.c - pinned host memory: little is wasted, pieces are split,
 * stream order is kept, and everything is released. */
#include <larder/pinned.h>

#include "idle_device.h"
#include "support/rig.h"

#define SPEC "sim:64MiB,events=manual"

/* A rig whose allocator manages pinned memory. */
static struct rig pinned_up(const char *conf)
{
    struct rig rig = {0};
    larder_options opt;

    larder_options_init(&opt);
    opt.conf = conf;
    assert_ok(larder_device_open(SPEC, 0, &rig.dev));
    assert_ok(larder_pinned_create(rig.dev, &opt, &rig.a));
    return rig;
}

/* Destroys everything; the driver must get all memory back. */
static void pinned_down(struct rig *rig)
{
    uint64_t had;

    assert_ok(larder_check(rig->a));
    assert_ok(larder_destroy(rig->a));
    had = rig_calls(rig, LARDER_CALL_host_alloc);
    assert_int_equal(rig_calls(rig, LARDER_CALL_host_free), had);
    assert_device_empty(rig->dev);
    assert_ok(larder_device_close(rig->dev));
}

static void *pinned_get(struct rig *rig, uint64_t bytes)
{
    void *ptr = NULL;

    assert_ok(larder_pinned_alloc(rig->a, bytes, &ptr));
    assert_non_null(ptr);
    return ptr;
}

static larder_pinned_stats pinned_stats(struct rig *rig)
{
    larder_pinned_stats st;

    larder_pinned_stats_init(&st);
    assert_ok(larder_pinned_stats_get(rig->a, &st));
    return st;
}

/* ---- sizes ----------------------------------------------------------------- */

static void assert_little_waste(struct rig *rig, uint64_t bytes)
{
    void *ptr = pinned_get(rig, bytes);
    uint64_t got = (uint64_t)rig_stats(rig).allocated_bytes.all.current;
    uint64_t most = bytes <= 2048 ? 255 : bytes / 8;

    if (got < bytes || got - bytes > most) {
        print_error("%llu bytes took %llu\n", (unsigned long long)bytes,
                    (unsigned long long)got);
        fail();
    }
    assert_int_equal((uintptr_t)ptr % 256, 0);
    assert_ok(larder_pinned_free(rig->a, ptr));
}

static void a_request_wastes_an_eighth_at_most(void **state)
{
    struct rig rig = pinned_up("");

    (void)state;
    for (uint64_t bytes = 1; bytes <= 5000; bytes++)
        assert_little_waste(&rig, bytes);
    for (uint64_t bytes = 5000; bytes < MIB(200); bytes += bytes / 53 + 7) {
        assert_little_waste(&rig, bytes);
        assert_little_waste(&rig, (bytes & ~UINT64_C(4095)) + 1);
    }
    for (uint64_t power = 4096; power <= MIB(128); power *= 2) {
        assert_little_waste(&rig, power - 1);
        assert_little_waste(&rig, power);
        assert_little_waste(&rig, power + 1);
        assert_little_waste(&rig, power + power / 8 + 1);
    }
    pinned_down(&rig);
}

/* Also when a larger block is reused. */
static void a_cached_piece_is_cut_to_size(void **state)
{
    struct rig rig = pinned_up("");
    void *all = pinned_get(&rig, MIB(64));
    void *parts[8];

    (void)state;
    assert_ok(larder_pinned_free(rig.a, all));
    for (int i = 0; i < 8; i++)
        parts[i] = pinned_get(&rig, MIB(8));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_alloc), 1);
    assert_ptr_equal(parts[0], all);
    for (int i = 0; i < 8; i++)
        assert_ok(larder_pinned_free(rig.a, parts[i]));
    assert_ptr_equal(pinned_get(&rig, MIB(64)), all);
    pinned_down(&rig);
}

static void small_requests_share_pieces(void **state)
{
    struct rig rig = pinned_up("");

    (void)state;
    for (int i = 0; i < 128; i++)
        pinned_get(&rig, KIB(16));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_alloc), 1);
    assert_int_equal(rig_reserved(&rig), MIB(2));
    pinned_down(&rig);
}

/* Each size occurs once: memory kept for the previous size is released for the
 * next. */
static void changing_sizes_do_not_pile_up(void **state)
{
    struct rig rig = pinned_up("");
    uint64_t peak;

    (void)state;
    for (uint64_t mib = 40; mib < 240; mib += 20)
        assert_ok(larder_pinned_free(rig.a, pinned_get(&rig, MIB(mib))));
    peak = (uint64_t)rig_stats(&rig).active_bytes.all.peak;
    assert_true((uint64_t)rig_stats(&rig).reserved_bytes.all.peak <=
                peak + peak / 4 + MIB(2));
    pinned_down(&rig);
}

/* A quarter more than the maximum use is kept; beyond that, the smallest
 * sufficient piece is released. */
static void cached_memory_within_the_slack_stays(void **state)
{
    struct rig rig = pinned_up("pinned_max_round_threshold_mb:1");
    void *first = pinned_get(&rig, MIB(40));
    void *second = pinned_get(&rig, MIB(60));

    (void)state;
    pinned_get(&rig, MIB(100));
    assert_ok(larder_pinned_free(rig.a, first));
    pinned_get(&rig, MIB(50)); /* 200 MiB were used, and 250 are allowed */
    assert_int_equal(rig_reserved(&rig), MIB(40 + 60 + 100 + 50));
    assert_ok(larder_pinned_free(rig.a, second));
    pinned_get(&rig, MIB(64)); /* 210 were used, so that 262.5 are allowed */
    assert_int_equal(rig_reserved(&rig), MIB(40 + 100 + 50 + 64));
    pinned_down(&rig);
}

/* ---- order ----------------------------------------------------------------- */

static void a_block_waits_for_each_recorded_stream(void **state)
{
    struct rig rig = pinned_up("");
    void *first = pinned_get(&rig, KIB(4));

    (void)state;
    assert_ok(larder_pinned_record_stream(rig.a, first, 0));
    assert_ok(larder_pinned_record_stream(rig.a, first, 5));
    assert_ok(larder_pinned_free(rig.a, first));
    assert_ptr_not_equal(pinned_get(&rig, KIB(4)), first);
    assert_ok(larder_sim_complete(rig.dev, 5));
    assert_ptr_not_equal(pinned_get(&rig, KIB(4)), first);
    assert_ok(larder_sim_complete(rig.dev, 0));
    assert_ptr_equal(pinned_get(&rig, KIB(4)), first);
    pinned_down(&rig);
}

static void a_block_no_stream_used_is_reused_at_once(void **state)
{
    struct rig rig = pinned_up("");
    void *first = pinned_get(&rig, KIB(4));

    (void)state;
    memset(first, 7, KIB(4));
    assert_ok(larder_pinned_free(rig.a, first));
    assert_ptr_equal(pinned_get(&rig, KIB(4)), first);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_create), 0);
    pinned_down(&rig);
}

static void a_copy_is_done_before_the_block_is_reused(void **state)
{
    struct rig rig = pinned_up("");
    unsigned char *source = pinned_get(&rig, KIB(64));
    unsigned char *target = pinned_get(&rig, KIB(64));
    larder_allocator *a;
    larder_addr p;

    (void)state;
    assert_ok(larder_create(rig.dev, NULL, &a));
    assert_ok(larder_alloc(a, KIB(64), 3, &p));
    memset(source, 42, KIB(64));
    assert_ok(larder_device_copy(rig.dev, p, (uintptr_t)source, KIB(64),
                                 LARDER_COPY_TO_DEVICE, 3));
    assert_ok(larder_pinned_record_stream(rig.a, source, 3));
    assert_ok(larder_pinned_free(rig.a, source));
    memset(pinned_get(&rig, KIB(64)), 0, KIB(64));
    assert_ok(larder_device_copy(rig.dev, (uintptr_t)target, p, KIB(64),
                                 LARDER_COPY_TO_HOST, 3));
    assert_ok(larder_sim_complete(rig.dev, 3));
    assert_int_equal(target[0], 42);
    assert_int_equal(target[KIB(64) - 1], 42);
    assert_ok(larder_destroy(a));
    pinned_down(&rig);
}

/* ---- releasing ----------------------------------------------------------- */

static void unused_pieces_are_released(void **state)
{
    struct rig rig = pinned_up("");
    void *keep = pinned_get(&rig, KIB(4));
    void *large = pinned_get(&rig, MIB(30));
    void *middle = pinned_get(&rig, MIB(3));
    uint64_t released = 0;

    (void)state;
    assert_ok(larder_pinned_free(rig.a, large));
    assert_ok(larder_pinned_free(rig.a, middle));
    assert_int_equal(rig_reserved(&rig), MIB(52));
    assert_ok(larder_trim(rig.a, MIB(40), &released));
    assert_int_equal(released, MIB(20));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(2));
    assert_int_equal(pinned_stats(&rig).num_host_free, 2);
    assert_ok(larder_pinned_free(rig.a, keep));
    pinned_down(&rig);
}

/* The driver refuses once: cached memory is released for the request. */
static void a_refusal_releases_cached_memory(void **state)
{
    struct rig rig = pinned_up("");

    (void)state;
    assert_ok(larder_pinned_free(rig.a, pinned_get(&rig, MIB(12))));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_host_alloc, 1, 1,
                                 LARDER_ERR_NO_HOST_MEMORY));
    pinned_get(&rig, MIB(16));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_free), 1);
    pinned_down(&rig);
}

static void a_limit_is_kept_and_named(void **state)
{
    struct rig rig = pinned_up("pinned_limit:4MiB");
    void *ptr = &rig;

    (void)state;
    pinned_get(&rig, MIB(1));
    pinned_get(&rig, KIB(900));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_pinned_alloc(rig.a, MIB(3), &ptr),
                   "Out of pinned host memory. Tried to allocate 20.00 MiB");
    assert_words("4.00 MiB allowed");
    assert_words("Why: ");
    assert_ptr_equal(ptr, &rig);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_alloc), 1);
    pinned_down(&rig);
}

/* If there is no room for a shared piece, the request gets one of its own. */
static void the_limit_can_be_used_to_the_end(void **state)
{
    struct rig rig = pinned_up("pinned_limit:16MiB");

    (void)state;
    pinned_get(&rig, MIB(4));
    pinned_get(&rig, MIB(8));
    pinned_get(&rig, MIB(3) + 1);
    assert_int_equal(rig_reserved(&rig), MIB(16));
    pinned_down(&rig);
}

/* ---- settings -------------------------------------------------------------- */

static void settings_of_device_memory_do_not_count(void **state)
{
    struct rig rig = pinned_up("limit:1MiB,preallocate:32MiB,"
                               "per_process_memory_fraction:0.0,"
                               "expandable_segments:True,"
                               "roundup_power2_divisions:1,"
                               "max_split_size_mb:21");

    (void)state;
    assert_little_waste(&rig, 5000);
    pinned_get(&rig, MIB(30));
    assert_int_equal(rig_reserved(&rig), MIB(30));
    assert_ok(larder_configure(rig.a, "limit:1MiB"));
    pinned_get(&rig, MIB(30));
    pinned_down(&rig);
}

static void a_reserved_piece_is_used_first(void **state)
{
    struct rig rig = pinned_up("pinned_reserve_segment_size_mb:32");

    (void)state;
    for (int i = 0; i < 16; i++)
        assert_non_null(pinned_get(&rig, KIB(900)));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_alloc), 1);
    assert_int_equal(rig_reserved(&rig), MIB(32));
    pinned_down(&rig);
}

static void large_pieces_are_not_kept_if_so_set(void **state)
{
    struct rig rig = pinned_up("pinned_max_cached_size_mb:8");
    void *small = pinned_get(&rig, MIB(5));
    void *large = pinned_get(&rig, MIB(9));

    (void)state;
    assert_int_equal(rig_reserved(&rig), MIB(6 + 10));
    assert_ok(larder_pinned_free(rig.a, large));
    assert_int_equal(rig_reserved(&rig), MIB(6));
    assert_ok(larder_pinned_free(rig.a, small));
    assert_int_equal(rig_reserved(&rig), MIB(6));
    pinned_down(&rig);
}

static void large_requests_have_no_class_if_so_set(void **state)
{
    struct rig rig = pinned_up("pinned_max_round_threshold_mb:16");

    (void)state;
    pinned_get(&rig, MIB(16) + 1);
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.current,
                     MIB(16) + 256);
    pinned_get(&rig, MIB(15));
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.current,
                     MIB(16) + 256 + MIB(15));
    pinned_get(&rig, MIB(15) + 1);
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.current,
                     MIB(16) + 256 + MIB(15) + MIB(16));
    pinned_get(&rig, MIB(129)); /* no more than that is pinned, either */
    assert_int_equal(rig_reserved(&rig), MIB(18 + 16 + 16 + 130));
    pinned_down(&rig);
}

/* ---- statistics ------------------------------------------------------------ */

static void statistics_have_pytorch_s_names(void **state)
{
    struct rig rig = pinned_up("");
    void *ptr = pinned_get(&rig, 3000);
    larder_pinned_stats st = pinned_stats(&rig);

    (void)state;
    assert_int_equal(st.allocations.current, 1);
    assert_int_equal(st.allocated_bytes.current, MIB(2));
    assert_int_equal(st.active_requests.current, 1);
    assert_int_equal(st.active_bytes.current, 3072);
    assert_int_equal(st.num_host_alloc, 1);
    assert_int_equal(st.host_alloc_time.count, 1);
    assert_true(st.host_alloc_time.min_us <= st.host_alloc_time.avg_us);
    assert_true(st.host_alloc_time.avg_us <= st.host_alloc_time.max_us);
    assert_true(st.host_alloc_time.max_us <= st.host_alloc_time.total_us);
    assert_ok(larder_pinned_record_stream(rig.a, ptr, 2));
    assert_ok(larder_pinned_free(rig.a, ptr));
    st = pinned_stats(&rig);
    assert_int_equal(st.active_requests.current, 1);
    assert_ok(larder_sim_complete(rig.dev, 2));
    assert_ok(larder_empty_cache(rig.a));
    st = pinned_stats(&rig);
    assert_int_equal(st.active_requests.current, 0);
    assert_int_equal(st.active_bytes.peak, 3072);
    assert_int_equal(st.allocations.freed, 1);
    assert_int_equal(st.num_host_free, 1);
    assert_int_equal(st.host_free_time.count, 1);
    pinned_down(&rig);
}

/* A struct of an older caller ends before the fields it does not know. */
static void a_shorter_struct_is_filled_no_further(void **state)
{
    struct rig rig = pinned_up("");
    larder_pinned_stats st;

    (void)state;
    memset(&st, 0x55, sizeof st);
    st.size = offsetof(larder_pinned_stats, num_host_alloc);
    assert_ok(larder_pinned_stats_get(rig.a, &st));
    assert_int_equal(st.active_bytes.current, 0);
    assert_int_equal(st.num_host_alloc, 0x5555555555555555);
    st.size = 0;
    assert_refused(LARDER_ERR_INVALID, larder_pinned_stats_get(rig.a, &st),
                   "larder_pinned_stats_init()");
    pinned_down(&rig);
}

/* ---- misuse ---------------------------------------------------------------- */

static void wrong_calls_are_reported(void **state)
{
    struct rig rig = pinned_up("");
    void *ptr = pinned_get(&rig, 100);
    larder_addr addr = 0;
    int local;

    (void)state;
    assert_refused(LARDER_ERR_INVALID, larder_alloc(rig.a, 1, 0, &addr),
                   "larder_pinned_alloc()");
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                  larder_pinned_free(rig.a, &local));
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                  larder_pinned_free(rig.a, (char *)ptr + 1));
    assert_ok(larder_pinned_free(rig.a, ptr));
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_pinned_free(rig.a, ptr));
    assert_result(LARDER_ERR_DOUBLE_FREE,
                  larder_pinned_record_stream(rig.a, ptr, 1));
    assert_ok(larder_pinned_free(rig.a, NULL));
    assert_ok(larder_pinned_alloc(rig.a, 0, &ptr));
    assert_null(ptr);
    assert_result(LARDER_ERR_INVALID, larder_pinned_alloc(rig.a, 1, NULL));
    assert_result(LARDER_ERR_INVALID, larder_pinned_alloc(NULL, 1, &ptr));
    assert_result(LARDER_ERR_BUSY, larder_device_close(rig.dev));
    pinned_down(&rig);
}

static void an_allocator_of_device_memory_is_refused(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_pinned_stats st;
    void *ptr;

    (void)state;
    larder_pinned_stats_init(&st);
    assert_refused(LARDER_ERR_INVALID, larder_pinned_alloc(rig.a, 1, &ptr),
                   "larder_pinned_create()");
    assert_result(LARDER_ERR_INVALID, larder_pinned_free(rig.a, &st));
    assert_result(LARDER_ERR_INVALID,
                  larder_pinned_record_stream(rig.a, &st, 0));
    assert_result(LARDER_ERR_INVALID, larder_pinned_stats_get(rig.a, &st));
    rig_down(&rig);
}

static void other_policies_are_refused(void **state)
{
    larder_device *dev;
    larder_allocator *a = NULL;
    larder_options opt;
    larder_policy policy;

    (void)state;
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    assert_ok(larder_device_open(SPEC, 0, &dev));
    assert_refused(LARDER_ERR_INVALID, larder_pinned_create(dev, &opt, &a),
                   "policy");
    opt.policy = (larder_policy)100; /* pinned memory has its own */
    assert_result(LARDER_ERR_INVALID, larder_create(dev, &opt, &a));
    assert_result(LARDER_ERR_INVALID, larder_policy_parse("pinned", &policy));
    opt.policy = LARDER_POLICY_DEFAULT;
    opt.conf = "pinned_limit:0";
    assert_refused(LARDER_ERR_CONF, larder_pinned_create(dev, &opt, &a),
                   "pinned_limit");
    assert_null(a);
    assert_result(LARDER_ERR_INVALID, larder_pinned_create(NULL, NULL, &a));
    assert_ok(larder_device_close(dev));
}

static void a_destroyed_allocator_is_recognised(void **state)
{
    struct rig rig = pinned_up("");
    void *ptr;

    (void)state;
    assert_ok(larder_destroy(rig.a));
    assert_result(LARDER_ERR_DESTROYED, larder_pinned_alloc(rig.a, 1, &ptr));
    assert_ok(larder_device_close(rig.dev));
}

/* ---- a device without ------------------------------------------------------ */

static void a_device_without_pinned_memory_says_so(void **state)
{
    struct idle_device idle = {0};
    larder_device *dev;
    larder_allocator *a;

    (void)state;
    assert_ok(larder_device_create(&idle_ops, &idle, &dev));
    assert_refused(LARDER_ERR_UNSUPPORTED, larder_pinned_create(dev, NULL, &a),
                   "'idle' has no pinned host memory");
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_wastes_an_eighth_at_most),
        cmocka_unit_test(a_cached_piece_is_cut_to_size),
        cmocka_unit_test(small_requests_share_pieces),
        cmocka_unit_test(changing_sizes_do_not_pile_up),
        cmocka_unit_test(cached_memory_within_the_slack_stays),
        cmocka_unit_test(a_block_waits_for_each_recorded_stream),
        cmocka_unit_test(a_block_no_stream_used_is_reused_at_once),
        cmocka_unit_test(a_copy_is_done_before_the_block_is_reused),
        cmocka_unit_test(unused_pieces_are_released),
        cmocka_unit_test(a_refusal_releases_cached_memory),
        cmocka_unit_test(a_limit_is_kept_and_named),
        cmocka_unit_test(the_limit_can_be_used_to_the_end),
        cmocka_unit_test(settings_of_device_memory_do_not_count),
        cmocka_unit_test(a_reserved_piece_is_used_first),
        cmocka_unit_test(large_pieces_are_not_kept_if_so_set),
        cmocka_unit_test(large_requests_have_no_class_if_so_set),
        cmocka_unit_test(statistics_have_pytorch_s_names),
        cmocka_unit_test(a_shorter_struct_is_filled_no_further),
        cmocka_unit_test(wrong_calls_are_reported),
        cmocka_unit_test(an_allocator_of_device_memory_is_refused),
        cmocka_unit_test(other_policies_are_refused),
        cmocka_unit_test(a_destroyed_allocator_is_recognised),
        cmocka_unit_test(a_device_without_pinned_memory_says_so),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
