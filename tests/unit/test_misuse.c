/* test_misuse.c - every wrong call on memory, streams and pools gets its own
 * error, which names the wrong pointer or number, and changes nothing. */
#include <inttypes.h>

#include "support/rig.h"

#define SPEC "sim:1GiB,backing=none"

/* The last error contains this address, in hexadecimal. */
static void assert_names_address(larder_addr addr)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIx64, addr);
    assert_words(text);
}

/* Two live blocks with a freed one between them. */
struct three {
    struct rig rig;
    larder_addr low;
    larder_addr freed;
    larder_addr high;
};

static struct three three_up(const char *conf)
{
    struct three t = {.rig = rig_up(SPEC, conf)};

    t.low = rig_alloc(&t.rig, 4096);
    t.freed = rig_alloc(&t.rig, 4096);
    t.high = rig_alloc(&t.rig, 4096);
    rig_free(&t.rig, t.freed);
    return t;
}

static void three_down(struct three *t)
{
    rig_free(&t->rig, t->low);
    rig_free(&t->rig, t->high);
    rig_down(&t->rig);
}

/* ---- addresses ----------------------------------------------------------- */

static void a_double_free_is_reported_and_changes_nothing(void **state)
{
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);

    (void)state;
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(t.rig.a, t.freed));
    assert_names_address(t.freed);
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void a_double_free_is_reported_after_a_merge(void **state)
{
    struct three t = three_up("");

    (void)state;
    rig_free(&t.rig, t.low);
    rig_free(&t.rig, t.high);
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(t.rig.a, t.low));
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(t.rig.a, t.freed));
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(t.rig.a, t.high));
    assert_names_address(t.high);
    rig_down(&t.rig);
}

static void a_double_free_is_reported_in_expandable_segments(void **state)
{
    struct three t = three_up("expandable_segments:True");
    struct picture before = picture_take(&t.rig);

    (void)state;
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(t.rig.a, t.freed));
    assert_names_address(t.freed);
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void a_double_free_is_told_while_a_stream_is_waited_for(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none,events=manual", "");
    larder_addr p = rig_alloc(&rig, 4096);
    struct picture before;

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 3));
    rig_free(&rig, p);
    before = picture_take(&rig);
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, p));
    assert_names_address(p);
    assert_unchanged(&rig, before);
    rig_down(&rig);
}

static void an_address_whose_memory_was_released_is_unknown(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, MIB(30));
    struct picture before;

    (void)state;
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    before = picture_take(&rig);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, p));
    assert_names_address(p);
    assert_unchanged(&rig, before);
    rig_down(&rig);
}

static void a_pointer_into_a_block_is_unknown(void **state)
{
    static const uint64_t offsets[] = {1, 511, 512, 4095};
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);

    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        larder_addr inside = t.low + offsets[i];

        assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(t.rig.a, inside));
        assert_names_address(inside);
    }
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void an_unaligned_pointer_into_a_free_block_is_unknown(void **state)
{
    struct three t = three_up("");

    (void)state;
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                  larder_free(t.rig.a, t.freed + 1));
    assert_names_address(t.freed + 1);
    three_down(&t);
}

static void a_foreign_address_is_unknown(void **state)
{
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);
    const larder_addr foreign[] = {1,
                                   512,
                                   (larder_addr)(uintptr_t)&t,
                                   t.low - 512,
                                   t.low + GIB(1),
                                   UINT64_C(1) << 56,
                                   UINT64_MAX,
                                   UINT64_MAX - 511};

    (void)state;
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                      larder_free(t.rig.a, foreign[i]));
        assert_names_address(foreign[i]);
    }
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void an_address_of_another_allocator_is_unknown(void **state)
{
    struct three t = three_up("");
    struct rig other = {.dev = t.rig.dev};
    struct picture before = picture_take(&t.rig);
    larder_addr p;

    (void)state;
    assert_ok(larder_create(other.dev, NULL, &other.a));
    p = rig_alloc(&other, 4096);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(t.rig.a, p));
    assert_names_address(p);
    assert_unchanged(&t.rig, before);
    rig_free(&other, p);
    assert_ok(larder_destroy(other.a));
    three_down(&t);
}

static void the_direct_policy_reports_wrong_frees_too(void **state)
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_DIRECT, "");
    larder_addr p = rig_alloc(&rig, 4096);
    struct picture before = picture_take(&rig);

    (void)state;
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, p + 512));
    assert_unchanged(&rig, before);
    rig_free(&rig, p);
    before = picture_take(&rig);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, p));
    assert_names_address(p);
    assert_unchanged(&rig, before);
    rig_down(&rig);
}

