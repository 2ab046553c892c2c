/* test_sim_lend.c - pages of simulated GPUs shared between processes: handles,
 * and which process is charged for how long. */
#include "device_rig.h"
#include "idle_device.h"
#include "support/share_rig.h"
#include "support/unique_name.h"

#include <fcntl.h>
#include <sys/mman.h>

static char spec[128];

static larder_device *up(const char *settings)
{
    snprintf(spec, sizeof spec, "sim:64MiB,shared=%s,export=%s",
             unique_name("lend"), settings);
    return open_one(spec);
}

static larder_addr map_of(larder_device *dev, uint64_t page, uint64_t bytes)
{
    larder_addr addr;

    assert_ok(larder__device_address_reserve(dev, bytes, &addr));
    assert_ok(larder__device_map(dev, addr, bytes, page));
    assert_ok(larder__device_set_access(dev, addr, bytes));
    return addr;
}

static void unmap_of(larder_device *dev, larder_addr addr, uint64_t bytes)
{
    assert_ok(larder__device_unmap(dev, addr, bytes, 1));
    assert_ok(larder__device_address_free(dev, addr, bytes));
}

static larder_page_handle export_page(larder_device *dev, uint64_t page)
{
    larder_page_handle handle;

    assert_ok(larder__device_page_export(dev, page, &handle));
    return handle;
}

/* ---- requested handle types ------------------------------------------------- */

static void a_spec_chooses_the_kind_of_handle(void **state)
{
    static const larder_handle_kind kinds[] = {
        LARDER_HANDLE_NONE, LARDER_HANDLE_FD, LARDER_HANDLE_FABRIC};
    static const char *const names[] = {"none", "fd", "fabric"};
    larder_device *dev;

    (void)state;
    for (int i = 0; i < 3; i++) {
        larder_device_props props = {.size = sizeof props};

        dev = up(names[i]);
        assert_ok(larder_device_get_props(dev, &props));
        assert_int_equal(props.export_kind, kinds[i]);
        assert_ok(larder_device_close(dev));
    }
    assert_refused(LARDER_ERR_INVALID,
                   larder_device_open("sim:1GiB,export=disk", 0, &dev),
                   "expected none, fd or fabric");
    assert_refused(LARDER_ERR_INVALID,
                   larder_device_open("sim:1GiB,export=fd,vmm=off", 0, &dev),
                   "expected vmm=on and backing=memory");
    assert_refused(
        LARDER_ERR_INVALID,
        larder_device_open("sim:1GiB,export=fabric,backing=none", 0, &dev),
        "expected vmm=on and backing=memory");
}

static void identities_are_those_of_the_shared_device(void **state)
{
    const char *const specs[] = {spec, "sim:64MiB"};
    larder_device_props props[3];
    larder_device *dev[3];

    (void)state;
    snprintf(spec, sizeof spec, "sim:64MiB,shared=%s,count=2",
             unique_name("lend-id"));
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            int ordinal = i == 0 && k == 2 ? 1 : 0;

            props[k].size = sizeof props[k];
            assert_ok(larder_device_open(specs[i], ordinal, &dev[k]));
            assert_ok(larder_device_get_props(dev[k], &props[k]));
        }
        assert_int_equal(memcmp(props[0].uuid, props[1].uuid, 16) == 0, i == 0);
        assert_true(memcmp(props[0].uuid, props[2].uuid, 16) != 0);
        for (int k = 0; k < 3; k++)
            assert_ok(larder_device_close(dev[k]));
    }
}

/* ---- export and import --------------------------------------------------------- */

static void a_page_is_one_on_both_sides(void **state)
{
    const char *const kinds[] = {"fd", "fabric"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev[2] = {up(kinds[i]), up("none")};
        uint64_t page = page_of(dev[0], MIB(4));
        larder_page_handle handle = export_page(dev[0], page);
        uint64_t got;
        larder_addr here, there;

        assert_ok(larder__device_page_import(dev[1], &handle, MIB(4), &got));
        if (handle.kind == LARDER_HANDLE_FD)
            close(handle.fd);
        here = map_of(dev[0], page, MIB(4));
        there = map_of(dev[1], got, MIB(4));
        pattern_put(here, MIB(4), 1);
        pattern_is(there, MIB(4), 1);
        assert_int_equal(rig_usage(dev[0]).used_bytes, MIB(4)); /* once */
        unmap_of(dev[0], here, MIB(4));
        assert_ok(larder__device_page_release(dev[0], page));
        pattern_is(there, MIB(4), 1);
        assert_int_equal(rig_usage(dev[0]).used_bytes, MIB(4));
        unmap_of(dev[1], there, MIB(4));
        assert_int_equal(rig_usage(dev[0]).used_bytes, MIB(4));
        assert_ok(larder__device_page_release(dev[1], got));
        assert_int_equal(rig_usage(dev[0]).used_bytes, 0);
        assert_device_empty(dev[1]);
        assert_ok(larder_device_close(dev[0]));
        assert_ok(larder_device_close(dev[1]));
    }
}

