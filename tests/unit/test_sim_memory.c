/* test_sim_memory.c - driver allocations of the simulated GPU: their addresses,
 * their accounting, and the memory behind them. */
#include "device_rig.h"
#include "support/sanitized.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"

/* Both kinds of backing must do the same. */
static const char *const backings[] = {"memory", "none"};

static larder_device *open_with(const char *size, const char *settings,
                                const char *backing)
{
    char spec[128];

    snprintf(spec, sizeof spec, "sim:%s,backing=%s%s", size, backing, settings);
    return open_one(spec);
}

static larder_addr first_of(larder_device *dev)
{
    larder_addr first, second;

    assert_ok(larder_sim_regions(dev, &first, &second));
    return first;
}

/* Allocate; returns the offset in the first region. */
static uint64_t allocate(larder_device *dev, uint64_t bytes)
{
    larder_addr addr;

    assert_ok(larder__device_mem_alloc(dev, bytes, &addr));
    return addr - first_of(dev);
}

static void release(larder_device *dev, uint64_t offset)
{
    assert_ok(larder__device_mem_free(dev, first_of(dev) + offset));
}

static unsigned char *bytes_at(larder_device *dev, uint64_t offset)
{
    return (unsigned char *)(uintptr_t)(first_of(dev) + offset);
}

/* ---- placement ------------------------------------------------------------ */

static void sizes_are_rounded_to_512_bytes_or_2_mib(void **state)
{
    static const struct {
        uint64_t bytes;
        uint64_t counts;
    } cases[] = {
        {1, 512},
        {512, 512},
        {513, 1024},
        {MIB(1) - 512, MIB(1) - 512},
        {MIB(1) - 511, MIB(1)},
        {MIB(1) - 1, MIB(1)},
        {MIB(1), MIB(2)},
        {MIB(2), MIB(2)},
        {MIB(2) + 1, MIB(4)},
    };

    (void)state;
    for (int b = 0; b < 2; b++) {
        larder_device *dev = open_with("1GiB", "", backings[b]);

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            uint64_t offset = allocate(dev, cases[i].bytes);

            assert_int_equal(offset, 0);
            assert_int_equal(free_of(dev), GIB(1) - cases[i].counts);
            release(dev, offset);
            assert_int_equal(free_of(dev), GIB(1));
        }
        assert_ok(larder_device_close(dev));
    }
}

static void the_lowest_free_address_that_fits_is_taken(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        larder_device *dev = open_with("1GiB", "", backings[b]);

        assert_int_equal(allocate(dev, MIB(4)), 0);
        assert_int_equal(allocate(dev, MIB(2)), MIB(4));
        assert_int_equal(allocate(dev, MIB(2)), MIB(6));
        release(dev, 0);
        release(dev, MIB(6));
        assert_int_equal(allocate(dev, MIB(6)), MIB(6));
        assert_int_equal(allocate(dev, MIB(2)), 0);
        assert_int_equal(allocate(dev, 512), MIB(2));
        assert_int_equal(allocate(dev, 100), MIB(2) + 512);
        assert_int_equal(allocate(dev, MIB(2)), MIB(12));
        release(dev, MIB(4));
        assert_int_equal(allocate(dev, MIB(2)), MIB(4));
        assert_ok(larder_device_close(dev));
    }
}