static void recording_a_stream_refuses_what_is_not_live(void **state)
{
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);

    (void)state;
    assert_result(LARDER_ERR_DOUBLE_FREE,
                  larder_record_stream(t.rig.a, t.freed, 1));
    assert_names_address(t.freed);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                  larder_record_stream(t.rig.a, t.low + 512, 1));
    assert_names_address(t.low + 512);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                  larder_record_stream(t.rig.a, UINT64_MAX, 1));
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void base_allocation_refuses_what_is_not_live(void **state)
{
    struct three t = three_up("");
    larder_addr base = 77;
    uint64_t bytes = 78;

    (void)state;
    assert_result(LARDER_ERR_DOUBLE_FREE,
                  larder_base_allocation(t.rig.a, t.freed, &base, &bytes));
    assert_names_address(t.freed);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS,
                  larder_base_allocation(t.rig.a, 512, &base, &bytes));
    assert_int_equal(base, 77);
    assert_int_equal(bytes, 78);
    assert_ok(larder_base_allocation(t.rig.a, t.high, &base, &bytes));
    assert_int_equal(base, t.low);
    assert_int_equal(bytes, MIB(2));
    three_down(&t);
}

static void base_allocation_is_not_for_expandable_segments(void **state)
{
    struct rig rig = rig_up(SPEC, "expandable_segments:True");
    larder_addr p = rig_alloc(&rig, 4096);
    larder_addr base;
    uint64_t bytes;

    (void)state;
    assert_result(LARDER_ERR_UNSUPPORTED,
                  larder_base_allocation(rig.a, p, &base, &bytes));
    assert_names_address(p);
    rig_down(&rig);
}

/* ---- sizes --------------------------------------------------------------- */

static void nothing_is_allocated_for_0_bytes(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct picture before = picture_take(&rig);
    larder_addr p = 77;

    (void)state;
    assert_ok(larder_alloc(rig.a, 0, 5, &p));
    assert_int_equal(p, 0);
    assert_ok(larder_free(rig.a, p));
    assert_unchanged(&rig, before);
    rig_down(&rig);
}

static void an_exabyte_is_refused_without_asking_the_device(void **state)
{
    static const uint64_t sizes[] = {UINT64_C(1) << 60, (UINT64_C(1) << 60) + 1,
                                     UINT64_C(1) << 63, UINT64_MAX - 511,
                                     UINT64_MAX};
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);
    uint64_t asked = rig_calls(&t.rig, LARDER_CALL_mem_alloc);
    larder_addr p = 77;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_alloc(t.rig.a, sizes[i], 0, &p),
                       "Tried to allocate more than 1EB memory.");
        assert_int_equal(p, 77);
    }
    assert_unchanged(&t.rig, before);
    assert_int_equal(rig_calls(&t.rig, LARDER_CALL_mem_alloc), asked);
    three_down(&t);
}

/* PyTorch's own test of absurd sizes requests this much.  The segment is the
 * request rounded up to 2 MiB: 745058059.69 GiB. */
static void requests_of_8e17_bytes_are_out_of_memory_with_their_size(
    void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = 77;

    (void)state;
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, UINT64_C(800000000) << 30, 0, &p),
                   "Tried to allocate 800000000.00 GiB");
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, UINT64_C(800000000000000000), 0, &p),
                   "Tried to allocate 745058059.69 GiB");
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, (UINT64_C(1) << 60) - 1, 0, &p),
                   "Tried to allocate 1073741824.00 GiB");
    assert_int_equal(p, 77);
    assert_int_equal(rig_stats(&rig).num_ooms, 3);
    p = rig_alloc(&rig, 512);
    rig_free(&rig, p);
    rig_down(&rig);
}

static void absurd_sizes_are_refused_by_every_configuration(void **state)
{
    static const char *const confs[] = {
        "expandable_segments:True",
        "max_split_size_mb:32",
        "roundup_power2_divisions:8",
        "roundup_power2_divisions:[1:2,>:1]",
        "limit:10MiB",
        "limit:10MiB,throw_on_cudamalloc_oom:True",
        "garbage_collection_threshold:0.5,per_process_memory_fraction:0.5"};
    larder_addr p = 77;

    (void)state;
    for (size_t i = 0; i < sizeof confs / sizeof confs[0]; i++) {
        struct rig rig = rig_up(SPEC, confs[i]);

        for (unsigned log2 = 40; log2 < 64; log2++) {
            for (int64_t add = -1; add <= 1; add++)
                assert_result(
                    LARDER_ERR_OUT_OF_MEMORY,
                    larder_alloc(rig.a, (UINT64_C(1) << log2) + (uint64_t)add,
                                 0, &p));
        }
        assert_int_equal(rig_reserved(&rig), 0);
        rig_down(&rig);
    }
}

static void absurd_reservations_are_refused(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    assert_result(LARDER_ERR_INVALID, larder_reserve(rig.a, 0));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_reserve(rig.a, UINT64_C(1) << 63));
    assert_result(LARDER_ERR_OUT_OF_MEMORY, larder_reserve(rig.a, GIB(1) + 1));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

