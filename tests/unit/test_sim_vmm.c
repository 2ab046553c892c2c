/* test_sim_vmm.c - virtual memory of the simulated GPU: reserved ranges, pages,
 * and the rules for mapping pages into ranges. */
#include "device_rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE MIB(2)

/* Both kinds of backing must do the same. */
static const char *const specs[] = {"sim:64MiB", "sim:64MiB,backing=none"};

static larder_addr reserve(larder_device *dev, uint64_t bytes)
{
    larder_addr addr;

    assert_ok(larder__device_address_reserve(dev, bytes, &addr));
    return addr;
}

/* A mapped, usable page. */
static uint64_t put_page(larder_device *dev, larder_addr addr, uint64_t bytes)
{
    uint64_t page = page_of(dev, bytes);

    assert_ok(larder__device_map(dev, addr, bytes, page));
    assert_ok(larder__device_set_access(dev, addr, bytes));
    return page;
}

static unsigned char *at(larder_addr addr)
{
    return (unsigned char *)(uintptr_t)addr;
}

/* ---- reserving ------------------------------------------------------------ */

static void ranges_take_the_lowest_addresses_of_the_second_region(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        larder_addr first, second;

        assert_ok(larder_sim_regions(dev, &first, &second));
        assert_int_equal(reserve(dev, 4 * PAGE), second);
        assert_int_equal(reserve(dev, GIB(1)), second + 4 * PAGE);
        assert_int_equal(reserve(dev, PAGE), second + 4 * PAGE + GIB(1));
        assert_ok(larder__device_address_free(dev, second, 4 * PAGE));
        assert_int_equal(reserve(dev, 5 * PAGE), second + 5 * PAGE + GIB(1));
        assert_int_equal(reserve(dev, 4 * PAGE), second);
        assert_int_equal(free_of(dev), MIB(64));
        assert_int_equal(rig_usage(dev).reservations, 4);
        assert_ok(larder_device_close(dev));
    }
}

static void sizes_are_whole_granules(void **state)
{
    larder_device *dev = open_one(specs[1]);
    larder_addr range = reserve(dev, 4 * PAGE), out;
    uint64_t page = page_of(dev, PAGE);

    (void)state;
#define REFUSED(call) assert_refused(LARDER_ERR_DEVICE, call, "2097152 bytes")
    REFUSED(larder__device_address_reserve(dev, 0, &out));
    REFUSED(larder__device_address_reserve(dev, PAGE + 1, &out));
    REFUSED(larder__device_page_create(dev, 0, &page));
    REFUSED(larder__device_page_create(dev, PAGE / 2, &page));
    REFUSED(larder__device_map(dev, range + 1, PAGE, page));
    REFUSED(larder__device_map(dev, range, PAGE - 1, page));
    REFUSED(larder__device_map(dev, range, 0, page));
    REFUSED(larder__device_unmap(dev, range, 0, 0));
    REFUSED(larder__device_set_access(dev, range, PAGE + 512));
#undef REFUSED
    assert_int_equal(rig_usage(dev).reservations, 1);
    assert_int_equal(rig_usage(dev).pages, 1);
    assert_ok(larder_device_close(dev));
}

static void addresses_run_out_with_the_region(void **state)
{
    larder_device *dev = open_one(specs[1]);
    larder_addr addr = 0;
    uint64_t huge = UINT64_C(1) << 44;

    (void)state;
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_address_reserve(dev, huge + PAGE, &addr),
                   "only 17592186044416 bytes of addresses");
    reserve(dev, huge - PAGE);
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_address_reserve(dev, 2 * PAGE, &addr),
                   "no free address range");
    reserve(dev, PAGE);
    assert_ok(larder_device_close(dev));
}

static void only_a_whole_unmapped_range_is_given_back(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        larder_addr range = reserve(dev, 4 * PAGE);

#define REFUSED(addr, bytes)                                                   \
    assert_refused(LARDER_ERR_DEVICE,                                          \
                   larder__device_address_free(dev, addr, bytes),              \
                   "not a reserved range")
        REFUSED(range, PAGE);
        REFUSED(range + PAGE, 3 * PAGE);
        REFUSED(range + PAGE, 4 * PAGE);
        REFUSED(range, 5 * PAGE);
        REFUSED(0, 4 * PAGE);
#undef REFUSED
        put_page(dev, range + PAGE, 2 * PAGE);
        assert_refused(LARDER_ERR_DEVICE,
                       larder__device_address_free(dev, range, 4 * PAGE),
                       "4194304 bytes are still mapped");
        assert_ok(larder__device_unmap(dev, range + PAGE, 2 * PAGE, 1));
        assert_ok(larder__device_address_free(dev, range, 4 * PAGE));
        assert_int_equal(rig_usage(dev).reservations, 0);
        assert_ok(larder_device_close(dev));
    }
}

