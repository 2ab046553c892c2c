/* test_cuda_share.c - memory shared through the driver's calls, as descriptors
 * and as fabric handles. */
#include "cuda_rig.h"
#include "support/share_rig.h"

enum { BYTES = 5 << 20, SEED = 9 };

static void pass_with(const char *settings, const char *symbol)
{
    larder_device *dev = cuda_up("sim:64MiB", 0, settings);
    struct pair p = pair_up(SOCK_STREAM);
    unsigned long calls = fake()->calls("cuMemImportFromShareableHandle");
    struct rig rig = {.dev = dev};
    larder_options opt;
    larder_addr addr;
    larder_export *e;
    larder_import *m;

    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    opt.conf = "handle_mib:2";
    assert_ok(larder_create(dev, &opt, &rig.a));
    addr = rig_alloc(&rig, BYTES);
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_export_open(rig.a, addr, &e));
    assert_ok(larder_export_send(e, p.near));
    assert_ok(larder_import_receive(dev, p.far, &m));
    assert_int_equal(fake()->calls("cuMemImportFromShareableHandle") - calls,
                     3);
    pattern_is(import_info(m).addr, BYTES, SEED);
    assert_ok(larder_device_fill(dev, import_info(m).addr, 0x11, BYTES, 0));
    assert_ok(larder_device_stream_sync(dev, 0));
    assert_int_equal(*(unsigned char *)(uintptr_t)(addr + BYTES - 1), 0x11);
    assert_ok(larder_import_close(m));

    fake()->plan(symbol, 2, 1, CUD_UNKNOWN);
    assert_refused(LARDER_ERR_DEVICE, larder_export_send(e, p.near),
                   "CUDA_ERROR_UNKNOWN");
    fake()->plan(NULL, 0, 0, 0);
    pair_down(&p);
    assert_ok(larder_export_close(e));
    rig_free(&rig, addr);
    assert_ok(larder_destroy(rig.a));
    assert_int_equal(fake()->broken(), 0);
    cuda_down(dev, 0);
}

static void memory_is_passed_on_as_descriptors(void **state)
{
    (void)state;
    pass_with(",export=fd", "cuMemExportToShareableHandle");
}

static void memory_is_passed_on_as_fabric_handles(void **state)
{
    (void)state;
    fake()->traits(0, 1, 1);
    pass_with(",export=fabric", "cuMemExportToShareableHandle");
    fake()->traits(0, 0, 1);
}

static void the_importer_waits_for_its_own_work(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB,events=manual", 0, ",export=fd");
    struct pair p = pair_up(SOCK_STREAM);
    struct rig rig = {.dev = dev};
    larder_options opt;
    larder_export *e;
    larder_import *m;
    uint64_t event;

    (void)state;
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    opt.conf = "handle_mib:2";
    assert_ok(larder_create(dev, &opt, &rig.a));
    assert_ok(larder_export_open(rig.a, rig_alloc(&rig, BYTES), &e));
    assert_ok(larder_export_send(e, p.near));
    assert_ok(larder_import_receive(dev, p.far, &m));
    assert_ok(larder_device_fill(dev, import_info(m).addr, 0x11, BYTES, 0));
    assert_result(LARDER_ERR_DEVICE, larder_import_close(m));
    assert_broken("are used by work that was not waited for");
    assert_ok(larder_device_event_create(dev, &event));
    assert_ok(larder_device_event_record(dev, event, 0));
    assert_ok(larder_device_event_sync(dev, event));
    assert_ok(larder_device_event_destroy(dev, event));
    assert_ok(larder_import_close(m)); /* the refused memory stayed */
    assert_ok(larder_export_close(e));
    assert_ok(larder_destroy(rig.a));
    pair_down(&p);
    cuda_down(dev, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_passed_on_as_descriptors),
        cmocka_unit_test(memory_is_passed_on_as_fabric_handles),
        cmocka_unit_test(the_importer_waits_for_its_own_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