/* ---- streams and pools --------------------------------------------------- */

static void an_unknown_stream_is_refused(void **state)
{
    static const larder_stream unknown[] = {LARDER_SIM_STREAMS,
                                            UINT64_C(1) << 40, UINT64_MAX};
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);
    larder_addr p = 77;

    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        char number[32];

        snprintf(number, sizeof number, "%" PRIu64, unknown[i]);
        assert_refused(LARDER_ERR_UNKNOWN_STREAM,
                       larder_alloc(t.rig.a, 4096, unknown[i], &p), number);
        assert_refused(LARDER_ERR_UNKNOWN_STREAM,
                       larder_alloc(t.rig.a, MIB(50), unknown[i], &p), number);
        assert_refused(LARDER_ERR_UNKNOWN_STREAM,
                       larder_record_stream(t.rig.a, t.low, unknown[i]),
                       number);
    }
    assert_int_equal(p, 77);
    assert_unchanged(&t.rig, before);
    p = rig_alloc_on(&t.rig, 4096, LARDER_SIM_STREAMS - 1);
    rig_free(&t.rig, p);
    three_down(&t);
}

static void an_unknown_pool_is_refused(void **state)
{
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);
    larder_pool_id id = {41, 42};
    larder_checkpoint *cp = NULL;
    int same = 77;

    (void)state;
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_end(t.rig.a, id),
                   "(41, 42)");
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_release(t.rig.a, id),
                   "(41, 42)");
    assert_refused(LARDER_ERR_UNKNOWN_POOL,
                   larder_checkpoint_take(t.rig.a, id, &cp), "(41, 42)");
    assert_refused(LARDER_ERR_UNKNOWN_POOL,
                   larder_pool_live_is(t.rig.a, id, NULL, 0, &same),
                   "(41, 42)");
    assert_null(cp);
    assert_int_equal(same, 77);
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void the_default_pool_cannot_be_begun(void **state)
{
    struct three t = three_up("");
    struct picture before = picture_take(&t.rig);
    larder_pool_id id = {0, 0};

    (void)state;
    assert_refused(LARDER_ERR_INVALID,
                   larder_pool_begin(t.rig.a, id, NULL, NULL), "(0, 0)");
    assert_unchanged(&t.rig, before);
    three_down(&t);
}

static void a_pool_is_begun_and_released_once_for_each_user(void **state)
{
    struct three t = three_up("");
    larder_pool_id id = {7, 0};

    (void)state;
    assert_ok(larder_pool_begin(t.rig.a, id, NULL, NULL));
    assert_refused(LARDER_ERR_INVALID,
                   larder_pool_begin(t.rig.a, id, NULL, NULL), "(7, 0)");
    assert_refused(LARDER_ERR_CAPTURING, larder_empty_cache(t.rig.a),
                   "private pool");
    assert_ok(larder_pool_end(t.rig.a, id));
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_end(t.rig.a, id),
                   "(7, 0)");
    assert_ok(larder_pool_release(t.rig.a, id));
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_release(t.rig.a, id),
                   "(7, 0)");
    three_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_double_free_is_reported_and_changes_nothing),
        cmocka_unit_test(a_double_free_is_reported_after_a_merge),
        cmocka_unit_test(a_double_free_is_reported_in_expandable_segments),
        cmocka_unit_test(a_double_free_is_told_while_a_stream_is_waited_for),
        cmocka_unit_test(an_address_whose_memory_was_released_is_unknown),
        cmocka_unit_test(a_pointer_into_a_block_is_unknown),
        cmocka_unit_test(an_unaligned_pointer_into_a_free_block_is_unknown),
        cmocka_unit_test(a_foreign_address_is_unknown),
        cmocka_unit_test(an_address_of_another_allocator_is_unknown),
        cmocka_unit_test(the_direct_policy_reports_wrong_frees_too),
        cmocka_unit_test(recording_a_stream_refuses_what_is_not_live),
        cmocka_unit_test(base_allocation_refuses_what_is_not_live),
        cmocka_unit_test(base_allocation_is_not_for_expandable_segments),
        cmocka_unit_test(nothing_is_allocated_for_0_bytes),
        cmocka_unit_test(an_exabyte_is_refused_without_asking_the_device),
        cmocka_unit_test(
            requests_of_8e17_bytes_are_out_of_memory_with_their_size),
        cmocka_unit_test(absurd_sizes_are_refused_by_every_configuration),
        cmocka_unit_test(absurd_reservations_are_refused),
        cmocka_unit_test(an_unknown_stream_is_refused),
        cmocka_unit_test(an_unknown_pool_is_refused),
        cmocka_unit_test(the_default_pool_cannot_be_begun),
        cmocka_unit_test(a_pool_is_begun_and_released_once_for_each_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