/* ---- pages ---------------------------------------------------------------- */

static void pages_count_against_the_capacity(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        uint64_t page = page_of(dev, MIB(60)), other;
        larder_addr addr;

        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder__device_page_create(dev, MIB(6), &other),
                       "page_create of 6291456 bytes failed: the simulated "
                       "GPU has 4194304 of 67108864 bytes left");
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder__device_mem_alloc(dev, MIB(6), &addr));
        assert_ok(larder__device_mem_alloc(dev, MIB(4), &addr));
        assert_int_equal(rig_usage(dev).pages, 1);
        assert_ok(larder__device_page_release(dev, page));
        assert_int_equal(rig_usage(dev).pages, 0);
        assert_int_equal(free_of(dev), MIB(60));
        assert_ok(larder_device_close(dev));
    }
}

static void a_released_page_lives_until_it_is_unmapped(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        larder_addr range = reserve(dev, 4 * PAGE);
        uint64_t page = put_page(dev, range, 2 * PAGE);

        assert_ok(larder__device_page_release(dev, page));
        assert_int_equal(free_of(dev), MIB(60));
        assert_int_equal(rig_usage(dev).pages, 1);
        assert_refused(LARDER_ERR_DEVICE,
                       larder__device_page_release(dev, page), "no such page");
        assert_refused(
            LARDER_ERR_DEVICE,
            larder__device_map(dev, range + 2 * PAGE, 2 * PAGE, page),
            "no such page");
        if (i == 0)
            memset(at(range), 1, 2 * PAGE);
        assert_ok(larder__device_unmap(dev, range, 2 * PAGE, 1));
        assert_int_equal(free_of(dev), MIB(64));
        assert_int_equal(rig_usage(dev).pages, 0);
        assert_ok(larder_device_close(dev));
    }
}

static void a_handle_never_comes_again(void **state)
{
    larder_device *dev = open_one(specs[1]);
    uint64_t old = page_of(dev, PAGE), page;

    (void)state;
    assert_ok(larder__device_page_release(dev, old));
    page = page_of(dev, PAGE);
    assert_int_not_equal(page, old);
    assert_result(LARDER_ERR_DEVICE, larder__device_page_release(dev, old));
    assert_result(LARDER_ERR_DEVICE, larder__device_page_release(dev, 0));
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_release(dev, page + 1));
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_release(dev, UINT64_MAX));
    assert_ok(larder__device_page_release(dev, page));
    /* The next handle of its slot, if that had been taken. */
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_page_release(dev, page + (page - old)));
    assert_ok(larder_device_close(dev));
}

/* ---- mapping -------------------------------------------------------------- */

static void a_page_is_mapped_whole_where_nothing_is(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        larder_addr range = reserve(dev, 4 * PAGE);
        larder_addr next = reserve(dev, PAGE);
        uint64_t page = page_of(dev, 2 * PAGE);

#define REFUSED(addr, bytes, words)                                            \
    assert_refused(LARDER_ERR_DEVICE,                                          \
                   larder__device_map(dev, addr, bytes, page), words)
        REFUSED(range, PAGE, "the page has 4194304 bytes");
        REFUSED(range, 3 * PAGE, "the page has 4194304 bytes");
        REFUSED(range + 3 * PAGE, 2 * PAGE, "not within a reserved range");
        REFUSED(next + PAGE, 2 * PAGE, "not within a reserved range");
        put_page(dev, range + PAGE, PAGE);
        REFUSED(range, 2 * PAGE, "something is mapped there");
        REFUSED(range + PAGE, 2 * PAGE, "something is mapped there");
#undef REFUSED
        assert_int_equal(rig_usage(dev).mappings, 1);
        assert_ok(larder__device_map(dev, range + 2 * PAGE, 2 * PAGE, page));
        assert_int_equal(rig_usage(dev).mappings, 2);
        assert_ok(larder_device_close(dev));
    }
}

