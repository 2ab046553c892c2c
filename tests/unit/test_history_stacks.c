/* test_history_stacks.c - call stacks of events and of live blocks, by frame
 * pointers, by the unwinder and by a callback, each stored once. */
#include "support/history_rig.h"
#include "support/tag_rig.h"

#include <pthread.h>

#include <larder/account.h>

static void history_with(struct rig *rig, larder_stacks stacks, uint32_t depth)
{
    larder_history_options opt;

    larder_history_options_init(&opt);
    opt.stacks = stacks;
    opt.depth = depth;
    assert_ok(larder_history_start(rig->a, &opt));
}

/* ---- callers to be found --------------------------------------------------- */

/* Called through pointers that the compiler cannot see through, so that each
 * has its own frame. */
typedef larder_addr caller_fn(struct rig *rig, uint64_t bytes);

static larder_addr inner(struct rig *rig, uint64_t bytes)
{
    larder_addr p = 0;

    assert_ok(larder_alloc(rig->a, bytes, 0, &p));
    return p;
}

static caller_fn *volatile call_inner = inner;

static larder_addr middle(struct rig *rig, uint64_t bytes)
{
    larder_addr p = call_inner(rig, bytes);

    assert_int_not_equal(p, 0); /* no tail call */
    return p;
}

static caller_fn *volatile call_middle = middle;

static larder_addr outer(struct rig *rig, uint64_t bytes)
{
    larder_addr p = call_middle(rig, bytes);

    assert_int_not_equal(p, 0);
    return p;
}

/* The stack of the only event with that action whose size is `bytes`. */
struct wanted {
    larder_action action;
    uint64_t bytes;
    uint64_t stack[LARDER_STACK_DEPTH_MAX];
    size_t depth;
    int found;
};

static int find_event(void *ctx, const larder_event *e)
{
    struct wanted *w = ctx;

    if (e->bytes != w->bytes || e->action != w->action)
        return 0;
    w->depth = e->depth;
    memcpy(w->stack, e->stack, e->depth * sizeof *e->stack);
    w->found++;
    return 0;
}

static struct wanted stack_of_action(struct rig *rig, larder_action action,
                                     uint64_t bytes)
{
    struct wanted w = {.action = action, .bytes = bytes};

    assert_ok(larder_history_walk(rig->a, find_event, &w));
    assert_int_equal(w.found, 1);
    return w;
}

static struct wanted stack_of(struct rig *rig, uint64_t bytes)
{
    return stack_of_action(rig, LARDER_ACTION_alloc, bytes);
}

/* An address in the code of a function, which is short. */
static int is_within(uint64_t address, uintptr_t begin)
{
    return address > begin && address < begin + 1024;
}

static int position(const struct wanted *w, caller_fn *fn)
{
    for (size_t i = 0; i < w->depth; i++) {
        if (is_within(w->stack[i], (uintptr_t)fn))
            return (int)i;
    }
    return -1;
}

/* The library's own frames are left out. */
static void check_stacks(larder_stacks stacks)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct wanted w;

    history_with(&rig, stacks, 0);
    assert_int_not_equal(outer(&rig, 1001), 0);
    w = stack_of(&rig, 1001);
    assert_int_equal(position(&w, inner), 0);
    assert_int_equal(position(&w, middle), 1);
    rig_down(&rig);
}

static void frame_pointers_lead_to_the_callers(void **state)
{
    (void)state;
    check_stacks(LARDER_STACKS_FRAME_POINTERS);
}

static void the_unwinder_finds_the_callers(void **state)
{
    (void)state;
    check_stacks(LARDER_STACKS_UNWIND);
}

static void *allocate_in_thread(void *rig)
{
    outer(rig, 1002);
    return NULL;
}

static void other_threads_have_stacks_of_their_own(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct wanted w;
    pthread_t thread;

    (void)state;
    history_with(&rig, LARDER_STACKS_FRAME_POINTERS, 0);
    assert_int_equal(pthread_create(&thread, NULL, allocate_in_thread, &rig),
                     0);
    pthread_join(thread, NULL);
    w = stack_of(&rig, 1002);
    assert_int_equal(position(&w, middle), 1);
    rig_down(&rig);
}