/* A descriptor not received yet keeps the page too, and released memory makes
 * room when it is needed. */
static void a_handle_on_its_way_keeps_the_page(void **state)
{
    larder_device *dev = up("fd");
    uint64_t page = page_of(dev, MIB(60));
    larder_page_handle handle = export_page(dev, page);
    uint64_t other;

    (void)state;
    assert_ok(larder__device_page_release(dev, page));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_page_create(dev, MIB(10), &other));
    close(handle.fd);
    other = page_of(dev, MIB(60));
    assert_ok(larder__device_page_release(dev, other));
    assert_device_empty(dev);
    assert_ok(larder_device_close(dev));
}

static void handles_of_neighbours_import_their_own_page(void **state)
{
    larder_device *dev = up("fd");
    uint64_t pages[3] = {page_of(dev, MIB(2)), page_of(dev, MIB(4)),
                         page_of(dev, MIB(2))};
    larder_page_handle handles[3];
    uint64_t got[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        handles[i] = export_page(dev, pages[i]);
    for (int i = 0; i < 3; i++) {
        uint64_t bytes = i == 1 ? MIB(4) : MIB(2);

        assert_result(
            LARDER_ERR_DEVICE,
            larder__device_page_import(dev, &handles[i], bytes * 2, &got[i]));
        assert_words("no page of");
        assert_result(LARDER_ERR_DEVICE,
                      larder__device_page_import(dev, &handles[i], 0, &got[i]));
        assert_ok(larder__device_page_import(dev, &handles[i], bytes, &got[i]));
    }
    for (int i = 0; i < 3; i++) {
        close(handles[i].fd);
        assert_ok(larder__device_page_release(dev, pages[i]));
        assert_ok(larder__device_page_release(dev, got[i]));
    }
    assert_device_empty(dev);
    assert_ok(larder_device_close(dev));
}

/* ---- what is refused --------------------------------------------------------------- */

static void handles_that_are_not_pages_are_refused(void **state)
{
    larder_device *dev = up("fd");
    larder_page_handle handle = {.kind = LARDER_HANDLE_FD};
    uint64_t page = page_of(dev, MIB(2));
    uint64_t got;

    (void)state;
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_export(dev, page + 1, &handle));
    handle.fd = memfd_create("another", MFD_CLOEXEC);
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_import(dev, &handle, MIB(2), &got));
    assert_words("not one of a simulated GPU's page");
    close(handle.fd);
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_import(dev, &handle, MIB(2), &got));
    handle = (larder_page_handle){.kind = LARDER_HANDLE_FABRIC};
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_import(dev, &handle, MIB(2), &got));
    handle.kind = LARDER_HANDLE_NONE;
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_import(dev, &handle, MIB(2), &got));
    assert_ok(larder__device_page_release(dev, page));
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_export(dev, page, &handle));
    assert_device_empty(dev);
    assert_ok(larder_device_close(dev));

    dev = up("none");
    page = page_of(dev, MIB(2));
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_export(dev, page, &handle));
    assert_words("not made to be exported");
    assert_ok(larder__device_page_release(dev, page));
    assert_ok(larder_device_close(dev));
}

static void an_imported_page_is_not_passed_on(void **state)
{
    larder_device *dev = up("fd");
    uint64_t page = page_of(dev, MIB(2));
    larder_page_handle handle = export_page(dev, page);
    larder_page_handle again;
    uint64_t got;

    (void)state;
    assert_ok(larder__device_page_import(dev, &handle, MIB(2), &got));
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_export(dev, got, &again));
    assert_words("only its creator can export it");
    close(handle.fd);
    assert_ok(larder_device_close(dev)); /* with all of it open */
    (void)page;
}

/* ---- a table with half of it --------------------------------------------------------- */

static larder_result any_import(void *self, const larder_page_handle *handle,
                                uint64_t bytes, uint64_t *out)
{
    (void)self;
    (void)handle;
    (void)bytes;
    (void)out;
    return LARDER_OK;
}

static void a_table_has_both_calls_or_none(void **state)
{
    struct idle_device idle = {0};
    larder_device_ops ops = idle_ops;
    larder_device *dev;

    (void)state;
    ops.page_import = any_import;
    assert_refused(LARDER_ERR_INVALID, larder_device_create(&ops, &idle, &dev),
                   "'page_export' and 'page_import' both");
    ops.page_import = NULL;
    assert_ok(larder_device_create(&ops, &idle, &dev));
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_chooses_the_kind_of_handle),
        cmocka_unit_test(identities_are_those_of_the_shared_device),
        cmocka_unit_test(a_page_is_one_on_both_sides),
        cmocka_unit_test(a_handle_on_its_way_keeps_the_page),
        cmocka_unit_test(handles_of_neighbours_import_their_own_page),
        cmocka_unit_test(handles_that_are_not_pages_are_refused),
        cmocka_unit_test(an_imported_page_is_not_passed_on),
        cmocka_unit_test(a_table_has_both_calls_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
