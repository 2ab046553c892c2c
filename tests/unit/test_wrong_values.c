/* test_wrong_values.c - NULL, allocators that are gone, options that make no
 * sense, and structs of other sizes: each is refused or read as far as it goes. */
#include <math.h>

#include "every_call.h"
#include "support/rig.h"

#define SPEC "sim:1GiB,backing=none"

static void is_refused(void *ctx, const char *name, larder_result r)
{
    const larder_result *want = ctx;

    if (r != *want)
        fail_msg("%s gave %s, expected %s", name, larder_result_name(r),
                 larder_result_name(*want));
}

static void a_destroyed_allocator_refuses_every_call(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_result want = LARDER_ERR_DESTROYED;
    struct every_argument with = {.addr = rig_alloc(&rig, 4096),
                                  .pool = {3, 0}};
    larder_checkpoint *cp = NULL;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, with.pool, NULL, NULL));
    assert_ok(larder_pool_end(rig.a, with.pool));
    assert_ok(larder_checkpoint_take(rig.a, with.pool, &cp));
    with.checkpoint = cp;
    assert_ok(larder_destroy(rig.a));
    assert_device_empty(rig.dev);
    every_call(rig.a, &with, is_refused, &want);
    assert_result(LARDER_ERR_DESTROYED, larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
    every_call(rig.a, &with, is_refused, &want);
    larder_checkpoint_destroy(cp);
}

static void null_is_refused_as_an_allocator(void **state)
{
    struct every_argument with = {.addr = 512, .pool = {1, 1}};
    larder_result want = LARDER_ERR_INVALID;

    (void)state;
    every_call(NULL, &with, is_refused, &want);
    assert_ok(larder_destroy(NULL));
    assert_ok(larder_device_close(NULL));
    larder_checkpoint_destroy(NULL);
}

static void outputs_and_texts_must_not_be_null(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr live = rig_alloc(&rig, 4096);
    struct picture before = picture_take(&rig);
    larder_allocator *a = rig.a;
    larder_pool_id id = {1, 1};
    larder_policy policy;
    larder_device *dev;
    larder_addr p;
    uint64_t bytes;

    (void)state;
    assert_result(LARDER_ERR_INVALID, larder_alloc(a, 512, 0, NULL));
    assert_result(LARDER_ERR_INVALID, larder_alloc(a, 0, 0, NULL));
    assert_result(LARDER_ERR_INVALID, larder_configure(a, NULL));
    assert_result(LARDER_ERR_INVALID, larder_conf_check(NULL));
    assert_result(LARDER_ERR_INVALID, larder_memory_fraction(a, NULL));
    assert_result(LARDER_ERR_INVALID, larder_largest_cached(a, NULL));
    assert_result(LARDER_ERR_INVALID,
                  larder_base_allocation(a, live, NULL, &bytes));
    assert_result(LARDER_ERR_INVALID,
                  larder_base_allocation(a, live, &p, NULL));
    assert_result(LARDER_ERR_INVALID, larder_add_reclaim(a, NULL, NULL));
    assert_result(LARDER_ERR_INVALID, larder_add_oom_observer(a, NULL, NULL));
    assert_result(LARDER_ERR_INVALID, larder_checkpoint_take(a, id, NULL));
    assert_result(LARDER_ERR_INVALID, larder_pool_live_is(a, id, &p, 1, NULL));
    assert_result(LARDER_ERR_INVALID, larder_stats_get(a, NULL));
    assert_result(
        LARDER_ERR_INVALID,
        larder_checkpoint_restore(a, NULL, NULL, 0, NULL, NULL, 0, NULL));
    assert_result(LARDER_ERR_INVALID, larder_create(rig.dev, NULL, NULL));
    assert_result(LARDER_ERR_INVALID, larder_create(NULL, NULL, &a));
    assert_result(LARDER_ERR_INVALID, larder_device_open(NULL, 0, &dev));
    assert_result(LARDER_ERR_INVALID, larder_device_open(SPEC, 0, NULL));
    assert_result(LARDER_ERR_INVALID, larder_policy_parse(NULL, &policy));
    assert_result(LARDER_ERR_INVALID, larder_policy_parse("pytorch", NULL));
    assert_result(LARDER_ERR_INVALID, larder_parse_size(NULL, &bytes));
    assert_result(LARDER_ERR_INVALID, larder_parse_size("1", NULL));
    assert_unchanged(&rig, before);
    rig_free(&rig, live);
    rig_down(&rig);
}

static void assert_options_refused(larder_device *dev,
                                   const larder_options *opt, const char *words)
{
    larder_allocator *a = NULL;

    assert_refused(LARDER_ERR_INVALID, larder_create(dev, opt, &a), words);
    assert_null(a);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    struct newer {
        larder_options known;
        uint64_t unknown;
    } newer;
    larder_options opt;
    larder_allocator *a = NULL;
    larder_device *dev;

    (void)state;
    assert_ok(larder_device_open(SPEC, 0, &dev));
    memset(&opt, 0, sizeof opt);
    assert_options_refused(dev, &opt, "size");
    opt.size = sizeof opt.size - 1;
    assert_options_refused(dev, &opt, "size");
    larder_options_init(&opt);
    opt.flags = 5;
    assert_options_refused(dev, &opt, "5");
    larder_options_init(&opt);
    opt.policy = (larder_policy)99;
    assert_options_refused(dev, &opt, "99");
    larder_options_init(&opt);
    opt.conf = "no_such_key:1";
    assert_refused(LARDER_ERR_CONF, larder_create(dev, &opt, &a),
                   "no_such_key");
    assert_null(a);

    larder_options_init_sized(NULL, sizeof opt);
    larder_history_options_init_sized(NULL, sizeof(larder_history_options));
    larder_snapshot_options_init_sized(NULL, sizeof(larder_snapshot_options));
    larder_region_options_init_sized(NULL, sizeof(larder_region_options));
    larder_options_init_sized(&newer.known, sizeof newer);
    assert_int_equal(newer.unknown, 0);
    newer.known.conf = "";
    assert_ok(larder_create(dev, &newer.known, &a));
    assert_ok(larder_destroy(a));
    newer.unknown = 1;
    assert_options_refused(dev, &newer.known, "larder_options");
    assert_ok(larder_device_close(dev));
}

