/* test_oom.c - when memory runs out: what is reported, what is released first,
 * and that the search ends. */
#include "support/rig.h"

#define ADVICE                                                                 \
    "If reserved but unallocated memory is large try setting "                 \
    "LARDER_CONF=expandable_segments:True to avoid fragmentation.  See "       \
    "documentation for Memory Management  "                                    \
    "(https://pytorch.org/docs/stable/notes/cuda.html"                         \
    "#environment-variables)"

/* ---- the message --------------------------------------------------------- */

static void the_message_is_pytorch_s_with_our_name(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none,context=10MiB", "");

    (void)state;
    rig_alloc(&rig, MIB(30));
    rig_alloc(&rig, MIB(4));
    assert_no_room(&rig, MIB(60));
    assert_string_equal(
        larder_last_error(),
        "CUDA out of memory. Tried to allocate 60.00 MiB. GPU 0 has a total "
        "capacity of 100.00 MiB of which 40.00 MiB is free. Including "
        "non-Larder memory, this process has 60.00 MiB memory in use. Of the "
        "allocated memory 34.00 MiB is allocated by Larder, and 16.00 MiB is "
        "reserved by Larder but unallocated. " ADVICE);
    rig_down(&rig);
}

/* The size is that of the segment, not of the request. */
static void the_message_has_the_size_the_device_was_asked_for(void **state)
{
    struct rig rig = rig_up("sim:1MiB,backing=none", "");

    (void)state;
    assert_no_room(&rig, 1);
    assert_words("Tried to allocate 2.00 MiB.");
    assert_words("a total capacity of 1024.00 KiB of which 1024.00 KiB is");
    assert_words("memory 0 bytes is allocated by Larder, and 0 bytes is");
    assert_no_room(&rig, MIB(2));
    assert_words("Tried to allocate 20.00 MiB.");
    assert_no_room(&rig, MIB(11) + 1);
    assert_words("Tried to allocate 12.00 MiB.");
    assert_no_room(&rig, GIB(1));
    assert_words("Tried to allocate 1024.00 MiB.");
    assert_no_room(&rig, GIB(3) / 2);
    assert_words("Tried to allocate 1.50 GiB.");
    rig_down(&rig);
}

/* Larder's own policy asks for pages, and for segments in a private pool. */
static void the_size_is_that_of_pages_or_of_a_segment(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8MiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_pool_id id = {1, 0};

    (void)state;
    assert_no_room(&rig, MIB(11) + 1);
    assert_words("Tried to allocate 11.00 MiB.");
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_no_room(&rig, MIB(11) + 1);
    assert_words("Tried to allocate 12.00 MiB.");
    assert_ok(larder_pool_end(rig.a, id));
    rig_down(&rig);
}

/* Then nothing counts as free, of what the device had when it was opened. */
static void memory_counts_as_used_if_the_device_does_not_say(void **state)
{
    static const larder_policy policies[] = {
        LARDER_POLICY_LARDER, LARDER_POLICY_PYTORCH, LARDER_POLICY_DIRECT};

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct rig rig =
            rig_up_policy("sim:64MiB,backing=none", policies[i], "limit:32MiB");

        assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_info, 1, 0,
                                     LARDER_ERR_DEVICE));
        assert_no_room(&rig, MIB(40));
        assert_words("a total capacity of 64.00 MiB of which 0 bytes is free.");
        assert_ok(
            larder_device_fail(rig.dev, LARDER_CALL_mem_info, 0, 0, LARDER_OK));
        rig_down(&rig);
    }
}

