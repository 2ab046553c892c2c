/* test_history_calls.c - the events of each public call have that call's stack,
 * not the one before's, and begin at who made it. */
#include "support/tag_rig.h"

#include <larder/history.h>
#include <larder/region.h>

#include "core/entry/handle.h"
#include "core/history/recording.h"

/* ---- a stack for each call --------------------------------------------------- */

/* One frame, of its own each time. */
static size_t count_call(void *ctx, uint64_t *frames, size_t capacity)
{
    uint64_t *calls = ctx;

    assert_true(capacity > 0);
    frames[0] = ++*calls;
    return 1;
}

struct scene {
    struct rig rig;
    uint64_t stacks; /* that were asked for */
    uint64_t events; /* that were looked at */
    larder_addr block;
    larder_region *region;
    larder_checkpoint *checkpoint;
};

static const larder_pool_id pool = {7, 0};

static void scene_up(struct scene *s, larder_policy policy, const char *conf)
{
    larder_history_options opt;

    *s = (struct scene){
        .rig = rig_up_policy("sim:256MiB,backing=none", policy, conf)};
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_CALLBACK;
    opt.stack_fn = count_call;
    opt.stack_ctx = &s->stacks;
    assert_ok(larder_history_start(s->rig.a, &opt));
}

/* A call has just been made, before which `before` stacks were asked for: it had
 * events, and all of them its stack. */
static void assert_own_stack(struct scene *s, uint64_t before, const char *call)
{
    const struct history *h = handle_allocator(s->rig.a)->history;

    if (h->recorded == s->events)
        fail_msg("%s has no event", call);
    for (uint64_t i = s->events; i < h->recorded; i++) {
        uint32_t number = h->ring[i].stack;
        const uint64_t *frames = stack_frames(&h->stacks, number);

        if (frames == NULL || frames[0] <= before)
            fail_msg("%s: event %llu has the stack of call %llu of %llu", call,
                     (unsigned long long)(i - s->events),
                     frames == NULL ? 0ULL : (unsigned long long)frames[0],
                     (unsigned long long)before + 1);
    }
    assert_int_equal(s->stacks, before + 1);
    s->events = h->recorded;
}

#define CALL(s, call)                                                          \
    do {                                                                       \
        uint64_t before_ = (s)->stacks;                                        \
                                                                               \
        (s)->events = handle_allocator((s)->rig.a)->history->recorded;         \
        assert_ok(call);                                                       \
        assert_own_stack((s), before_, #call);                                 \
    } while (0)

/* ---- calls ----------------------------------------------------------------------- */

static void the_cache_s_calls_have_stacks_of_their_own(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct scene s;

        scene_up(&s, ways[i].policy, ways[i].conf);
        CALL(&s, larder_alloc(s.rig.a, MIB(30), 0, &s.block));
        CALL(&s, larder_free(s.rig.a, s.block));
        CALL(&s, larder_empty_cache(s.rig.a));
        CALL(&s, larder_alloc(s.rig.a, MIB(30), 0, &s.block));
        CALL(&s, larder_free(s.rig.a, s.block));
        CALL(&s, larder_trim(s.rig.a, 0, NULL));
        rig_down(&s.rig);
    }
}

static void reserving_has_a_stack_of_its_own(void **state)
{
    struct scene s;

    (void)state;
    scene_up(&s, LARDER_POLICY_PYTORCH, "");
    CALL(&s, larder_alloc(s.rig.a, MIB(30), 0, &s.block));
    CALL(&s, larder_reserve(s.rig.a, MIB(64)));
    CALL(&s, larder_free(s.rig.a, s.block));
    rig_down(&s.rig);
}

static void sleep_and_wake_have_stacks_of_their_own(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct scene s;

        scene_up(&s, ways[i].policy, ways[i].conf);
        s.block = tagged(&s.rig, "w", MIB(30));
        CALL(&s, larder_pause(s.rig.a, "w", LARDER_PAUSE_KEEP));
        CALL(&s, larder_resume(s.rig.a, "w"));
        CALL(&s, larder_free(s.rig.a, s.block));
        rig_down(&s.rig);
    }
}