/* The same sequence in both backings, on a small device. */
static void both_backings_place_alike(void **state)
{
    enum { LIVE = 64 };
    larder_device *dev[2] = {open_with("128MiB", "", "memory"),
                             open_with("128MiB", "", "none")};
    uint64_t live[LIVE], random = 1;

    (void)state;
    memset(live, 0xff, sizeof live);
    for (int step = 0; step < 3000; step++) {
        uint64_t bytes, got[2];
        larder_result r[2];
        int i;

        random = random * UINT64_C(6364136223846793005) + 1;
        i = (int)(random >> 58);
        bytes = 1 + ((random >> 20) & 0xffffff) % (step % 3 ? MIB(8) : 5000);
        for (int d = 0; d < 2; d++) {
            larder_addr addr = 0;

            if (live[i] != UINT64_MAX) {
                release(dev[d], live[i]);
                continue;
            }
            r[d] = larder__device_mem_alloc(dev[d], bytes, &addr);
            got[d] = r[d] == LARDER_OK ? addr - first_of(dev[d]) : UINT64_MAX;
        }
        if (live[i] != UINT64_MAX) {
            live[i] = UINT64_MAX;
            continue;
        }
        assert_int_equal(r[0], r[1]);
        assert_int_equal(got[0], got[1]);
        live[i] = got[0];
        if (got[0] != UINT64_MAX)
            memset(bytes_at(dev[0], got[0]), i, bytes);
    }
    for (int d = 0; d < 2; d++)
        assert_ok(larder_device_close(dev[d]));
}

/* ---- accounting ----------------------------------------------------------- */

static void allocations_beyond_the_capacity_are_out_of_memory(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        larder_device *dev = open_with("4MiB", "", backings[b]);
        larder_addr addr;

        assert_int_equal(allocate(dev, MIB(2)), 0);
        assert_int_equal(allocate(dev, MIB(1) - 512), MIB(2));
        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder__device_mem_alloc(dev, MIB(2), &addr),
                       "mem_alloc of 2097152 bytes failed: the simulated GPU "
                       "has 1049088 of 4194304 bytes left");
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder__device_mem_alloc(dev, UINT64_MAX, &addr));
        assert_result(
            LARDER_ERR_OUT_OF_MEMORY,
            larder__device_mem_alloc(dev, UINT64_MAX - MIB(3), &addr));
        assert_int_equal(rig_usage(dev).allocations, 2);
        assert_int_equal(allocate(dev, MIB(1) - 512), MIB(3) - 512);
        assert_ok(larder_device_close(dev));
    }
}

/* Enough room, but not in one piece. */
static void addresses_may_run_out_before_the_capacity(void **state)
{
    larder_device *dev = open_with("16TiB", "", "none");
    uint64_t quarter = UINT64_C(1) << 42;
    larder_addr addr;

    (void)state;
    allocate(dev, quarter);
    allocate(dev, quarter);
    allocate(dev, 2 * quarter);
    release(dev, 0);
    release(dev, 2 * quarter);
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_mem_alloc(dev, 3 * quarter, &addr),
                   "no free address range is long enough");
    assert_int_equal(free_of(dev), 3 * quarter);
    assert_int_equal(allocate(dev, 2 * quarter), 2 * quarter);
    assert_ok(larder_device_close(dev));
}

static void a_capacity_that_is_no_multiple_counts_to_the_byte(void **state)
{
    larder_device *dev = open_with("3145727", "", "none"); /* 3 MiB - 1 */
    larder_addr addr;

    (void)state;
    assert_int_equal(allocate(dev, MIB(1) - 512), 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, MIB(2) + 1, &addr));
    assert_int_equal(allocate(dev, MIB(2)), MIB(2));
    assert_int_equal(free_of(dev), 511);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, 1, &addr));
    assert_ok(larder_device_close(dev));
}

static void the_context_is_charged_at_the_first_use(void **state)
{
    larder_device *dev = open_with("4MiB", ",context=1MiB", "none");
    larder_addr addr;

    (void)state;
    assert_int_equal(free_of(dev), MIB(4));
    assert_int_equal(rig_usage(dev).context_bytes, 0);
    assert_result(LARDER_ERR_DEVICE, larder__device_mem_free(dev, 1));
    assert_int_equal(free_of(dev), MIB(3));
    assert_int_equal(rig_usage(dev).context_bytes, MIB(1));
    assert_int_equal(rig_usage(dev).self_bytes, MIB(1));
    assert_int_equal(allocate(dev, MIB(2)), 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, MIB(2), &addr));
    assert_int_equal(rig_usage(dev).used_bytes, MIB(3));
    assert_ok(larder_device_close(dev));
}