static void options_of_an_older_header_are_read(void **state)
{
    larder_options opt;
    larder_allocator *a = NULL;
    larder_device *dev;

    (void)state;
    assert_ok(larder_device_open(SPEC, 0, &dev));
    larder_options_init(&opt);
    opt.size = offsetof(larder_options, flags);
    opt.policy = LARDER_POLICY_DIRECT;
    opt.flags = 1; /* beyond its size: ignored */
    opt.conf = "not read";
    assert_ok(larder_create(dev, &opt, &a));
    assert_ok(larder_destroy(a));
    assert_ok(larder_device_close(dev));
}

static void statistics_need_their_size(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_stats st;

    (void)state;
    memset(&st, 0xAA, sizeof st);
    st.size = 0;
    assert_result(LARDER_ERR_INVALID, larder_stats_get(rig.a, &st));
    assert_int_equal(st.max_split_size, (int64_t)UINT64_C(0xAAAAAAAAAAAAAAAA));
    rig_down(&rig);
}

static void statistics_of_an_older_header_are_not_overrun(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_stats st;

    (void)state;
    memset(&st, 0xAA, sizeof st);
    st.size = offsetof(larder_stats, segment);
    rig_alloc(&rig, 4096);
    assert_ok(larder_stats_get(rig.a, &st));
    assert_int_equal(st.allocation.all.current, 1);
    assert_int_equal(st.size, offsetof(larder_stats, segment));
    assert_int_equal(st.segment.all.current,
                     (int64_t)UINT64_C(0xAAAAAAAAAAAAAAAA));
    rig_down(&rig);
}

static void a_fraction_outside_0_and_1_is_refused(void **state)
{
    static const double bad[] = {-0.1, 1.1, 1e300, -INFINITY, INFINITY, NAN};
    struct rig rig = rig_up(SPEC, "");
    double fraction = 0;

    (void)state;
    assert_ok(larder_set_memory_fraction(rig.a, 0.25));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(LARDER_ERR_INVALID,
                       larder_set_memory_fraction(rig.a, bad[i]),
                       "Invalid fraction value");
    assert_refused(LARDER_ERR_INVALID, larder_set_memory_fraction(rig.a, 1.1),
                   "1.1");
    assert_ok(larder_memory_fraction(rig.a, &fraction));
    assert_true(fraction == 0.25);
    rig_down(&rig);
}

static void an_unknown_policy_is_named(void **state)
{
    larder_policy policy = LARDER_POLICY_DIRECT;

    (void)state;
    assert_refused(LARDER_ERR_INVALID, larder_policy_parse("best", &policy),
                   "best");
    assert_refused(LARDER_ERR_INVALID, larder_policy_parse("", &policy),
                   "pytorch");
    assert_refused(LARDER_ERR_INVALID, larder_policy_parse("direct ", &policy),
                   "direct");
    assert_int_equal(policy, LARDER_POLICY_DIRECT);
    assert_ok(larder_policy_parse("pytorch", &policy));
    assert_int_equal(policy, LARDER_POLICY_PYTORCH);
    assert_string_equal(larder_policy_name(LARDER_POLICY_DIRECT), "direct");
    assert_string_equal(larder_policy_name(LARDER_POLICY_DEFAULT), "larder");
    assert_non_null(larder_policy_name((larder_policy)99));
}

static void a_device_in_use_is_not_closed(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct rig second = {.dev = rig.dev};
    larder_addr p = rig_alloc(&rig, 4096);
    struct picture before = picture_take(&rig);

    (void)state;
    assert_ok(larder_create(rig.dev, NULL, &second.a));
    assert_refused(LARDER_ERR_BUSY, larder_device_close(rig.dev), "use");
    assert_ok(larder_destroy(second.a));
    assert_result(LARDER_ERR_BUSY, larder_device_close(rig.dev));
    assert_unchanged(&rig, before);
    rig_free(&rig, p);
    rig_down(&rig);
}

static void every_result_has_a_name_and_words(void **state)
{
    (void)state;
#define X(name, code, text_)                                                   \
    assert_int_equal(LARDER_##name, code);                                     \
    assert_string_equal(larder_result_name(LARDER_##name), "LARDER_" #name);   \
    assert_string_equal(larder_result_text(LARDER_##name), text_);
    LARDER_RESULT_MAP(X)
#undef X
    assert_string_equal(larder_result_name((larder_result)999), "LARDER_ERR_?");
    assert_non_null(larder_result_text((larder_result)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_destroyed_allocator_refuses_every_call),
        cmocka_unit_test(null_is_refused_as_an_allocator),
        cmocka_unit_test(outputs_and_texts_must_not_be_null),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(options_of_an_older_header_are_read),
        cmocka_unit_test(statistics_need_their_size),
        cmocka_unit_test(statistics_of_an_older_header_are_not_overrun),
        cmocka_unit_test(a_fraction_outside_0_and_1_is_refused),
        cmocka_unit_test(an_unknown_policy_is_named),
        cmocka_unit_test(a_device_in_use_is_not_closed),
        cmocka_unit_test(every_result_has_a_name_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