static void the_calls_of_regions_have_stacks_of_their_own(void **state)
{
    struct scene s;

    (void)state;
    scene_up(&s, LARDER_POLICY_LARDER, "");
    assert_ok(larder_region_create(s.rig.a, MIB(64), NULL, &s.region));
    CALL(&s, larder_region_commit(s.region, 0, MIB(8)));
    CALL(&s, larder_region_commit(s.region, MIB(8), MIB(8)));
    CALL(&s, larder_region_decommit(s.region, 0, MIB(4)));
    CALL(&s, larder_region_pause(s.region, LARDER_PAUSE_DROP));
    CALL(&s, larder_region_resume(s.region));
    CALL(&s, larder_region_destroy(s.region));
    rig_down(&s.rig);
}

static void a_restore_has_a_stack_of_its_own(void **state)
{
    struct scene s;

    (void)state;
    scene_up(&s, LARDER_POLICY_PYTORCH, "");
    assert_ok(larder_pool_begin(s.rig.a, pool, NULL, NULL));
    CALL(&s, larder_alloc(s.rig.a, MIB(4), 0, &s.block));
    assert_ok(larder_pool_end(s.rig.a, pool));
    assert_ok(larder_checkpoint_take(s.rig.a, pool, &s.checkpoint));
    CALL(&s, larder_free(s.rig.a, s.block));
    CALL(&s, larder_checkpoint_restore(s.rig.a, s.checkpoint, NULL, 0, NULL,
                                       NULL, 0, NULL));
    larder_checkpoint_destroy(s.checkpoint);
    assert_ok(larder_destroy(s.rig.a));
    assert_ok(larder_device_close(s.rig.dev));
}

/* ---- where a call came from --------------------------------------------------- */

/* Makes a call and says where it returns to itself. */
typedef larder_result operation(struct scene *s, const void **from);

#define OPERATION(name, call)                                                  \
    __attribute__((noinline)) static larder_result name(struct scene *s,       \
                                                        const void **from)     \
    {                                                                          \
        larder_result r = (call);                                              \
                                                                               \
        *from = __builtin_return_address(0);                                   \
        return r;                                                              \
    }

OPERATION(do_alloc, larder_alloc(s->rig.a, MIB(30), 0, &s->block))
OPERATION(do_free, larder_free(s->rig.a, s->block))
OPERATION(do_empty, larder_empty_cache(s->rig.a))
OPERATION(do_trim, larder_trim(s->rig.a, 0, NULL))
OPERATION(do_reserve, larder_reserve(s->rig.a, MIB(8)))
OPERATION(do_wake, larder_region_resume(s->region))

/* The caller is the first frame of all events, and its caller the second. */
static void assert_from(struct scene *s, operation *op)
{
    const struct history *h = handle_allocator(s->rig.a)->history;
    const void *from = NULL;
    uint64_t i = h->recorded;

    assert_ok(op(s, &from));
    assert_true(h->recorded > i);
    for (; i < h->recorded; i++) {
        uint32_t number = h->ring[i].stack;

        assert_true(stack_depth(&h->stacks, number) >= 2);
        assert_int_equal(stack_frames(&h->stacks, number)[1], (uintptr_t)from);
    }
}

static void events_begin_at_who_called(void **state)
{
    struct scene s = {.stacks = 0};
    larder_history_options opt;

    (void)state;
    s.rig = rig_up_policy("sim:256MiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_UNWIND;
    assert_ok(larder_history_start(s.rig.a, &opt));
    assert_from(&s, do_alloc);
    assert_from(&s, do_free);
    assert_from(&s, do_empty);
    assert_from(&s, do_alloc);
    assert_from(&s, do_free);
    assert_from(&s, do_trim);
    assert_from(&s, do_reserve);
    assert_ok(larder_region_create(s.rig.a, MIB(64), NULL, &s.region));
    assert_ok(larder_region_commit(s.region, 0, MIB(8)));
    assert_ok(larder_region_pause(s.region, LARDER_PAUSE_DROP));
    assert_from(&s, do_wake);
    assert_ok(larder_region_destroy(s.region));
    rig_down(&s.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_s_calls_have_stacks_of_their_own),
        cmocka_unit_test(reserving_has_a_stack_of_its_own),
        cmocka_unit_test(sleep_and_wake_have_stacks_of_their_own),
        cmocka_unit_test(the_calls_of_regions_have_stacks_of_their_own),
        cmocka_unit_test(a_restore_has_a_stack_of_its_own),
        cmocka_unit_test(events_begin_at_who_called),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
