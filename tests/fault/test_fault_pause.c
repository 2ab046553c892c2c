/* test_fault_pause.c - pause and resume, while each request for host memory and
 * each device call fails in turn: nothing is lost, and everything works once
 * the fault is removed. */
#include "fault/faults.h"

#include <larder/tag.h>

enum { BLOCKS = 8 };

static uint64_t block_bytes(int i)
{
    return i != 1 ? 5000 + (uint64_t)i : MIB(3) + (uint64_t)i;
}

struct run {
    struct rig rig;
    struct slot blocks[BLOCKS];
    struct scenario pattern; /* for its helpers */
};

static struct run run_up(const struct setup *setup)
{
    struct run run = {.rig = rig_up_policy("sim:256MiB,events=manual",
                                           setup->policy, setup->conf)};

    run.pattern.has_memory = 1;
    assert_ok(larder_tag_begin(run.rig.a, "w"));
    for (int i = 0; i < BLOCKS; i++) {
        struct slot *b = &run.blocks[i];

        b->bytes = block_bytes(i);
        b->addr = rig_alloc_on(&run.rig, b->bytes, (larder_stream)i / 4);
        pattern_write(&run.pattern, b);
    }
    assert_ok(larder_tag_end(run.rig.a));
    assert_ok(larder_record_stream(run.rig.a, run.blocks[1].addr, 5));
    return run;
}

static larder_tag_usage run_usage(struct run *run)
{
    larder_tag_usage usage = {.size = sizeof usage};

    assert_ok(larder_tag_stats(run->rig.a, "w", &usage));
    return usage;
}

static void run_verify(struct run *run)
{
    assert_ok(larder_check(run->rig.a));
    for (int i = 0; i < BLOCKS && !run_usage(run).is_paused; i++)
        if (run->blocks[i].addr != 0)
            pattern_verify(&run->pattern, &run->blocks[i]);
}

static void run_down(struct run *run)
{
    run_verify(run);
    for (int i = 0; i < BLOCKS; i++)
        if (run->blocks[i].addr != 0)
            rig_free(&run->rig, run->blocks[i].addr);
    assert_ok(larder_empty_cache(run->rig.a));
    assert_int_equal(rig_reserved(&run->rig), 0);
    rig_down(&run->rig);
}

/* The results that the fault can explain. */
static void expect(const struct fault *f, larder_result r)
{
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        fault_expect(f, r);
}

/* Whether the fault struck. */
static int run_once(const struct fault *f, const void *setup)
{
    struct run run = run_up(setup);
    larder_result r;
    int fired;

    assert_ok(larder_device_reset_counters(run.rig.dev));
    fault_plan(f, run.rig.dev, f->nth);
    r = larder_pause(run.rig.a, "w", LARDER_PAUSE_KEEP);
    expect(f, r);
    assert_true(r == LARDER_OK || strlen(larder_last_error()) > 0);
    assert_ok(larder_free(run.rig.a, run.blocks[3].addr));
    run.blocks[3].addr = 0;
    run_verify(&run);
    if (run_usage(&run).is_paused) {
        r = larder_resume(run.rig.a, "w");
        expect(f, r);
        assert_int_equal(run_usage(&run).is_paused, r != LARDER_OK);
    }
    fired = fault_fired(f, run.rig.dev);
    fault_off(f, run.rig.dev);
    run_verify(&run);
    if (run_usage(&run).is_paused)
        assert_ok(larder_resume(run.rig.a, "w"));
    run_verify(&run);
    assert_ok(larder_pause(run.rig.a, "w", LARDER_PAUSE_DROP));
    assert_ok(larder_resume(run.rig.a, "w"));
    for (int i = 0; i < BLOCKS; i++)
        if (run.blocks[i].addr != 0)
            pattern_write(&run.pattern, &run.blocks[i]);
    run_down(&run);
    return fired;
}

static const struct setup run_setups[] = {
    {LARDER_POLICY_PYTORCH, "large_segment_size_mb:12", 0, 0},
    {LARDER_POLICY_LARDER, "large_segment_size_mb:12", 0, 0},
};

enum { SETUPS_HERE = sizeof run_setups / sizeof run_setups[0] };

/* The number of places where the fault was put. */
static unsigned long sweep(struct fault f, const struct setup *setup)
{
    return fault_sweep(f, run_once, setup);
}

static void every_host_request_may_fail(void **state)
{
    struct fault f = {.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY};

    (void)state;
    /* Two are the allocator's own; the simulated device adds thirteen. */
    for (int i = 0; i < SETUPS_HERE; i++)
        assert_true(sweep(f, &run_setups[i]) >= 2);
}