static void every_call_but_a_question_is_a_use(void **state)
{
    larder_device *dev = open_with("4MiB", ",context=1MiB", "none");
    larder_device_props props = {.size = sizeof props};
    larder_device_counters counters = {.size = sizeof counters};
    uint64_t event;

    (void)state;
    assert_ok(larder_device_get_props(dev, &props));
    assert_ok(larder_device_get_counters(dev, &counters));
    assert_ok(larder__device_stream_check(dev, 5));
    assert_ok(larder_sim_complete(dev, 5));
    assert_int_equal(rig_usage(dev).context_bytes, 0);
    assert_ok(larder_device_event_create(dev, &event));
    assert_int_equal(rig_usage(dev).context_bytes, MIB(1));
    assert_ok(larder_device_close(dev));
}

static void a_context_that_does_not_fit_fails_every_use(void **state)
{
    larder_device *dev = open_with("4MiB", ",context=5MiB", "none");
    uint64_t event;
    larder_addr addr;

    (void)state;
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_mem_alloc(dev, 512, &addr),
                   "the context needs 5242880 bytes, and the simulated GPU "
                   "has 4194304 of 4194304 bytes left");
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_device_event_create(dev, &event));
    assert_result(LARDER_ERR_OUT_OF_MEMORY, larder_sim_capture_begin(dev, 0));
    assert_words("context");
    assert_int_equal(free_of(dev), MIB(4));
    assert_ok(larder_device_close(dev));
}

struct seen {
    int count;
    larder_device_process last;
};

static void see_process(void *ctx, const larder_device_process *p)
{
    struct seen *seen = ctx;

    seen->count++;
    seen->last = *p;
}

static void the_only_process_is_this_one(void **state)
{
    larder_device *dev = open_with("8MiB", ",context=1MiB", "none");
    struct seen seen = {0};

    (void)state;
    assert_ok(larder__device_processes(dev, see_process, &seen));
    assert_int_equal(seen.count, 0);
    allocate(dev, MIB(2));
    assert_ok(larder__device_processes(dev, see_process, &seen));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last.pid, getpid());
    assert_int_equal(seen.last.bytes, MIB(3));
    assert_int_equal(seen.last.is_self, 1);
    assert_ok(larder_device_close(dev));
}

/* ---- errors --------------------------------------------------------------- */

static void only_the_address_of_an_allocation_frees_it(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        larder_device *dev = open_with("8MiB", "", backings[b]);
        larder_addr first = first_of(dev), addr;

        allocate(dev, MIB(4));
        assert_refused(LARDER_ERR_DEVICE,
                       larder__device_mem_free(dev, first + 512),
                       "no allocation begins");
        assert_result(LARDER_ERR_DEVICE,
                      larder__device_mem_free(dev, first + MIB(4)));
        assert_result(LARDER_ERR_DEVICE, larder__device_mem_free(dev, 0));
        assert_int_equal(rig_usage(dev).allocations, 1);
        release(dev, 0);
        assert_result(LARDER_ERR_DEVICE, larder__device_mem_free(dev, first));
        assert_refused(LARDER_ERR_DEVICE,
                       larder__device_mem_alloc(dev, 0, &addr),
                       "the size is 0");
        assert_ok(larder_device_close(dev));
    }
}

/* ---- the memory ----------------------------------------------------------- */

static void every_byte_can_be_written_and_read(void **state)
{
    larder_device *dev = open_with("64MiB", "", "memory");
    uint64_t a = allocate(dev, MIB(3)), b = allocate(dev, 700),
             c = allocate(dev, 100);

    (void)state;
    memset(bytes_at(dev, a), 1, MIB(4));
    memset(bytes_at(dev, b), 2, 1024);
    memset(bytes_at(dev, c), 3, 512);
    release(dev, b);
    assert_int_equal(bytes_at(dev, a)[MIB(4) - 1], 1);
    assert_int_equal(bytes_at(dev, c)[0], 3);
    assert_int_equal(bytes_at(dev, c)[511], 3);
    release(dev, a);
    a = allocate(dev, MIB(4));
    for (uint64_t i = 0; i < MIB(4); i += 4096)
        assert_int_equal(bytes_at(dev, a)[i], 0);
    assert_ok(larder_device_close(dev));
}

