/* test_preload_limit.c - without a cache every call still goes to the driver,
 * and all memory held counts towards the limit of 64 MiB. */
#include "preload_rig.h"

#define LIMIT MIB(64)

static const cud_page_prop on_device = {
    .type = CUD_PAGE_PINNED,
    .location = {.type = CUD_ON_DEVICE, .id = 0},
};

static void without_a_cache_every_call_is_the_driver_s(void **state)
{
    unsigned long allocs = CALLS(cuMemAlloc_v2);
    unsigned long frees = CALLS(cuMemFree_v2);

    (void)state;
    release(allocate(MIB(3)));
    release(allocate(MIB(3)));
    assert_int_equal(CALLS(cuMemAlloc_v2), allocs + 2);
    assert_int_equal(CALLS(cuMemFree_v2), frees + 2);
    assert_int_equal(stats_now().held_bytes, 0);
}

static void memory_the_driver_refuses_is_not_counted(void **state)
{
    uint64_t peak = stats_now().held_bytes_peak;
    cud_addr addr = 0;

    (void)state;
    assert_true(peak < MIB(60));
    fake()->plan("cuMemAlloc_v2", 1, 2, CUD_OUT_OF_MEMORY);
    assert_int_equal(cuMemAlloc_v2(&addr, MIB(60)), CUD_OUT_OF_MEMORY);
    assert_int_equal(stats_now().held_bytes_peak, peak);
    release(allocate(MIB(60)));
    assert_int_equal(stats_now().held_bytes_peak, MIB(60));
}

static void more_than_the_limit_is_refused(void **state)
{
    cud_addr a = allocate(MIB(40));
    unsigned long refused = stats_now().refused;
    cud_addr b = 0;

    (void)state;
    assert_int_equal(cuMemAlloc_v2(&b, MIB(25)), CUD_OUT_OF_MEMORY);
    assert_int_equal(b, 0);
    assert_int_equal(stats_now().refused, refused + 1);
    b = allocate(MIB(24));
    assert_int_equal(stats_now().held_bytes, LIMIT);
    release(a);
    a = allocate(MIB(40));
    release(a);
    release(b);
}

static void the_program_sees_the_limit_as_the_device(void **state)
{
    size_t free_bytes;
    size_t total;
    cud_addr addr = allocate(MIB(10));

    (void)state;
    assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total), CUD_SUCCESS);
    assert_int_equal(total, LIMIT);
    assert_int_equal(free_bytes, LIMIT - MIB(10));
    assert_int_equal(cuDeviceTotalMem_v2(&total, 0), CUD_SUCCESS);
    assert_int_equal(total, LIMIT);
    assert_int_equal(cuDeviceTotalMem_v2(&total, 1), CUD_SUCCESS);
    assert_int_equal(total, LIMIT);
    assert_int_equal(cuDeviceTotalMem_v2(&total, 99), CUD_INVALID_DEVICE);
    release(addr);
}

static void virtual_memory_counts(void **state)
{
    cud_page page;
    cud_page other;
    cud_addr addr;
    uint64_t refused;

    (void)state;
    assert_int_equal(cuMemCreate(&page, MIB(60), &on_device, 0), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, MIB(60));
    refused = stats_now().refused;
    assert_int_equal(cuMemAlloc_v2(&addr, MIB(6)), CUD_OUT_OF_MEMORY);
    assert_int_equal(cuMemCreate(&other, MIB(6), &on_device, 0),
                     CUD_OUT_OF_MEMORY);
    assert_int_equal(stats_now().refused, refused + 2);
    assert_int_equal(cuMemCreate(&other, 4096, &on_device, 0),
                     CUD_INVALID_VALUE);
    assert_broken("not a multiple");
    assert_int_equal(cuMemRelease(page), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, 0);
    assert_int_equal(cuMemRelease(page), CUD_INVALID_VALUE);
    assert_broken("no page");
    assert_int_equal(stats_now().outside_bytes, 0);
}