static void every_device_call_may_fail(void **state)
{
    static const struct fault_place calls[] = {
        {LARDER_CALL_page_create, 3},  {LARDER_CALL_page_release, 3},
        {LARDER_CALL_map, 3},          {LARDER_CALL_unmap, 3},
        {LARDER_CALL_set_access, 3},   {LARDER_CALL_copy, 5},
        {LARDER_CALL_event_create, 1}, {LARDER_CALL_event_record, 8},
        {LARDER_CALL_event_sync, 8},   {LARDER_CALL_host_alloc, 1},
        {LARDER_CALL_host_free, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        fault_sweep_call(&calls[i], run_once, &run_setups[i % SETUPS_HERE]);
    sweep((struct fault){.call = LARDER_CALL_page_create,
                         .with = LARDER_ERR_OUT_OF_MEMORY},
          &run_setups[1]);
}

/* ---- two failures ----------------------------------------------------------- */

/* Pausing fails, and what undoes it may fail too; or resuming does.  A pause
 * that failed has dropped nothing, whatever its mode. */
struct way {
    larder_pause_mode mode;
    bool while_resuming;
};

static struct struck run_twice(const struct faults *f, const void *scenario)
{
    const struct way *way = scenario;
    const larder_pause_mode mode = way->mode;
    const bool while_resuming = way->while_resuming;
    struct run run = run_up(&run_setups[f->one.nth % SETUPS_HERE]);
    struct struck struck;
    larder_result r;

    if (while_resuming)
        assert_ok(larder_pause(run.rig.a, "w", mode));
    assert_ok(larder_device_reset_counters(run.rig.dev));
    faults_plan(f, run.rig.dev);
    r = while_resuming ? larder_resume(run.rig.a, "w")
                       : larder_pause(run.rig.a, "w", mode);
    run_verify(&run);
    struck = faults_struck(f, run.rig.dev);
    faults_off(f, run.rig.dev);
    if (!faults_explain(f, struck, r)) {
        faults_describe(f, "");
        fail_msg("%s: %s", larder_result_name(r), larder_last_error());
    }
    if (run_usage(&run).is_paused)
        assert_ok(larder_resume(run.rig.a, "w"));
    if (mode == LARDER_PAUSE_DROP && (r == LARDER_OK || while_resuming)) {
        for (int i = 0; i < BLOCKS; i++)
            pattern_write(&run.pattern, &run.blocks[i]);
    }
    run_down(&run);
    return struck;
}

static void a_second_call_may_fail_in_the_undo(void **state)
{
    static const larder_call first[] = {LARDER_CALL_unmap, LARDER_CALL_map,
                                        LARDER_CALL_set_access,
                                        LARDER_CALL_copy};
    static const larder_call second[] = {
        LARDER_CALL_map, LARDER_CALL_set_access, LARDER_CALL_unmap,
        LARDER_CALL_page_release};
    static const struct way ways[] = {{LARDER_PAUSE_KEEP, false},
                                      {LARDER_PAUSE_DROP, false},
                                      {LARDER_PAUSE_KEEP, true}};
    unsigned long pairs = 0;

    (void)state;
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        for (size_t k = 0; k < sizeof second / sizeof second[0]; k++) {
            if (first[i] == second[k])
                continue;
            for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
                pairs += faults_sweep(first[i], 1, second[k], sweep_stride(2),
                                      run_twice, &ways[w]);
        }
    }
    print_message("%lu pairs\n", pairs);
    assert_true(pairs > 20);
}

/* Unmapping fails half way, and so does mapping again: no memory is lost, and
 * it becomes accessible when the device works again. */
static void a_pause_that_cannot_be_undone_loses_nothing(void **state)
{
    (void)state;
    for (unsigned long nth = 2; nth <= 3; nth++) {
        for (unsigned long back = 1; back <= 2; back++) {
            struct run run = run_up(&run_setups[1]);
            uint64_t reserved = rig_reserved(&run.rig);

            assert_ok(larder_device_fail(run.rig.dev, LARDER_CALL_unmap, nth, 0,
                                         LARDER_ERR_DEVICE));
            assert_ok(larder_device_fail(run.rig.dev, LARDER_CALL_map, back, 0,
                                         LARDER_ERR_DEVICE));
            assert_result(LARDER_ERR_DEVICE,
                          larder_pause(run.rig.a, "w", LARDER_PAUSE_DROP));
            if (run_usage(&run).is_paused) {
                assert_words("is paused with all of its memory");
                assert_result(LARDER_ERR_DEVICE, larder_resume(run.rig.a, "w"));
                assert_int_equal(rig_reserved(&run.rig), reserved);
            }
            assert_true(run_usage(&run).is_paused || back > nth - 1);
            assert_ok(larder_check(run.rig.a));
            assert_ok(larder_device_fail(run.rig.dev, LARDER_CALL_unmap, 0, 0,
                                         LARDER_OK));
            assert_ok(larder_device_fail(run.rig.dev, LARDER_CALL_map, 0, 0,
                                         LARDER_OK));
            if (nth == 3) { /* freed meanwhile */
                rig_free(&run.rig, run.blocks[3].addr);
                run.blocks[3].addr = 0;
            }
            if (run_usage(&run).is_paused)
                assert_ok(larder_resume(run.rig.a, "w"));
            run_down(&run);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_request_may_fail),
        cmocka_unit_test(every_device_call_may_fail),
        cmocka_unit_test(a_second_call_may_fail_in_the_undo),
        cmocka_unit_test(a_pause_that_cannot_be_undone_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
