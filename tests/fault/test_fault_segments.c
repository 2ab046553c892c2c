/* test_fault_segments.c - segments are merged, released for a request, and lent
 * to another stream, while every driver call and every request for host memory
 * involved fails in turn. */
#include "support/host_faults.h"
#include "support/rig.h"

enum { BLOCKS = 56, EXTRA = 5, PLACES_MAX = 120 };

struct run {
    struct rig rig;
    larder_addr addrs[BLOCKS + EXTRA];
    int failures;
};

/* A failure has a message and leaves every structure consistent. */
static void judge(struct run *run, larder_result r)
{
    if (r == LARDER_OK)
        return;
    run->failures++;
    assert_true(strlen(larder_last_error()) > 0);
    assert_ok(larder_check(run->rig.a));
}

static void allocate(struct run *run, int i, uint64_t bytes,
                     larder_stream stream)
{
    run->addrs[i] = 0;
    judge(run, larder_alloc(run->rig.a, bytes, stream, &run->addrs[i]));
}

static void use(struct run *run, int i, larder_stream stream)
{
    if (run->addrs[i] != 0 &&
        larder_record_stream(run->rig.a, run->addrs[i], stream) != LARDER_OK)
        run->failures++;
}

static void release(struct run *run, int i)
{
    assert_ok(larder_free(run->rig.a, run->addrs[i]));
    run->addrs[i] = 0;
}

static void everything_once(struct run *run)
{
    for (int i = 0; i < BLOCKS; i++)
        allocate(run, i, MIB(1), 0);
    for (int i = 0; i < BLOCKS; i++)
        release(run, i);
    allocate(run, BLOCKS, MIB(40), 0);    /* the others are released */
    allocate(run, BLOCKS + 1, MIB(8), 1); /* no larger than necessary */
    allocate(run, BLOCKS + 2, 1000, 0);
    allocate(run, BLOCKS + 3, 1000, 2);
    use(run, BLOCKS, 1);
    release(run, BLOCKS + 1);
    release(run, BLOCKS);
    allocate(run, BLOCKS, MIB(63), 0); /* waits for stream 1; too large */
    allocate(run, BLOCKS + 4, MIB(50), 0);
    for (int i = 0; i < BLOCKS + EXTRA; i++)
        release(run, i);
    allocate(run, 0, MIB(64), 3); /* released for another stream */
    release(run, 0);
}

static void end(struct run *run, larder_call call)
{
    larder__host_fail(0, 0);
    assert_ok(larder_device_fail(run->rig.dev, call, 0, 0, LARDER_ERR_DEVICE));
    assert_ok(larder_check(run->rig.a));
    allocate(run, 0, MIB(64), 0);
    assert_int_not_equal(run->addrs[0], 0);
    release(run, 0);
    assert_int_equal(rig_stats(&run->rig).allocation.all.current, 0);
    assert_int_equal(rig_stats(&run->rig).inactive_split.all.current, 0);
    rig_down(&run->rig);
}

/* Returns how many failures callers saw with the nth call failing, `times`
 * times. */
static int run_with(int is_host, larder_call call, unsigned long nth,
                    unsigned long times, larder_result with)
{
    struct run run = {
        .rig = rig_up_policy("sim:64MiB,backing=none,vmm=off,events=manual",
                             LARDER_POLICY_LARDER, "")};

    if (is_host)
        larder__host_fail(nth, times);
    else
        assert_ok(larder_device_fail(run.rig.dev, call, nth, times, with));
    everything_once(&run);
    larder__host_fail(0, 0);
    if (nth == 0) /* the 63 MiB that do not fit */
        assert_int_equal(run.failures, 1);
    end(&run, call);
    return run.failures;
}

static void sweep(int is_host, larder_call call, larder_result with)
{
    int more = 0;

    for (unsigned long times = 0; times < 2; times++) {
        for (unsigned long n = 1; n < PLACES_MAX; n++)
            more += run_with(is_host, call, n, times, with) > 1;
    }
    assert_true(more > 0);
}

static void without_a_fault_one_request_does_not_fit(void **state)
{
    (void)state;
    run_with(0, LARDER_CALL_mem_alloc, 0, 0, LARDER_ERR_DEVICE);
}

static void driver_calls_fail(void **state)
{
    (void)state;
    sweep(0, LARDER_CALL_mem_alloc, LARDER_ERR_OUT_OF_MEMORY);
    sweep(0, LARDER_CALL_mem_alloc, LARDER_ERR_DEVICE);
    sweep(0, LARDER_CALL_mem_free, LARDER_ERR_DEVICE);
    sweep(0, LARDER_CALL_event_record, LARDER_ERR_DEVICE);
    sweep(0, LARDER_CALL_event_sync, LARDER_ERR_DEVICE);
    sweep(0, LARDER_CALL_event_create, LARDER_ERR_DEVICE);
}

static void host_memory_runs_out(void **state)
{
    (void)state;
    sweep(1, LARDER_CALL_mem_alloc, LARDER_ERR_NO_HOST_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_fault_one_request_does_not_fit),
        cmocka_unit_test_teardown(driver_calls_fail, end_host_faults),
        cmocka_unit_test_teardown(host_memory_runs_out, end_host_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