/* Frees a block of that size and releases all cached memory. */
static larder_addr releaser(struct rig *rig, uint64_t bytes)
{
    larder_addr p = call_inner(rig, bytes);

    assert_ok(larder_free(rig->a, p));
    assert_ok(larder_empty_cache(rig->a));
    return p;
}

static caller_fn *volatile call_releaser = releaser;

static void a_release_is_its_callers(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct wanted w;

    (void)state;
    history_with(&rig, LARDER_STACKS_FRAME_POINTERS, 0);
    assert_int_not_equal(call_releaser(&rig, MIB(30)), 0);
    w = stack_of_action(&rig, LARDER_ACTION_segment_free, MIB(30));
    assert_int_equal(position(&w, releaser), 0);
    rig_down(&rig);
}

/* ---- every call that records ----------------------------------------------- */

static const larder_pool_id graphs = {7, 1};

static larder_checkpoint *saved;
static larder_export *sent;

static void pause_w(struct rig *rig)
{
    assert_ok(larder_pause(rig->a, "w", LARDER_PAUSE_DROP));
}

static void resume_w(struct rig *rig)
{
    assert_ok(larder_resume(rig->a, "w"));
}

static void keep_for_cache(struct rig *rig)
{
    assert_result(LARDER_ERR_OUT_OF_MEMORY, /* after releasing what it can */
                  larder_cache_set_minimum(rig->a, MIB(60)));
}

static void keep_for_tag(struct rig *rig)
{
    assert_ok(larder_tag_set_minimum(rig->a, "v", MIB(30)));
}

static void keep_for_pool(struct rig *rig)
{
    assert_ok(larder_pool_set_minimum(rig->a, graphs, MIB(30)));
}

static void lend_to_another(struct rig *rig)
{
    assert_ok(larder_pool_lend(rig->a, graphs, 5));
}

static void recall(struct rig *rig)
{
    assert_ok(larder_pool_recall(rig->a, graphs));
}

static void begin_again(struct rig *rig)
{
    assert_ok(larder_pool_begin(rig->a, graphs, NULL, NULL));
}

static void save(struct rig *rig)
{
    assert_ok(larder_checkpoint_take(rig->a, graphs, &saved));
}

static void restore(struct rig *rig)
{
    assert_ok(
        larder_checkpoint_restore(rig->a, saved, NULL, 0, NULL, NULL, 0, NULL));
}

static void close_sent(struct rig *rig)
{
    (void)rig;
    assert_ok(larder_export_close(sent));
}

static void trim_all(struct rig *rig)
{
    assert_ok(larder_trim(rig->a, 0, NULL));
}

typedef void step_fn(struct rig *rig);

static const struct step {
    const char *name;
    step_fn *volatile call; /* not inlined */
} steps[] = {
    {"larder_pause", pause_w},
    {"larder_resume", resume_w},
    {"larder_trim", trim_all},
    {"larder_cache_set_minimum", keep_for_cache},
    {"larder_tag_set_minimum", keep_for_tag},
    {"larder_pool_set_minimum", keep_for_pool},
    {"larder_pool_lend", lend_to_another},
    {"larder_pool_recall", recall},
    {"larder_pool_begin", begin_again},
    {"larder_checkpoint_take", save},
    {"larder_checkpoint_restore", restore},
    {"larder_export_close", close_sent},
};

/* 20 MiB of the tag "w", a private pool that is lent, memory that was sent, and
 * blocks that wait for stream 3, which has passed by now. */
