/* test_sim_stream_data.c - copies and fills on streams of the simulated GPU: in
 * order, and what comes of those whose memory went away meanwhile. */
#include "sim_stream_rig.h"

static void copies_and_fills_happen_in_stream_order(void **state)
{
    larder_device *dev = open_manual();
    unsigned char host[512] = {0};
    larder_addr a, b;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_ok(larder__device_mem_alloc(dev, 512, &b));
    assert_ok(larder_device_fill(dev, a, 3, 512, 1));
    assert_ok(larder_device_copy(dev, b, a, 512, LARDER_COPY_ON_DEVICE, 1));
    assert_ok(larder_device_fill(dev, a, 4, 512, 1));
    assert_ok(larder_device_copy(dev, (uint64_t)(uintptr_t)host, b, 512,
                                 LARDER_COPY_TO_HOST, 1));
    assert_int_equal(host[0], 0);
    assert_ok(larder_sim_complete(dev, 1));
    assert_int_equal(host[511], 3);
    assert_int_equal(*(unsigned char *)(uintptr_t)a, 4);
    assert_ok(larder_device_close(dev));
}

/* What one byte at `addr` is after a fill with 7 and a copy of 9s, each of
 * `bytes`. */
static void fill_and_copy(larder_device *dev, larder_addr addr, uint64_t bytes,
                          unsigned char *filled, unsigned char *copied)
{
    static unsigned char nines[8192];

    memset(nines, 9, sizeof nines);
    assert_ok(larder_device_fill(dev, addr, 7, bytes, 0));
    *filled = *(unsigned char *)(uintptr_t)addr;
    assert_ok(larder_device_copy(dev, addr, (uint64_t)(uintptr_t)nines, bytes,
                                 LARDER_COPY_TO_DEVICE, 0));
    *copied = *(unsigned char *)(uintptr_t)addr;
}

static void backing_of_a_size_is_for_what_is_as_small(void **state)
{
    larder_device *dev = open_one("sim:1g,backing=4KiB");
    unsigned char filled, copied, host = 1;
    larder_addr a;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, 8192, &a));
    fill_and_copy(dev, a, 4097, &filled, &copied);
    assert_int_equal(filled, 0);
    assert_int_equal(copied, 0);
    assert_ok(larder_device_copy(dev, (uint64_t)(uintptr_t)&host, a, 1,
                                 LARDER_COPY_TO_HOST, 0));
    assert_int_equal(host, 0);
    fill_and_copy(dev, a, 4096, &filled, &copied);
    assert_int_equal(filled, 7);
    assert_int_equal(copied, 9);
    assert_ok(larder_device_close(dev));
}

static void work_on_memory_freed_meanwhile_is_skipped_and_reported(void **state)
{
    larder_device *dev = open_manual();
    larder_addr a;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    launch(dev, 1, "a");
    assert_ok(larder_device_fill(dev, a, 3, 512, 1));
    launch(dev, 1, "b");
    assert_ok(larder__device_mem_free(dev, a));
    assert_refused(LARDER_ERR_DEVICE, larder_sim_complete(dev, 1),
                   "sim_complete failed: 512 bytes at 0x");
    assert_string_equal(journal, "ab");
    assert_ok(larder_sim_complete(dev, 1));
    assert_ok(larder_device_close(dev));
}

/* A usable page at addr. */
static uint64_t put_page(larder_device *dev, larder_addr addr)
{
    uint64_t page;

    assert_ok(larder__device_page_create(dev, MIB(2), &page));
    assert_ok(larder__device_map(dev, addr, MIB(2), page));
    assert_ok(larder__device_set_access(dev, addr, MIB(2)));
    return page;
}

/* Two pages with a copy and a fill queued on the second, on streams 1 and 2;
 * then the second is unmapped. */
static larder_addr queue_and_unmap(larder_device *dev, uint64_t *second)
{
    larder_addr at;

    assert_ok(larder__device_address_reserve(dev, MIB(4), &at));
    (void)put_page(dev, at);
    *second = put_page(dev, at + MIB(2));
    assert_ok(larder_device_copy(dev, at + MIB(2) - 8, at, 16,
                                 LARDER_COPY_ON_DEVICE, 1));
    assert_ok(larder_device_fill(dev, at + MIB(3), 1, 8, 2));
    assert_ok(larder_device_fill(dev, at, 1, 8, 3));
    assert_ok(larder__device_unmap(dev, at + MIB(2), MIB(2), 1));
    return at;
}

static void work_queued_on_pages_that_others_take_the_place_of_is_told(
    void **state)
{
    static const char *const specs[] = {"sim:64MiB,events=manual",
                                        "sim:64MiB,events=manual,backing=none"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        uint64_t second;
        larder_addr at = queue_and_unmap(dev, &second);

        (void)put_page(dev, at + MIB(2));
        assert_refused(LARDER_ERR_DEVICE, larder_sim_complete(dev, 1),
                       "mapped to other pages while work on it was queued");
        assert_refused(LARDER_ERR_DEVICE, larder_sim_complete(dev, 2),
                       "mapped to other pages while work on it was queued");
        assert_ok(larder_sim_complete(dev, 3));
        /* Work queued from here on uses the new pages. */
        assert_ok(larder_device_fill(dev, at + MIB(3), 1, 8, 2));
        assert_ok(larder_sim_complete(dev, 2));
        assert_ok(larder_device_close(dev));
    }
}

static void work_on_pages_that_came_back_is_done(void **state)
{
    larder_device *dev = open_one("sim:64MiB,events=manual");
    uint64_t second;
    larder_addr at = queue_and_unmap(dev, &second);

    (void)state;
    assert_ok(larder__device_map(dev, at + MIB(2), MIB(2), second));
    assert_ok(larder__device_set_access(dev, at + MIB(2), MIB(2)));
    assert_ok(larder_sim_complete(dev, 1));
    assert_ok(larder_sim_complete(dev, 2));
    assert_int_equal(*(char *)(uintptr_t)(at + MIB(3) + 7), 1);
    assert_ok(larder_device_close(dev));
}

static void work_on_addresses_without_memory_is_not_queued(void **state)
{
    larder_device *dev = open_manual();
    larder_addr first, second;

    (void)state;
    assert_ok(larder_sim_regions(dev, &first, &second));
    assert_refused(LARDER_ERR_DEVICE, larder_device_fill(dev, first, 1, 1, 0),
                   "not all memory of this device");
    assert_result(LARDER_ERR_DEVICE, larder_device_fill(dev, second, 1, 1, 0));
    assert_result(LARDER_ERR_DEVICE, larder_device_fill(dev, 4096, 1, 1, 0));
    assert_ok(larder_sim_complete(dev, 0));
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copies_and_fills_happen_in_stream_order),
        TEST(backing_of_a_size_is_for_what_is_as_small),
        TEST(work_on_memory_freed_meanwhile_is_skipped_and_reported),
        TEST(work_queued_on_pages_that_others_take_the_place_of_is_told),
        TEST(work_on_pages_that_came_back_is_done),
        TEST(work_on_addresses_without_memory_is_not_queued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
