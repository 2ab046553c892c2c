/* test_sim_spec.c - opening simulated GPUs by their spec. */
#include "support/rig.h"

#include "device/device.h"

static larder_device *open_one(const char *spec, int ordinal)
{
    larder_device *dev;

    assert_ok(larder_device_open(spec, ordinal, &dev));
    return dev;
}

static larder_device_props props_of(larder_device *dev)
{
    larder_device_props props = {.size = sizeof props};

    assert_ok(larder_device_get_props(dev, &props));
    return props;
}

static void a_size_alone_is_enough(void **state)
{
    larder_device *dev = open_one("sim:3GiB", 0);
    larder_device_props props = props_of(dev);

    (void)state;
    assert_int_equal(props.total_bytes, GIB(3));
    assert_int_equal(props.granularity_bytes, MIB(2));
    assert_int_equal(props.context_bytes, 0);
    assert_int_equal(props.ordinal, 0);
    assert_ok(larder_device_close(dev));
}

static void assert_card(const char *spec, const char *name, uint64_t mib,
                        uint64_t context)
{
    larder_device *dev = open_one(spec, 0);
    larder_device_props props = props_of(dev);

    assert_string_equal(props.name, name);
    assert_int_equal(props.total_bytes, MIB(mib));
    assert_int_equal(props.context_bytes, context);
    assert_ok(larder_device_close(dev));
}

static void a_card_may_be_named_in_place_of_a_size(void **state)
{
    static const char *const h100[] = {
        "sim:h100", "sim:H100-80", "sim:h100 80GB", "sim:NVIDIA_H100,vmm=off"};

    (void)state;
    for (size_t i = 0; i < sizeof h100 / sizeof h100[0]; i++)
        assert_card(h100[i], "NVIDIA H100 80GB HBM3", 81080, MIB(625));
    assert_card("sim:4090", "NVIDIA GeForce RTX 4090", 24207, MIB(397));
    assert_card("sim:RTX 4070 Ti SUPER", "NVIDIA GeForce RTX 4070 Ti SUPER",
                15851, MIB(205));
    assert_card("sim:v100-32,context=0", "Tesla V100-SXM2-32GB", 32502, 0);
}

static void every_setting_is_taken_in_any_order(void **state)
{
    larder_device *dev = open_one("sim:80g,count=2,events=manual,context=512m,"
                                  "vmm=off,backing=none",
                                  1);
    larder_device_props props = props_of(dev);
    uint64_t event;

    (void)state;
    assert_int_equal(props.total_bytes, GIB(80));
    assert_int_equal(props.granularity_bytes, 0);
    assert_int_equal(props.context_bytes, MIB(512));
    assert_int_equal(props.ordinal, 1);
    assert_ok(larder_device_event_create(dev, &event));
    assert_ok(larder_device_event_record(dev, event, 0));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, event));
    assert_ok(larder_device_close(dev));
}

static void events_are_immediate_unless_manual(void **state)
{
    static const char *const specs[] = {"sim:1g", "sim:1g,events=auto",
                                        "sim:1g,events=immediate"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        larder_device *dev = open_one(specs[i], 0);
        uint64_t event;

        assert_ok(larder_device_event_create(dev, &event));
        assert_ok(larder_device_event_record(dev, event, 0));
        assert_ok(larder_device_event_query(dev, event));
        assert_ok(larder_device_close(dev));
    }
}

static void assert_bad_spec(const char *spec, const char *part,
                            const char *expected)
{
    larder_device *dev = NULL;

    assert_result(LARDER_ERR_INVALID, larder_device_open(spec, 0, &dev));
    assert_null(dev);
    assert_words(spec);
    assert_words(part);
    assert_words(expected);
}