static void prepare(struct rig *rig, const struct step *step)
{
    larder_addr waiting, shared;

    assert_int_not_equal(tagged(rig, "w", MIB(20)), 0);
    if (step->call == resume_w)
        pause_w(rig);
    begin_again(rig);
    if (step->call == restore)
        save(rig);
    assert_int_not_equal(rig_alloc(rig, 512), 0);
    assert_ok(larder_pool_end(rig->a, graphs));
    if (step->call != restore) /* which needs all blocks to be free */
        assert_ok(larder_pool_lend(rig->a, graphs, 0));
    shared = rig_alloc(rig, MIB(4));
    sent = NULL;
    assert_ok(larder_export_open(rig->a, shared, &sent));
    rig_free(rig, shared);
    waiting = rig_alloc(rig, MIB(30));
    assert_ok(larder_record_stream(rig->a, waiting, 3));
    rig_free(rig, waiting);
    assert_ok(larder_sim_complete(rig->dev, 3));
}

/* Every event of one call. */
struct call_events {
    step_fn *caller;
    int count;
    int foreign; /* whose stack does not begin in the caller */
};

static int count_event(void *ctx, const larder_event *e)
{
    struct call_events *c = ctx;

    c->count++;
    c->foreign +=
        e->depth == 0 || !is_within(e->stack[0], (uintptr_t)c->caller);
    return 0;
}

static void no_calls_stack_shows_the_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct rig rig = rig_up_pages("sim:64MiB,events=manual,export=fd",
                                      LARDER_POLICY_LARDER, "defrag:off");
        struct call_events c = {.caller = steps[i].call};

        prepare(&rig, &steps[i]);
        history_with(&rig, LARDER_STACKS_FRAME_POINTERS, 0);
        steps[i].call(&rig);
        assert_ok(larder_history_walk(rig.a, count_event, &c));
        if (c.count == 0 || c.foreign > 0)
            fail_msg("%s: %d of %d events", steps[i].name, c.foreign, c.count);
        larder_checkpoint_destroy(saved);
        saved = NULL;
        if (steps[i].call != close_sent)
            close_sent(&rig);
        assert_ok(larder_destroy(rig.a));
        assert_ok(larder_device_close(rig.dev));
    }
}

/* ---- bounds ---------------------------------------------------------------- */

static void a_depth_is_kept(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");

    (void)state;
    history_with(&rig, LARDER_STACKS_UNWIND, 2);
    outer(&rig, 1003);
    assert_int_equal(stack_of(&rig, 1003).depth, 2);
    rig_down(&rig);
}

static void equal_stacks_are_kept_once(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");

    (void)state;
    history_with(&rig, LARDER_STACKS_FRAME_POINTERS, 0);
    for (int i = 0; i < 100; i++)
        outer(&rig, 1000);
    assert_int_equal(history_info(&rig).stack_count, 1);
    assert_int_equal(history_info(&rig).lost_stacks, 0);
    rig_down(&rig);
}

/* The size of a snapshot of 1000 blocks and their events, which share one stack
 * of that depth. */
static size_t snapshot_bytes(uint32_t depth)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct bytes b;

    history_with(&rig, LARDER_STACKS_FRAME_POINTERS, depth);
    for (int i = 0; i < 1000; i++)
        outer(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_PICKLE);
    free(b.at);
    rig_down(&rig);
    return b.count;
}

/* Two more frames for each event would be thousands of bytes. */
static void equal_stacks_are_written_once(void **state)
{
    (void)state;
    assert_in_range(snapshot_bytes(3), snapshot_bytes(1),
                    snapshot_bytes(1) + 2000);
}

static void actions_can_do_without_stacks(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_history_options opt;

    (void)state;
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_UNWIND;
    opt.stackless_actions =
        1u << LARDER_ACTION_alloc | 1u << LARDER_ACTION_segment_alloc;
    assert_ok(larder_history_start(rig.a, &opt));
    outer(&rig, 1000);
    assert_int_equal(events_of(&rig).depth_max, 0);
    assert_int_equal(history_info(&rig).stack_count, 0);
    rig_down(&rig);
}

/* ---- a callback's own frames ----------------------------------------------- */