#ifndef IS_SANITIZED /* they leave no room for that much */
static void memory_is_backed_at_its_first_touch(void **state)
{
    larder_device *dev = open_with("16TiB", "", "memory");

    (void)state;
    bytes_at(dev, allocate(dev, GIB(100)))[GIB(50)] = 1;
    assert_ok(larder_device_close(dev));
}
#endif

/* The signal that ends a child which writes there; 0: none. */
static int signal_of_write(unsigned char *at)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile unsigned char *)at = 1;
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void memory_that_was_freed_faults(void **state)
{
    larder_device *dev = open_with("64MiB", "", "memory");
    uint64_t a = allocate(dev, MIB(4));

    (void)state;
    assert_int_equal(signal_of_write(bytes_at(dev, a)), 0);
    release(dev, a);
    assert_int_equal(signal_of_write(bytes_at(dev, a)), SIGSEGV);
    assert_int_equal(signal_of_write(bytes_at(dev, a + MIB(4) - 1)), SIGSEGV);
    assert_ok(larder_device_close(dev));
}

/* Small allocations share host pages: a page is released with the last of
 * them. */
static void a_page_of_small_allocations_is_released_with_the_last(void **state)
{
    larder_device *dev = open_with("64MiB", "", "memory");
    uint64_t a, b, c;

    (void)state;
    a = allocate(dev, 5 * 1024);
    b = allocate(dev, 2 * 1024);
    c = allocate(dev, 9 * 1024 + 512);
    assert_int_equal(b, 5 * 1024);
    release(dev, a);
    assert_int_equal(signal_of_write(bytes_at(dev, 0)), SIGSEGV);
    assert_int_equal(signal_of_write(bytes_at(dev, b)), 0);
    release(dev, b);
    assert_int_equal(signal_of_write(bytes_at(dev, 4096)), 0);
    assert_int_equal(signal_of_write(bytes_at(dev, c)), 0);
    release(dev, c);
    for (uint64_t at = 0; at < 20 * 1024; at += 4096)
        assert_int_equal(signal_of_write(bytes_at(dev, at)), SIGSEGV);
    assert_ok(larder_device_close(dev));
}

static void copies_and_fills_stay_within_one_allocation(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        larder_device *dev = open_with("64MiB", "", backings[b]);
        larder_addr first = first_of(dev);
        unsigned char host[1024];

        memset(host, 5, sizeof host);
        allocate(dev, 1024);
        allocate(dev, 1024);
        assert_ok(larder_device_fill(dev, first, 7, 1024, 0));
        assert_ok(larder_device_copy(dev, first + 1024, first, 1024,
                                     LARDER_COPY_ON_DEVICE, 0));
        assert_ok(larder_device_copy(dev, (uint64_t)(uintptr_t)host,
                                     first + 1024, 1024, LARDER_COPY_TO_HOST,
                                     0));
        assert_int_equal(host[1023], b == 0 ? 7 : 5);
        assert_ok(larder_device_copy(dev, first, (uint64_t)(uintptr_t)host, 1,
                                     LARDER_COPY_TO_DEVICE, 0));
        assert_refused(LARDER_ERR_DEVICE,
                       larder_device_fill(dev, first, 7, 1025, 0),
                       "1025 bytes at 0x");
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_fill(dev, first + 512, 7, UINT64_MAX, 0));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_copy(dev, first, first + 2048, 1,
                                         LARDER_COPY_ON_DEVICE, 0));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_copy(dev, first + 2048, first, 1,
                                         LARDER_COPY_ON_DEVICE, 0));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_copy(dev, first + 2048,
                                         (uint64_t)(uintptr_t)host, 1,
                                         LARDER_COPY_TO_DEVICE, 0));
        assert_result(LARDER_ERR_DEVICE,
                      larder_device_copy(dev, (uint64_t)(uintptr_t)host,
                                         first + 2048, 1, LARDER_COPY_TO_HOST,
                                         0));
        assert_refused(
            LARDER_ERR_DEVICE,
            larder_device_copy(dev, 0, first, 1, LARDER_COPY_TO_HOST, 0),
            "NULL");
        assert_refused(
            LARDER_ERR_DEVICE,
            larder_device_copy(dev, first, 0, 1, LARDER_COPY_TO_DEVICE, 0),
            "NULL");
        assert_refused(
            LARDER_ERR_DEVICE,
            larder_device_copy(dev, first, first, 1, (larder_copy_kind)3, 0),
            "3 is not a kind");
        assert_ok(larder_device_fill(dev, 0, 7, 0, 0));
        assert_ok(larder_device_copy(dev, 0, 0, 0, LARDER_COPY_ON_DEVICE, 0));
        assert_ok(larder_device_close(dev));
    }
}