static void the_message_says_what_private_pools_hold(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none", "");
    larder_pool_id id = {1, 0};

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_alloc(&rig, MIB(4));
    assert_ok(larder_pool_end(rig.a, id));
    rig_alloc(&rig, MIB(30));
    assert_no_room(&rig, MIB(60));
    assert_words("Of the allocated memory 50.00 MiB is allocated by Larder, "
                 "with 16.00 MiB allocated in private pools (e.g., CUDA "
                 "Graphs), and 0 bytes is reserved by Larder but "
                 "unallocated. " ADVICE);
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

static void the_message_counts_all_streams_of_private_pools(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none", "");
    larder_pool_id id = {1, 0};

    (void)state;
    for (larder_stream s = 0; s < 3; s++)
        rig_alloc_in(&rig, id, MIB(4), s);
    assert_no_room(&rig, MIB(60));
    assert_words("with 48.00 MiB allocated in private pools");
    rig_down(&rig);
}

static void the_message_names_the_device(void **state)
{
    struct rig rig = {0};

    (void)state;
    assert_ok(larder_device_open("sim:8MiB,backing=none,count=3", 2, &rig.dev));
    assert_ok(larder_create(rig.dev, NULL, &rig.a));
    assert_no_room(&rig, MIB(9));
    assert_words("GPU 2 has a total capacity of 8.00 MiB");
    rig_down(&rig);
}

static void the_message_is_this_thread_s_until_its_next_failure(void **state)
{
    struct rig rig = rig_up("sim:8MiB,backing=none", "");
    char first[4096];

    (void)state;
    assert_no_room(&rig, MIB(9));
    snprintf(first, sizeof first, "%s", larder_last_error());
    rig_free(&rig, rig_alloc(&rig, 512));
    assert_string_equal(larder_last_error(), first);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, 512));
    assert_null(strstr(larder_last_error(), "CUDA out of memory"));
    rig_down(&rig);
}

/* ---- the ladder ---------------------------------------------------------- */

static void a_failure_costs_only_the_cache(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    struct picture before;
    larder_stats st;

    (void)state;
    rig_alloc(&rig, 512);
    rig_alloc(&rig, MIB(3));
    rig_free(&rig, rig_alloc(&rig, MIB(30)));
    assert_no_room(&rig, MIB(50));
    st = rig_stats(&rig);
    assert_int_equal(st.num_ooms, 1);
    assert_int_equal(st.num_alloc_retries, 1);
    assert_int_equal(st.num_sync_all_streams, 1);
    assert_int_equal(st.reserved_bytes.all.current, MIB(22));
    assert_int_equal(st.allocation.all.current, 2);
    assert_int_equal(st.allocation.all.allocated, 3);
    before = picture_blocks(&rig);
    assert_no_room(&rig, MIB(50));
    rig_same_picture(before, picture_blocks(&rig), __FILE__, __LINE__);
    rig_down(&rig);
}

static void unused_segments_are_released_before_a_failure(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_addr p = rig_alloc(&rig, MIB(30));
    larder_addr q = rig_alloc(&rig, MIB(30));

    (void)state;
    rig_free(&rig, p);
    rig_free(&rig, q);
    rig_alloc(&rig, MIB(62));
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 1);
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 2);
    rig_down(&rig);
}

static void a_segment_partly_in_use_stays(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_addr p = rig_alloc(&rig, MIB(40));
    larder_addr low;

    (void)state;
    rig_free(&rig, p);
    low = rig_alloc(&rig, MIB(10)); /* splits the 40 MiB */
    assert_int_equal(low, p);
    assert_no_room(&rig, MIB(31));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_int_equal(rig_reserved(&rig), MIB(40));
    rig_down(&rig);
}

static void whole_pages_of_expandable_segments_are_released(void **state)
{
    struct rig rig =
        rig_up("sim:64MiB,backing=none", "expandable_segments:True");
    larder_addr p = rig_alloc(&rig, MIB(20));
    larder_addr q = rig_alloc(&rig, MIB(20));

    (void)state;
    rig_alloc(&rig, MIB(20));
    rig_free(&rig, q);
    assert_int_equal(rig_reserved(&rig), MIB(60));
    rig_free(&rig, p);
    rig_alloc(&rig, MIB(40)); /* fits where p and q were */
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 0);
    assert_no_room(&rig, MIB(20));
    assert_int_equal(rig_usage(rig.dev).pages, 3);
    rig_down(&rig);
}

static void pages_move_from_one_stream_to_another_by_the_ladder(void **state)
{
    struct rig rig =
        rig_up("sim:64MiB,backing=none", "expandable_segments:True");
    larder_addr p = rig_alloc_on(&rig, MIB(60), 1);

    (void)state;
    rig_free(&rig, p);
    rig_alloc_on(&rig, MIB(60), 2);
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 1);
    assert_int_equal(rig_usage(rig.dev).pages, 3);
    rig_down(&rig);
}

