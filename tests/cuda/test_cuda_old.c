/* test_cuda_old.c - a driver without the optional calls works, but has no
 * virtual memory. */
#include "cuda_rig.h"

static void optional_driver_calls_may_be_missing(void **state)
{
    struct rig rig = {.dev = cuda_up("sim:64MiB", 0, "")};
    larder_device_props props = {.size = sizeof props};
    larder_options opt;
    larder_addr p;
    int capturing = 1;

    (void)state;
    assert_ok(larder_device_get_props(rig.dev, &props));
    assert_int_equal(props.granularity_bytes, 0);
    assert_false(larder__device_has_vmm(rig.dev));
    larder_options_init(&opt);
    opt.conf = "expandable_segments:True";
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    p = rig_alloc_on(&rig, MIB(3), 7);
    assert_ok(larder_record_stream(rig.a, p, 9));
    assert_ok(larder_device_stream_is_capturing(rig.dev, 7, &capturing));
    assert_int_equal(capturing, 0);
    rig_free(&rig, p);
    assert_ok(larder_destroy(rig.a));
    assert_int_equal(fake()->broken(), 0);
    cuda_down(rig.dev, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optional_driver_calls_may_be_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