static void a_mapped_page_counts_after_its_release(void **state)
{
    cud_page page;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuMemAddressReserve)(&addr, MIB(8), 0, 0, 0), 0);
    assert_int_equal(cuMemCreate(&page, MIB(4), &on_device, 0), CUD_SUCCESS);
    assert_int_equal(cuMemMap(addr, MIB(4), 0, page, 0), CUD_SUCCESS);
    assert_int_equal(cuMemRelease(page), CUD_SUCCESS);
    assert_int_equal(cuMemCreate(&page, MIB(4), &on_device, 0), CUD_SUCCESS);
    assert_int_equal(cuMemMap(addr + MIB(4), MIB(4), 0, page, 0), CUD_SUCCESS);
    assert_int_equal(cuMemRelease(page), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, MIB(8));
    assert_int_equal(cuMemUnmap(addr, MIB(2)), CUD_INVALID_VALUE);
    assert_broken("cuMemUnmap");
    assert_int_equal(stats_now().outside_bytes, MIB(8));
    assert_int_equal(cuMemUnmap(addr, MIB(8)), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, 0);
    assert_int_equal(DRIVER(cuMemAddressFree)(addr, MIB(8)), CUD_SUCCESS);
}

/* The next call of the function fails, as in a driver that lacks it. */
static void refuse(const char *symbol)
{
    fake()->plan(symbol, 1, 1, CUD_NOT_SUPPORTED);
}

static void other_kinds_of_memory_count_while_they_live(void **state)
{
    cud_addr addr = 9;

    (void)state;
    /* What the driver refuses is not counted. */
    refuse("cuMemAllocManaged");
    assert_int_equal(cuMemAllocManaged(&addr, MIB(1), 1), CUD_NOT_SUPPORTED);
    refuse("cuMemAllocAsync");
    assert_int_equal(cuMemAllocAsync(&addr, MIB(1), NULL), CUD_NOT_SUPPORTED);
    refuse("cuMemAllocFromPoolAsync");
    assert_int_equal(cuMemAllocFromPoolAsync(&addr, MIB(1), NULL, NULL),
                     CUD_NOT_SUPPORTED);
    assert_int_equal(stats_now().outside_bytes, 0);
    assert_int_equal(cuMemAllocAsync(&addr, MIB(1), NULL), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, MIB(1));
    assert_int_equal(cuMemFreeAsync(addr, NULL), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, 0);
    addr = 9;
    /* Beyond the limit the driver is not called. */
    assert_int_equal(cuMemAllocManaged(&addr, MIB(65), 1), CUD_OUT_OF_MEMORY);
    assert_int_equal(cuMemAllocAsync(&addr, MIB(65), NULL), CUD_OUT_OF_MEMORY);
    assert_int_equal(cuMemAllocFromPoolAsync(&addr, MIB(65), NULL, NULL),
                     CUD_OUT_OF_MEMORY);
    assert_int_equal(addr, 9);
}

static void an_error_of_the_driver_is_the_program_s(void **state)
{
    cud_addr addr = allocate(MIB(2));

    (void)state;
    fake()->plan("cuMemAlloc_v2", 1, 1, CUD_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemAlloc_v2(&addr, MIB(2)), CUD_ILLEGAL_ADDRESS);
    fake()->plan("cuMemFree_v2", 1, 1, CUD_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemFree_v2(addr), CUD_ILLEGAL_ADDRESS);
    release(allocate(MIB(2))); /* the refused block is released with the next */
    assert_int_equal(stats_now().held_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(without_a_cache_every_call_is_the_driver_s),
        PRELOAD_TEST(memory_the_driver_refuses_is_not_counted),
        PRELOAD_TEST(more_than_the_limit_is_refused),
        PRELOAD_TEST(the_program_sees_the_limit_as_the_device),
        PRELOAD_TEST(virtual_memory_counts),
        PRELOAD_TEST(a_mapped_page_counts_after_its_release),
        PRELOAD_TEST(other_kinds_of_memory_count_while_they_live),
        PRELOAD_TEST(an_error_of_the_driver_is_the_program_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