/* With max_split_size_mb, the smallest sufficient oversize segment is released
 * alone, before everything else. */
static void an_oversize_segment_is_released_alone(void **state)
{
    struct rig rig = rig_up("sim:300MiB,backing=none", "max_split_size_mb:30");
    larder_addr p = rig_alloc(&rig, MIB(100));
    larder_addr q = rig_alloc(&rig, MIB(150));
    larder_addr r = rig_alloc(&rig, MIB(40));

    (void)state;
    rig_free(&rig, p);
    rig_free(&rig, q);
    rig_free(&rig, r);
    rig_alloc(&rig, MIB(70)); /* 100 is too large to use, but is released */
    assert_int_equal(rig_reserved(&rig), MIB(150 + 40 + 70));
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 0);
    assert_int_equal(rig_stats(&rig).num_sync_all_streams, 0);
    rig_down(&rig);
}

/* If no single one suffices, the largest ones are released first, and no more of
 * them than have as much. */
static void oversize_segments_are_released_largest_first(void **state)
{
    (void)state;
    for (uint64_t mib = 120; mib <= 130; mib += 10) {
        struct rig rig =
            rig_up("sim:200MiB,backing=none", "max_split_size_mb:30");
        larder_addr p[3];

        p[0] = rig_alloc(&rig, MIB(40));
        p[1] = rig_alloc(&rig, MIB(60));
        p[2] = rig_alloc(&rig, MIB(70));
        for (int i = 0; i < 3; i++)
            rig_free(&rig, p[i]);
        rig_alloc(&rig, MIB(mib));
        assert_int_equal(rig_reserved(&rig), MIB(40 + mib));
        assert_int_equal(rig_stats(&rig).num_alloc_retries, 0);
        rig_down(&rig);
    }
}

/* Like PyTorch's test_caching_allocator_record_stream_oom: only the ladder's
 * own wait completes an event here. */
static void blocks_that_wait_for_a_stream_are_freed_by_the_ladder(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none,events=manual", "");

    (void)state;
    for (int i = 0; i < 100; i++) {
        larder_addr p = rig_alloc(&rig, MIB(160));

        assert_ok(larder_record_stream(rig.a, p, 1));
        rig_free(&rig, p);
    }
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_true(rig_stats(&rig).num_alloc_retries > 10);
    rig_down(&rig);
}

static void nothing_is_released_while_a_pool_is_begun(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_pool_id id = {1, 0};

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(40)));
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_no_room(&rig, MIB(40));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 0);
    assert_int_equal(rig_stats(&rig).num_sync_all_streams, 0);
    assert_ok(larder_pool_end(rig.a, id));
    rig_alloc(&rig, MIB(40)); /* of the default pool */
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

static void memory_of_a_released_pool_goes_before_a_request_fails(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_pool_id id = {1, 0};
    larder_addr p;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    p = rig_alloc(&rig, MIB(40));
    assert_ok(larder_pool_end(rig.a, id));
    rig_free(&rig, p);
    assert_no_room(&rig, MIB(40)); /* the pool is kept */
    assert_ok(larder_pool_release(rig.a, id));
    rig_alloc(&rig, MIB(40));
    rig_down(&rig);
}

static void a_retry_works_after_freeing(void **state)
{
    static const char *const confs[] = {"", "expandable_segments:True",
                                        "max_split_size_mb:21",
                                        "roundup_power2_divisions:4"};

    (void)state;
    for (size_t i = 0; i < sizeof confs / sizeof confs[0]; i++) {
        struct rig rig = rig_up("sim:200MiB,backing=none", confs[i]);
        larder_addr p = rig_alloc(&rig, MIB(120));
        larder_addr small = rig_alloc(&rig, 512);

        assert_no_room(&rig, MIB(140));
        rig_free(&rig, small); /* small requests still work */
        rig_alloc(&rig, 512);
        rig_free(&rig, p);
        rig_alloc(&rig, MIB(140));
        rig_down(&rig);
    }
}