static void unmapping_cuts_no_page_and_skips_no_hole(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        larder_addr range = reserve(dev, 8 * PAGE);

        put_page(dev, range, 2 * PAGE);
        put_page(dev, range + 2 * PAGE, PAGE);
        put_page(dev, range + 3 * PAGE, 2 * PAGE);
#define REFUSED(addr, bytes, words)                                            \
    assert_refused(LARDER_ERR_DEVICE,                                          \
                   larder__device_unmap(dev, addr, bytes, 1), words)
        REFUSED(range, PAGE, "split a page");
        REFUSED(range + PAGE, 2 * PAGE, "split a page");
        REFUSED(range + 2 * PAGE, 2 * PAGE, "split a page");
        REFUSED(range + 3 * PAGE, 3 * PAGE, "not all of it is mapped");
        REFUSED(range + 5 * PAGE, PAGE, "not all of it is mapped");
        REFUSED(range + 5 * PAGE, 4 * PAGE, "not within a reserved range");
#undef REFUSED
        assert_int_equal(rig_usage(dev).mappings, 3);
        assert_ok(larder__device_unmap(dev, range + 2 * PAGE, 3 * PAGE, 2));
        assert_ok(larder__device_unmap(dev, range, 2 * PAGE, 1));
        assert_int_equal(rig_usage(dev).mappings, 0);
        assert_int_equal(rig_usage(dev).pages, 3);
        assert_ok(larder_device_close(dev));
    }
}

static void memory_is_usable_once_access_was_given(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        larder_device *dev = open_one(specs[i]);
        larder_addr range = reserve(dev, 4 * PAGE);

        put_page(dev, range, 2 * PAGE);
        assert_ok(larder__device_map(dev, range + 2 * PAGE, PAGE,
                                     page_of(dev, PAGE)));
        assert_refused(LARDER_ERR_DEVICE,
                       larder__device_set_access(dev, range, 4 * PAGE),
                       "not all of it is mapped");
        assert_ok(larder_device_fill(dev, range, 1, 2 * PAGE, 0));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_fill(dev, range, 1, 2 * PAGE + 1, 0));
        assert_ok(larder__device_set_access(dev, range + 2 * PAGE, PAGE));
        assert_ok(larder_device_fill(dev, range, 1, 3 * PAGE, 0));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_fill(dev, range + PAGE, 1, GIB(1), 0));
        /* Access belongs to the mapping, not to the address. */
        assert_ok(larder__device_unmap(dev, range + 2 * PAGE, PAGE, 1));
        assert_ok(larder__device_map(dev, range + 2 * PAGE, PAGE,
                                     page_of(dev, PAGE)));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_fill(dev, range, 1, 3 * PAGE, 0));
        assert_ok(larder_device_close(dev));
    }
}

/* ---- the memory ----------------------------------------------------------- */

static void a_page_takes_its_contents_along(void **state)
{
    larder_device *dev = open_one(specs[0]);
    larder_addr range = reserve(dev, 8 * PAGE), there = range + 5 * PAGE;
    uint64_t page = put_page(dev, range, 2 * PAGE);

    (void)state;
    memset(at(range), 0x5a, 2 * PAGE);
    assert_ok(larder__device_unmap(dev, range, 2 * PAGE, 1));
    put_page(dev, range, PAGE);
    assert_int_equal(at(range)[0], 0);
    assert_ok(larder__device_map(dev, there, 2 * PAGE, page));
    assert_ok(larder__device_set_access(dev, there, 2 * PAGE));
    for (uint64_t i = 0; i < 2 * PAGE; i += 4096)
        assert_int_equal(at(there)[i], 0x5a);
    assert_ok(larder_device_close(dev));
}

static void a_page_mapped_twice_is_one_memory(void **state)
{
    larder_device *dev = open_one(specs[0]);
    larder_addr range = reserve(dev, 2 * PAGE);
    uint64_t page = put_page(dev, range, PAGE);

    (void)state;
    assert_ok(larder__device_map(dev, range + PAGE, PAGE, page));
    assert_ok(larder__device_set_access(dev, range + PAGE, PAGE));
    at(range)[7] = 9;
    assert_int_equal(at(range + PAGE)[7], 9);
    assert_int_equal(rig_usage(dev).mappings, 2);
    assert_int_equal(free_of(dev), MIB(62));
    assert_ok(larder__device_page_release(dev, page));
    assert_ok(larder__device_unmap(dev, range, PAGE, 1));
    assert_int_equal(at(range + PAGE)[7], 9);
    assert_int_equal(free_of(dev), MIB(62));
    assert_ok(larder__device_unmap(dev, range + PAGE, PAGE, 1));
    assert_int_equal(free_of(dev), MIB(64));
    assert_ok(larder_device_close(dev));
}