static size_t three_frames(void *ctx, uint64_t *frames, size_t capacity)
{
    uint64_t *next = ctx;

    assert_true(capacity >= 3);
    frames[0] = ++*next;
    frames[1] = 7;
    frames[2] = 8;
    return 3;
}

/* Each call has the three frames of its own, counted by *next. */
static larder_history_options options_of_frames(uint64_t *next)
{
    larder_history_options opt;

    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_CALLBACK;
    opt.stack_fn = three_frames;
    opt.stack_ctx = next;
    return opt;
}

static int name_frame(void *ctx, uint64_t frame, larder_frame *out)
{
    (void)ctx;
    if (frame == 8)
        return 0;
    snprintf(out->filename, sizeof out->filename, "model.py");
    snprintf(out->name, sizeof out->name, "layer%d", (int)frame);
    out->line = (uint32_t)frame * 10;
    return 1;
}

/* A frame that no resolver names is of a file of the process, and says where. */
static void frames_of_the_process_have_offsets(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct bytes b;
    const char *offset;

    (void)state;
    history_with(&rig, LARDER_STACKS_UNWIND, 8);
    rig_alloc(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    offset = strstr(b.at, "\"offset\":");
    assert_non_null(offset);
    assert_true(strtoull(offset + strlen("\"offset\":"), NULL, 10) > 0);
    free(b.at);
    rig_down(&rig);
}

static void a_callback_gives_frames_that_a_resolver_names(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    uint64_t next = 0;
    larder_history_options opt = options_of_frames(&next);
    struct wanted w;
    struct bytes b;

    (void)state;
    assert_ok(larder_history_start(rig.a, &opt));
    assert_ok(larder_set_frame_resolver(rig.a, name_frame, NULL));
    rig_alloc(&rig, 1000);
    /* One call has one stack, for both of its events. */
    assert_int_equal(next, 1);
    w = stack_of(&rig, 1000);
    assert_int_equal(w.depth, 3);
    assert_int_equal(w.stack[0], 1);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_non_null(
        strstr(b.at, "\"frames\":[{\"filename\":\"model.py\",\"line\":10,"
                     "\"name\":\"layer1\"},{\"filename\":\"model.py\","
                     "\"line\":70,\"name\":\"layer7\"},{\"filename\":\"??\","
                     "\"line\":0,\"name\":\"0x7\"}]"));
    free(b.at);
    rig_down(&rig);
}

static size_t many_frames(void *ctx, uint64_t *frames, size_t capacity)
{
    uint64_t *next = ctx;

    for (size_t i = 0; i < capacity; i++)
        frames[i] = ++*next;
    return capacity;
}

/* How many different stacks of this depth fit in 512 words. */
static void check_bound(uint32_t depth, uint64_t fit)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_history_options opt;
    larder_history_info info;
    uint64_t next = 0;

    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_CALLBACK;
    opt.depth = depth;
    opt.stack_fn = many_frames;
    opt.stack_ctx = &next;
    opt.stack_bytes = 4096;
    assert_ok(larder_history_start(rig.a, &opt));
    for (int i = 0; i < 500; i++)
        rig_free(&rig, rig_alloc(&rig, 1000));
    info = history_info(&rig);
    assert_int_equal(info.stack_count, fit);
    assert_int_equal(info.lost_stacks, 1000 - fit);
    assert_int_equal(info.events, 1 + 3 * 500);
    rig_down(&rig);
}

/* Stacks beyond their memory are lost and counted; the events stay.  The first
 * word is not used; for shallow stacks there is a maximum number. */
static void stacks_are_bounded(void **state)
{
    (void)state;
    check_bound(7, 63);
    check_bound(127, 3);
    check_bound(1, 127);
}

/* ---- live blocks ----------------------------------------------------------- */

/* The ring has lost the events.  Blocks and segments still know their stacks,
 * and a block that reuses a header does not inherit its stack or text. */