static void pinned_host_memory_is_aligned_and_usable(void **state)
{
    larder_device *dev = open_with("64MiB", "", "none");
    void *host;

    (void)state;
    assert_ok(larder_device_host_alloc(dev, 100000, &host));
    assert_int_equal((uintptr_t)host % 4096, 0);
    memset(host, 1, 100000);
    assert_ok(larder_device_host_free(dev, host));
    assert_ok(larder_device_host_free(dev, NULL));
    larder__host_fail(1, 1);
    assert_refused(LARDER_ERR_NO_HOST_MEMORY,
                   larder_device_host_alloc(dev, 4096, &host),
                   "host_alloc of 4096 bytes failed: out of host memory");
    assert_ok(larder_device_close(dev));
}

static void what_is_not_pinned_is_not_freed(void **state)
{
    larder_device *dev = open_with("64MiB", "", "none");
    void *host[200];
    char own[64];

    (void)state;
    for (size_t i = 0; i < 200; i++)
        assert_ok(larder_device_host_alloc(dev, 1 + 100 * i, &host[i]));
    assert_refused(LARDER_ERR_DEVICE, larder_device_host_free(dev, own),
                   "no pinned memory begins at 0x");
    assert_refused(LARDER_ERR_DEVICE,
                   larder_device_host_free(dev, (char *)host[7] + 1),
                   "no pinned memory begins at 0x");
    for (size_t i = 0; i < 200; i++)
        assert_ok(larder_device_host_free(dev, host[i * 7 % 200]));
    assert_refused(LARDER_ERR_DEVICE, larder_device_host_free(dev, host[7]),
                   "no pinned memory begins at 0x");
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_to_512_bytes_or_2_mib),
        cmocka_unit_test(the_lowest_free_address_that_fits_is_taken),
        cmocka_unit_test(both_backings_place_alike),
        cmocka_unit_test(allocations_beyond_the_capacity_are_out_of_memory),
        cmocka_unit_test(addresses_may_run_out_before_the_capacity),
        cmocka_unit_test(a_capacity_that_is_no_multiple_counts_to_the_byte),
        cmocka_unit_test(the_context_is_charged_at_the_first_use),
        cmocka_unit_test(every_call_but_a_question_is_a_use),
        cmocka_unit_test(a_context_that_does_not_fit_fails_every_use),
        cmocka_unit_test(the_only_process_is_this_one),
        cmocka_unit_test(only_the_address_of_an_allocation_frees_it),
        cmocka_unit_test(every_byte_can_be_written_and_read),
        cmocka_unit_test(copies_and_fills_stay_within_one_allocation),
        cmocka_unit_test(memory_that_was_freed_faults),
        cmocka_unit_test(a_page_of_small_allocations_is_released_with_the_last),
        cmocka_unit_test(pinned_host_memory_is_aligned_and_usable),
        cmocka_unit_test(what_is_not_pinned_is_not_freed),
#ifndef IS_SANITIZED
        cmocka_unit_test(memory_is_backed_at_its_first_touch),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