static void a_new_page_holds_nothing_of_an_old_one(void **state)
{
    larder_device *dev = open_one(specs[0]);
    larder_addr range = reserve(dev, PAGE);

    (void)state;
    for (int i = 0; i < 3; i++) {
        uint64_t page = put_page(dev, range, PAGE);

        for (uint64_t j = 0; j < PAGE; j += 512)
            assert_int_equal(at(range)[j], 0);
        memset(at(range), 0x77, PAGE);
        assert_ok(larder__device_unmap(dev, range, PAGE, 1));
        assert_ok(larder__device_page_release(dev, page));
    }
    assert_ok(larder_device_close(dev));
}

static sigjmp_buf after_fault;

static void jump(int signal)
{
    siglongjmp(after_fault, signal);
}

/* The signal that a write there raises; 0: none. */
static int signal_of_write(larder_addr addr)
{
    const struct sigaction action = {.sa_handler = jump};
    static struct sigaction before;
    int signal = sigsetjmp(after_fault, 1);

    if (signal == 0) {
        assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
        *(volatile unsigned char *)at(addr) = 1;
    }
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    return signal;
}

/* A child does not get the mapping: its writes would reach its parent. */
static void mapped_memory_is_not_in_a_forked_child(void **state)
{
    larder_device *dev = open_one(specs[0]);
    larder_addr range = reserve(dev, PAGE);
    int status;
    pid_t pid;

    (void)state;
    put_page(dev, range, PAGE);
    at(range)[0] = 7;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(signal_of_write(range) == SIGSEGV ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(at(range)[0], 7);
    assert_ok(larder_device_close(dev));
}

static void memory_not_mapped_with_access_faults(void **state)
{
    larder_device *dev = open_one(specs[0]);
    larder_addr range = reserve(dev, 2 * PAGE);

    (void)state;
    assert_int_equal(signal_of_write(range), SIGSEGV);
    assert_ok(larder__device_map(dev, range, PAGE, page_of(dev, PAGE)));
    assert_int_equal(signal_of_write(range), SIGSEGV);
    assert_ok(larder__device_set_access(dev, range, PAGE));
    assert_int_equal(signal_of_write(range), 0);
    assert_int_equal(signal_of_write(range + PAGE), SIGSEGV);
    assert_ok(larder__device_unmap(dev, range, PAGE, 1));
    assert_int_equal(signal_of_write(range), SIGSEGV);
    assert_ok(larder_device_close(dev));
}

/* ---- without virtual memory ----------------------------------------------- */

static void a_device_may_be_without_virtual_memory(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none,vmm=off");
    larder_addr addr;

    (void)state;
    assert_false(larder__device_has_vmm(dev));
    assert_result(LARDER_ERR_UNSUPPORTED,
                  larder__device_address_reserve(dev, PAGE, &addr));
    assert_result(LARDER_ERR_UNSUPPORTED, larder__device_map(dev, 0, PAGE, 1));
    assert_ok(larder__device_mem_alloc(dev, 512, &addr));
    assert_ok(larder_device_close(dev));
    dev = open_one("sim:64MiB,backing=none");
    assert_true(larder__device_has_vmm(dev));
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_take_the_lowest_addresses_of_the_second_region),
        cmocka_unit_test(sizes_are_whole_granules),
        cmocka_unit_test(addresses_run_out_with_the_region),
        cmocka_unit_test(only_a_whole_unmapped_range_is_given_back),
        cmocka_unit_test(pages_count_against_the_capacity),
        cmocka_unit_test(a_released_page_lives_until_it_is_unmapped),
        cmocka_unit_test(a_handle_never_comes_again),
        cmocka_unit_test(a_page_is_mapped_whole_where_nothing_is),
        cmocka_unit_test(unmapping_cuts_no_page_and_skips_no_hole),
        cmocka_unit_test(memory_is_usable_once_access_was_given),
        cmocka_unit_test(a_page_takes_its_contents_along),
        cmocka_unit_test(a_page_mapped_twice_is_one_memory),
        cmocka_unit_test(a_new_page_holds_nothing_of_an_old_one),
        cmocka_unit_test(memory_not_mapped_with_access_faults),
        cmocka_unit_test(mapped_memory_is_not_in_a_forked_child),
        cmocka_unit_test(a_device_may_be_without_virtual_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