static void a_wrong_part_is_named_with_what_is_accepted(void **state)
{
    (void)state;
    assert_bad_spec("gpu", "'gpu'", "sim:SIZE");
    assert_bad_spec("", "''", "sim:SIZE");
    assert_bad_spec("sim", "'sim'", "sim:SIZE");
    assert_bad_spec("sim:", "'' is not a capacity", "80GiB");
    assert_bad_spec("sim:0", "'0' is not a capacity", "from 1 byte");
    assert_bad_spec("sim:17TiB", "'17TiB' is not a capacity", "to 16TiB");
    assert_bad_spec("sim:many", "'many' is not a capacity", "size");
    assert_bad_spec("sim:h1000", "'h1000' is not a capacity",
                    "did you mean h100?");
    assert_bad_spec("sim:rtx4900", "or a card", "did you mean rtx4090?");
    assert_bad_spec("sim:a100", "or a card", "did you mean a100-40?");
    assert_bad_spec("sim:1g,", "'' is not a setting", "NAME=VALUE");
    assert_bad_spec("sim:1g,,vmm=on", "'' is not a setting", "NAME=VALUE");
    assert_bad_spec("sim:1g,vmm", "'vmm' is not a setting", "NAME=VALUE");
    assert_bad_spec("sim:1g,speed=9", "'speed=9' is not a setting",
                    "backing, vmm, context, events, costs, shared, count");
    assert_bad_spec("sim:1g,backing=disk", "'backing=disk'",
                    "expected memory, none or a size such as 64KiB");
    assert_bad_spec("sim:1g,vmm=", "'vmm='", "expected on or off");
    assert_bad_spec("sim:1g,vmm=ON", "'vmm=ON'", "expected on or off");
    assert_bad_spec("sim:1g,context=x", "'context=x'", "expected a size");
    assert_bad_spec("sim:1g,events=never", "'events=never'",
                    "expected auto, manual, immediate or driver");
    assert_bad_spec("sim:1g,costs=", "'costs='", "name of a file");
    assert_bad_spec("sim:1g,shared=", "'shared='", "1 to 64 letters");
    assert_bad_spec("sim:1g,shared=a/b", "'shared=a/b'", "letters");
    assert_bad_spec("sim:1g,count=0", "'count=0'", "from 1 to 64");
    assert_bad_spec("sim:1g,count=65", "'count=65'", "from 1 to 64");
    assert_bad_spec("sim:1g,count=-1", "'count=-1'", "from 1 to 64");
    assert_bad_spec("sim:1g,count=", "'count='", "from 1 to 64");
    assert_bad_spec("sim:1g,vmm=on,vmm=off", "'vmm' is given twice", "twice");
}

static void a_part_that_is_too_long_is_refused(void **state)
{
    char spec[5000];
    larder_device *dev;

    (void)state;
    memset(spec, 'x', sizeof spec);
    memcpy(spec, "sim:1g,costs=", 13);
    spec[sizeof spec - 1] = '\0';
    assert_refused(LARDER_ERR_INVALID, larder_device_open(spec, 0, &dev),
                   "longer than 4095 bytes");
    memcpy(spec, "sim:1g,shared=", 14);
    spec[14 + 65] = '\0';
    assert_refused(LARDER_ERR_INVALID, larder_device_open(spec, 0, &dev),
                   "1 to 64 letters");
}

static void an_ordinal_is_below_the_count(void **state)
{
    larder_device *dev;

    (void)state;
    assert_refused(LARDER_ERR_INVALID,
                   larder_device_open("sim:1g,count=2", 2, &dev),
                   "has no number 2: count=2");
    assert_refused(LARDER_ERR_INVALID, larder_device_open("sim:1g", -1, &dev),
                   "has no number -1");
}

static void devices_of_one_spec_never_share_an_address(void **state)
{
    larder_addr first[4], second[4];
    larder_device *dev[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        dev[i] = open_one("sim:1g,backing=none,count=4", i);
        assert_ok(larder_sim_regions(dev[i], &first[i], &second[i]));
        assert_int_equal(first[i], (1 + 2 * (uint64_t)i) << 44);
        assert_int_equal(second[i] - first[i], UINT64_C(1) << 44);
    }
    for (int i = 0; i < 4; i++)
        assert_ok(larder_device_close(dev[i]));
}

static void real_regions_are_apart_and_far_enough(void **state)
{
    larder_addr first[4], second[4];
    larder_device *dev[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        dev[i] = open_one("sim:1g,count=4", i);
        assert_ok(larder_sim_regions(dev[i], &first[i], &second[i]));
        assert_int_equal(first[i] % MIB(2), 0);
        assert_true(second[i] - first[i] >= GIB(1));
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            uint64_t span = 2 * (second[j] - first[j]);

            assert_true(first[i] - first[j] >= span ||
                        first[j] - first[i] >= 2 * (second[i] - first[i]));
        }
    }
    for (int i = 0; i < 4; i++)
        assert_ok(larder_device_close(dev[i]));
}

static void a_spec_opened_twice_is_two_devices(void **state)
{
    larder_device *a = open_one("sim:4MiB", 0);
    larder_device *b = open_one("sim:4MiB", 0);
    uint64_t free_bytes, total_bytes;
    larder_addr addr;

    (void)state;
    assert_ok(larder__device_mem_alloc(a, MIB(4), &addr));
    assert_ok(larder_device_mem_info(b, &free_bytes, &total_bytes));
    assert_int_equal(free_bytes, MIB(4));
    assert_ok(larder_device_close(a));
    assert_ok(larder_device_close(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_alone_is_enough),
        cmocka_unit_test(a_card_may_be_named_in_place_of_a_size),
        cmocka_unit_test(every_setting_is_taken_in_any_order),
        cmocka_unit_test(events_are_immediate_unless_manual),
        cmocka_unit_test(a_wrong_part_is_named_with_what_is_accepted),
        cmocka_unit_test(a_part_that_is_too_long_is_refused),
        cmocka_unit_test(an_ordinal_is_below_the_count),
        cmocka_unit_test(devices_of_one_spec_never_share_an_address),
        cmocka_unit_test(real_regions_are_apart_and_far_enough),
        cmocka_unit_test(a_spec_opened_twice_is_two_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