static void a_limit_fails_without_asking_the_device(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "limit:50MiB");
    uint64_t asked;

    (void)state;
    rig_alloc(&rig, MIB(30));
    asked = rig_calls(&rig, LARDER_CALL_mem_alloc);
    assert_no_room(&rig, MIB(30));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), asked);
    assert_int_equal(rig_stats(&rig).num_ooms, 1);
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 1);
    assert_int_equal(rig_stats(&rig).num_oom_rejections, 0);
    rig_down(&rig);
}

/* Like PyTorch's test_set_per_process_memory_fraction. */
static void a_fraction_of_the_device_is_a_limit(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");

    (void)state;
    assert_ok(larder_set_memory_fraction(rig.a, 0.5));
    rig_free(&rig, rig_alloc(&rig, MIB(510)));
    assert_ok(larder_empty_cache(rig.a));
    assert_no_room(&rig, MIB(514));
    rig_free(&rig, rig_alloc(&rig, MIB(512)));
    assert_ok(larder_set_memory_fraction(rig.a, 0));
    assert_no_room(&rig, MIB(514));
    assert_ok(larder_empty_cache(rig.a));
    assert_no_room(&rig, 512);
    assert_ok(larder_set_memory_fraction(rig.a, 1));
    rig_alloc(&rig, MIB(1022));
    rig_down(&rig);
}

static void throwing_at_the_limit_skips_the_ladder(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none",
                            "limit:50MiB,throw_on_cudamalloc_oom:True");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(30)));
    assert_no_room(&rig, MIB(40)); /* releasing 30 MiB would have helped */
    assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
    assert_int_equal(rig_stats(&rig).num_ooms, 0); /* as in PyTorch 2.12 */
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 0);
    assert_int_equal(rig_reserved(&rig), MIB(30));
    rig_down(&rig);
}

static void the_message_names_a_limit(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "limit:4MiB");
    larder_addr p;

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY, larder_alloc(rig.a, MIB(5), 0, &p));
    assert_non_null(strstr(larder_last_error(),
                           "4.00 MiB allowed; Of the allocated memory "));
    rig_down(&rig);
}

static void the_direct_policy_waits_for_streams_before_it_fails(void **state)
{
    struct rig rig = rig_up_policy("sim:64MiB,backing=none,events=manual",
                                   LARDER_POLICY_DIRECT, "");
    larder_addr p = rig_alloc(&rig, MIB(40));

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    rig_alloc(&rig, MIB(50));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_is_pytorch_s_with_our_name),
        cmocka_unit_test(the_message_has_the_size_the_device_was_asked_for),
        cmocka_unit_test(the_size_is_that_of_pages_or_of_a_segment),
        cmocka_unit_test(memory_counts_as_used_if_the_device_does_not_say),
        cmocka_unit_test(the_message_says_what_private_pools_hold),
        cmocka_unit_test(the_message_counts_all_streams_of_private_pools),
        cmocka_unit_test(the_message_names_the_device),
        cmocka_unit_test(the_message_is_this_thread_s_until_its_next_failure),
        cmocka_unit_test(a_failure_costs_only_the_cache),
        cmocka_unit_test(unused_segments_are_released_before_a_failure),
        cmocka_unit_test(a_segment_partly_in_use_stays),
        cmocka_unit_test(whole_pages_of_expandable_segments_are_released),
        cmocka_unit_test(pages_move_from_one_stream_to_another_by_the_ladder),
        cmocka_unit_test(an_oversize_segment_is_released_alone),
        cmocka_unit_test(oversize_segments_are_released_largest_first),
        cmocka_unit_test(blocks_that_wait_for_a_stream_are_freed_by_the_ladder),
        cmocka_unit_test(nothing_is_released_while_a_pool_is_begun),
        cmocka_unit_test(memory_of_a_released_pool_goes_before_a_request_fails),
        cmocka_unit_test(a_retry_works_after_freeing),
        cmocka_unit_test(a_limit_fails_without_asking_the_device),
        cmocka_unit_test(a_fraction_of_the_device_is_a_limit),
        cmocka_unit_test(throwing_at_the_limit_skips_the_ladder),
        cmocka_unit_test(the_message_names_a_limit),
        cmocka_unit_test(the_direct_policy_waits_for_streams_before_it_fails),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