static void live_blocks_remember(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    uint64_t next = 0;
    larder_history_options opt = options_of_frames(&next);
    struct bytes b;
    larder_addr p;

    (void)state;
    opt.max_events = 1;
    assert_ok(larder_history_start(rig.a, &opt));
    assert_ok(larder_set_frame_resolver(rig.a, name_frame, NULL));
    larder_annotate("first");
    p = rig_alloc(&rig, 1000);
    larder_annotate(NULL);
    for (int i = 0; i < 10; i++)
        rig_free(&rig, rig_alloc(&rig, 2000));
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_non_null(strstr(b.at, "\"is_expandable\":false,\"frames\":[{"
                                 "\"filename\":\"model.py\",\"line\":10,"));
    assert_non_null(strstr(b.at, "\"state\":\"active_allocated\",\"frames\":[{"
                                 "\"filename\":\"model.py\",\"line\":10,"));
    assert_non_null(strstr(b.at, "\"user_metadata\":\"first\""));
    free(b.at);
    rig_free(&rig, p);
    rig_alloc(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_null(strstr(b.at, "\"user_metadata\":\"first\""));
    free(b.at);
    rig_down(&rig);
}

static void a_segment_can_do_without_its_stack(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    uint64_t next = 0;
    larder_history_options opt = options_of_frames(&next);
    struct bytes b;

    (void)state;
    opt.stackless_actions = 1u << LARDER_ACTION_segment_alloc;
    assert_ok(larder_history_start(rig.a, &opt));
    assert_ok(larder_set_frame_resolver(rig.a, name_frame, NULL));
    rig_alloc(&rig, 1000);
    rig_alloc(&rig, MIB(2)); /* its segment is made when there is a stack */
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_non_null(strstr(b.at, "\"is_expandable\":false,\"frames\":[],"));
    assert_null(strstr(b.at, "\"is_expandable\":false,\"frames\":[{"));
    assert_non_null(
        strstr(b.at, "\"state\":\"active_allocated\",\"frames\":[{"));
    free(b.at);
    rig_down(&rig);
}

/* The blocks of a segment come and go, and what is cut from a free one becomes its
 * first: under the policy larder that has a header of its own. */
static void a_segment_remembers(void **state)
{
    struct rig rig =
        rig_up_policy("sim:1GiB,backing=none", LARDER_POLICY_LARDER, "");
    uint64_t next = 0;
    larder_history_options opt = options_of_frames(&next);
    struct bytes b;

    (void)state;
    assert_ok(larder_history_start(rig.a, &opt));
    assert_ok(larder_set_frame_resolver(rig.a, name_frame, NULL));
    for (int i = 0; i < 3; i++)
        rig_free(&rig, rig_alloc(&rig, 1000));
    rig_alloc(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_non_null(strstr(b.at, "\"is_expandable\":true,\"frames\":[{"
                                 "\"filename\":\"model.py\",\"line\":10,"));
    free(b.at);
    assert_ok(larder_history_start(rig.a, &opt)); /* after it was made */
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_non_null(strstr(b.at, "\"is_expandable\":true,\"frames\":[],"));
    free(b.at);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_pointers_lead_to_the_callers),
        cmocka_unit_test(the_unwinder_finds_the_callers),
        cmocka_unit_test(other_threads_have_stacks_of_their_own),
        cmocka_unit_test(a_release_is_its_callers),
        cmocka_unit_test(no_calls_stack_shows_the_library),
        cmocka_unit_test(a_depth_is_kept),
        cmocka_unit_test(equal_stacks_are_kept_once),
        cmocka_unit_test(equal_stacks_are_written_once),
        cmocka_unit_test(actions_can_do_without_stacks),
        cmocka_unit_test(frames_of_the_process_have_offsets),
        cmocka_unit_test(a_callback_gives_frames_that_a_resolver_names),
        cmocka_unit_test(stacks_are_bounded),
        cmocka_unit_test(live_blocks_remember),
        cmocka_unit_test(a_segment_can_do_without_its_stack),
        cmocka_unit_test(a_segment_remembers),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
