/* test_sim_faults.c - the host refuses memory, and the simulated GPU stays
 * usable: a call that fails changes nothing. */
#include "support/rig.h"
#include "support/sanitized.h"
#include "support/unique_name.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/host.h"
#include "device/device.h"
#include "device/sim_device.h"

static void kernel(void *ctx)
{
    (void)ctx;
}

static larder_result scenario_memory(larder_device *dev)
{
    larder_addr addr[70] = {0};
    larder_result r = LARDER_OK;

    for (int i = 0; i < 70 && r == LARDER_OK; i++)
        r = larder__device_mem_alloc(dev, i % 2 ? 512 : MIB(2), &addr[i]);
    for (int i = 0; i < 70; i++) {
        if (addr[i] != 0)
            assert_ok(larder__device_mem_free(dev, addr[i]));
    }
    return r;
}

static larder_result scenario_vmm(larder_device *dev)
{
    uint64_t page[70] = {0};
    larder_addr range = 0;
    larder_result r = larder__device_address_reserve(dev, MIB(2), &range);

    for (int i = 0; i < 70 && r == LARDER_OK; i++)
        r = larder__device_page_create(dev, MIB(2), &page[i]);
    if (r == LARDER_OK) {
        assert_ok(larder__device_map(dev, range, MIB(2), page[0]));
        assert_ok(larder__device_set_access(dev, range, MIB(2)));
        assert_ok(larder__device_unmap(dev, range, MIB(2), 1));
    }
    for (int i = 0; i < 70; i++) {
        if (page[i] != 0)
            assert_ok(larder__device_page_release(dev, page[i]));
    }
    if (range != 0)
        assert_ok(larder__device_address_free(dev, range, MIB(2)));
    return r;
}

static larder_result scenario_streams(larder_device *dev)
{
    uint64_t event = 0;
    larder_result r = larder_device_event_create(dev, &event);

    if (r == LARDER_OK)
        r = larder_device_event_record(dev, event, 300);
    if (r == LARDER_OK)
        r = larder_sim_launch(dev, 300, kernel, NULL);
    if (r == LARDER_OK)
        r = larder_sim_wait_event(dev, 600, event);
    if (r == LARDER_OK)
        r = larder_sim_capture_begin(dev, 900);
    if (r == LARDER_OK)
        assert_ok(larder_sim_capture_end(dev, 900));
    if (event != 0)
        assert_ok(larder_device_event_destroy(dev, event));
    return r;
}

/* No address and no place in the memory file is lost either. */
static void assert_nothing_placed(larder_device *dev)
{
    const struct sim *sim = larder__sim_of(dev);

    assert_null(larder__sim_space_any(&sim->memory));
    assert_null(larder__sim_space_any(&sim->addresses));
    assert_null(larder__sim_space_any(&sim->file));
}

static larder_result scenario(const char *spec)
{
    larder_device *dev = NULL;
    larder_result r = larder_device_open(spec, 0, &dev);

    if (r != LARDER_OK) {
        assert_null(dev);
        return r;
    }
    r = scenario_memory(dev);
    if (r == LARDER_OK)
        r = scenario_vmm(dev);
    if (r == LARDER_OK)
        r = scenario_streams(dev);
    assert_device_empty(dev);
    assert_nothing_placed(dev);
    assert_ok(larder_device_close(dev));
    return r;
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* Our mapped files. */
static int mapped_files(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "larder-sim") != NULL;
    fclose(maps);
    return count;
}

/* Fail the n-th request, for each n, once and from then on.  Returns how many
 * requests there are. */
static unsigned long sweep(const char *spec, unsigned long times)
{
    int files = open_files();
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;
    unsigned long n = 0;

    while (r != LARDER_OK) {
        larder__host_fail(++n, times);
        r = scenario(spec);
        larder__host_fail(0, 0);
        if (r != LARDER_OK) {
            assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
            assert_words("out of host memory");
        }
        assert_int_equal(open_files(), files);
        assert_int_equal(mapped_files(), 0);
        assert_true(n < 1000);
    }
    return n - 1;
}

static void every_host_allocation_may_fail(void **state)
{
    char shared[96];

    (void)state;
    snprintf(shared, sizeof shared, "sim:1GiB,events=manual,shared=%s",
             unique_name("faults"));
    for (unsigned long times = 0; times < 2; times++) {
        unsigned long real = sweep("sim:1GiB,events=manual", times);
        unsigned long none =
            sweep("sim:1GiB,events=manual,backing=none", times);

        assert_true(none > 70);
        assert_true(real > none + 60); /* a place in the file for each page */
        assert_int_equal(sweep(shared, times), real + 1);
        assert_int_equal(sweep("sim:1GiB,events=manual,costs=/dev/null", times),
                         real + 1);
    }
}

#ifndef IS_SANITIZED
/* Regions are as long as the address space allows. */
static void opening_with_little_address_space_works_or_is_refused(void **state)
{
    struct rlimit old, tight;
    larder_device *dev;
    larder_addr first, second, addr;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    tight = old;
    tight.rlim_cur = (rlim_t)GIB(8);
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    assert_ok(larder_device_open("sim:1GiB", 0, &dev));
    assert_ok(larder_sim_regions(dev, &first, &second));
    assert_true(second - first >= GIB(1) && second - first < GIB(8));
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &addr));
    memset((void *)(uintptr_t)addr, 1, MIB(2));
    assert_ok(larder_device_close(dev));
    assert_refused(LARDER_ERR_SYSTEM, larder_device_open("sim:16GiB", 0, &dev),
                   "no room for the addresses of 17179869184 bytes");
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
}
#endif

static void opening_without_a_free_descriptor_is_refused(void **state)
{
    struct rlimit old, tight;
    int files = open_files();
    larder_device *dev;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight = old;
    tight.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_refused(LARDER_ERR_SYSTEM, larder_device_open("sim:1GiB", 0, &dev),
                   "no memory file for simulated pages: Too many open files");
    assert_refused(
        LARDER_ERR_SYSTEM,
        larder_device_open("sim:1GiB,backing=none,shared=test-none", 0, &dev),
        "opening the shared memory object '/larder-sim2-test-none.0' failed: "
        "Too many open files");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(open_files(), files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_allocation_may_fail),
        cmocka_unit_test(opening_without_a_free_descriptor_is_refused),
#ifndef IS_SANITIZED
        cmocka_unit_test(opening_with_little_address_space_works_or_is_refused),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
