/* test_fault_region_undo.c - a region is paused, resumed, destroyed, trimmed
 * while any driver call or any request for host memory fails: once, from then
 * on, and together with a failure of another kind in what undoes the first.
 * Each time all is done or nothing: every committed page is mapped with
 * its own contents, or the region is paused and resuming it restores them. */
#include "fault/faults.h"

#include <larder/region.h>

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

enum { PAGES = 14, OTHER_STREAM = 3 };

static const larder_call kinds[] = {
    LARDER_CALL_unmap,       LARDER_CALL_map,          LARDER_CALL_set_access,
    LARDER_CALL_page_create, LARDER_CALL_page_release, LARDER_CALL_address_free,
    LARDER_CALL_copy,        LARDER_CALL_event_create, LARDER_CALL_event_record,
    LARDER_CALL_event_sync,  LARDER_CALL_host_alloc,   LARDER_CALL_host_free,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- a region ---------------------------------------------------------------- */

struct scene {
    struct rig rig;
    larder_region *kv;       /* NULL: destroyed */
    unsigned char id[PAGES]; /* what a committed page is filled with; or 0 */
};

static larder_region_info scene_info(const struct scene *s)
{
    larder_region_info info = {.size = sizeof info};

    assert_ok(larder_region_get_info(s->kv, &info));
    return info;
}

static unsigned char *page_of(const struct scene *s, unsigned i)
{
    return (unsigned char *)(uintptr_t)(scene_info(s).addr + i * PAGE);
}

static void scene_commit(struct scene *s, unsigned page, unsigned count)
{
    assert_ok(larder_region_commit(s->kv, page * PAGE, count * PAGE));
    for (unsigned i = page; i < page + count; i++) {
        s->id[i] = (unsigned char)(i + 1);
        page_of(s, i)[0] = page_of(s, i)[PAGE - 1] = s->id[i];
    }
}

static void scene_decommit(struct scene *s, unsigned page, unsigned count)
{
    assert_ok(larder_region_decommit(s->kv, page * PAGE, count * PAGE));
    memset(s->id + page, 0, count);
}

/* Three runs, with handles of one to three pages; in one handle a page that is
 * not committed, and a handle that is idle as a whole. */
static struct scene scene_up(void)
{
    struct scene s = {
        .rig = rig_up_policy("sim:64MiB,context=0", LARDER_POLICY_LARDER, "")};

    assert_ok(larder_region_create(s.rig.a, PAGES * PAGE, NULL, &s.kv));
    scene_commit(&s, 0, 1);
    scene_commit(&s, 3, 1);
    scene_commit(&s, 4, 3);
    scene_commit(&s, 9, 1);
    scene_commit(&s, 11, 1);
    scene_decommit(&s, 5, 1);
    scene_decommit(&s, 9, 1);
    assert_ok(larder_region_record_stream(s.kv, 11 * PAGE, PAGE, OTHER_STREAM));
    return s;
}

/* Every committed page can be read, and has its contents. */
static void contents_verify(const struct scene *s)
{
    assert_ok(larder_check(s->rig.a));
    for (unsigned i = 0; i < PAGES; i++) {
        const unsigned char *p = page_of(s, i);

        if (s->id[i] != 0) {
            assert_int_equal(p[0], s->id[i]);
            assert_int_equal(p[PAGE - 1], s->id[i]);
        }
    }
}

/* ---- acts --------------------------------------------------------------------- */

struct act {
    const char *name;
    void (*prepare)(struct scene *s);
    larder_result (*run)(struct scene *s);
    bool drops; /* if it succeeds the contents are undefined */
};

static larder_result act_keep(struct scene *s)
{
    return larder_region_pause(s->kv, LARDER_PAUSE_KEEP);
}

static larder_result act_drop(struct scene *s)
{
    return larder_region_pause(s->kv, LARDER_PAUSE_DROP);
}

static void prepare_paused(struct scene *s)
{
    assert_ok(larder_region_pause(s->kv, LARDER_PAUSE_KEEP));
}

static larder_result act_resume(struct scene *s)
{
    return larder_region_resume(s->kv);
}

/* A resume that could not free the kept contents leaves them behind. */
static void prepare_leftover(struct scene *s)
{
    assert_ok(larder_region_pause(s->kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_device_fail(s->rig.dev, LARDER_CALL_host_free, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder_region_resume(s->kv));
    assert_ok(
        larder_device_fail(s->rig.dev, LARDER_CALL_host_free, 0, 0, LARDER_OK));
    assert_true(scene_info(s).kept_bytes > 0);
}

static larder_result act_destroy(struct scene *s)
{
    larder_result r = larder_region_destroy(s->kv);

    if (r == LARDER_OK)
        s->kv = NULL;
    return r;
}

static larder_result act_trim(struct scene *s)
{
    return larder_region_trim(s->kv, NULL);
}

static larder_result act_commit(struct scene *s)
{
    return larder_region_commit(s->kv, 0, 9 * PAGE);
}

static const struct act acts[] = {
    {"pause", NULL, act_keep, false},
    {"pause without contents", NULL, act_drop, true},
    {"pause again", prepare_leftover, act_keep, false},
    {"resume", prepare_paused, act_resume, false},
    {"destroy", NULL, act_destroy, false},
    {"destroy with contents kept", prepare_leftover, act_destroy, false},
    {"trim", NULL, act_trim, false},
    {"commit", NULL, act_commit, false},
};

enum { ACTS = sizeof acts / sizeof acts[0] };

/* ---- one run ------------------------------------------------------------------- */

/* With the faults still there: it fails, or the contents are back. */
static void resume_early(struct scene *s)
{
    if (s->kv != NULL && scene_info(s).is_paused)
        (void)larder_region_resume(s->kv);
    assert_ok(larder_check(s->rig.a));
}

/* With the faults removed. */
static void judge(struct scene *s, const struct act *act, larder_result r)
{
    bool has_contents = r != LARDER_OK || !act->drops;

    if (s->kv == NULL)
        return;
    if (scene_info(s).is_paused)
        assert_ok(larder_region_resume(s->kv));
    if (has_contents)
        contents_verify(s);
    assert_ok(larder_region_pause(s->kv, LARDER_PAUSE_DROP));
    assert_int_equal(scene_info(s).held_bytes, 0);
    assert_ok(larder_region_resume(s->kv));
    assert_ok(larder_region_destroy(s->kv));
}

static void scene_down(struct scene *s)
{
    assert_ok(larder_check(s->rig.a));
    assert_ok(larder_empty_cache(s->rig.a));
    assert_int_equal(rig_reserved(&s->rig), 0);
    assert_int_equal(rig_usage(s->rig.dev).pages, 0);
    assert_int_equal(rig_usage(s->rig.dev).mappings, 0);
    rig_down(&s->rig);
}

static struct struck run_once(const struct faults *f, const void *scenario)
{
    const struct act *act = scenario;
    struct scene s = scene_up();
    struct struck struck;
    larder_result r;

    if (act->prepare != NULL)
        act->prepare(&s);
    assert_ok(larder_device_reset_counters(s.rig.dev));
    faults_plan(f, s.rig.dev);
    r = act->run(&s);
    resume_early(&s);
    struck = faults_struck(f, s.rig.dev);
    faults_off(f, s.rig.dev);
    if (!faults_explain(f, struck, r)) {
        faults_describe(f, act->name);
        fail_msg("%s: %s", larder_result_name(r), larder_last_error());
    }
    judge(&s, act, r);
    scene_down(&s);
    return struck;
}

/* ---- sweeps -------------------------------------------------------------------- */

/* Once, and from then on. */
static unsigned long sweep(const struct act *act, struct fault f)
{
    for (f.nth = 1;; f.nth++) {
        f.times = 1;
        if (!run_once(&(struct faults){.one = f}, act).one)
            return f.nth - 1;
        f.times = 0;
        (void)run_once(&(struct faults){.one = f}, act);
    }
}

static void each_call_may_fail(void **state)
{
    unsigned long places = 0;

    (void)state;
    for (int i = 0; i < ACTS; i++) {
        for (int k = 0; k < KINDS; k++)
            places += sweep(&acts[i], (struct fault){
                                          .call = kinds[k],
                                          .with = LARDER_ERR_DEVICE,
                                      });
    }
    print_message("%lu places\n", places);
    assert_true(places > 100);
}

static void the_host_may_have_no_memory(void **state)
{
    unsigned long places = 0;

    (void)state;
    for (int i = 0; i < ACTS; i++)
        places += sweep(&acts[i], (struct fault){
                                      .is_host = 1,
                                      .with = LARDER_ERR_NO_HOST_MEMORY,
                                  });
    assert_true(places > 0);
}

/* What is undone by mapping again. */
static bool is_undoing(larder_call call)
{
    return call == LARDER_CALL_map || call == LARDER_CALL_set_access;
}

static void a_second_call_may_fail_in_the_undo(void **state)
{
    bool all = getenv("LARDER_LONG") != NULL;
    unsigned long pairs = 0;

    (void)state;
    for (int i = 0; i < ACTS; i++) {
        for (int one = 0; one < KINDS; one++) {
            for (int two = 0; two < KINDS; two++) {
                if (one != two && (all || is_undoing(kinds[two])))
                    pairs += faults_sweep(kinds[one], 1, kinds[two],
                                          sweep_stride(2), run_once, &acts[i]);
            }
        }
    }
    print_message("%lu pairs\n", pairs);
    assert_true(pairs > 100);
}

/* ---- single guarantees ------------------------------------------------------------ */

/* Unmapping fails, and mapping again too: the region is paused with all of its
 * memory, whatever the mode, and needs none to resume. */
static void a_failed_undo_leaves_the_region_paused_with_its_contents(
    void **state)
{
    static larder_result (*const ways[])(struct scene *) = {act_keep, act_drop,
                                                            act_destroy};

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct scene s = scene_up();
        uint64_t committed = scene_info(&s).committed_bytes;
        larder_addr all;

        assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_unmap, 4, 1,
                                     LARDER_ERR_DEVICE));
        assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_map, 2, 0,
                                     LARDER_ERR_DEVICE));
        assert_refused(LARDER_ERR_DEVICE, ways[i](&s),
                       "is paused with all of its memory");
        assert_true(scene_info(&s).is_paused);
        assert_true(scene_info(&s).held_bytes >= committed);
        assert_result(LARDER_ERR_PAUSED, larder_region_destroy(s.kv));
        assert_result(LARDER_ERR_DEVICE, larder_region_resume(s.kv));
        assert_ok(
            larder_device_fail(s.rig.dev, LARDER_CALL_map, 0, 0, LARDER_OK));
        /* Others take all there is. */
        while (larder_alloc(s.rig.a, PAGE, 0, &all) == LARDER_OK)
            memset((void *)(uintptr_t)all, 0xee, PAGE);
        assert_ok(larder_region_resume(s.kv));
        contents_verify(&s);
        assert_ok(larder_region_destroy(s.kv));
        rig_down(&s.rig);
    }
}

/* Its idle pages neither: they are not cached, whoever asks for memory. */
static void a_failed_undo_leaves_idle_pages_to_the_region(void **state)
{
    struct scene s = scene_up();
    larder_result r = LARDER_OK;
    larder_addr other;
    uint64_t held;

    (void)state;
    assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_unmap, 4, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_map, 2, 1,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, act_destroy(&s));
    held = scene_info(&s).held_bytes;
    assert_ok(larder_empty_cache(s.rig.a));
    assert_ok(larder_trim(s.rig.a, 0, NULL));
    while (r == LARDER_OK)
        r = larder_alloc(s.rig.a, PAGE, 0, &other);
    assert_result(LARDER_ERR_OUT_OF_MEMORY, r);
    assert_int_equal(scene_info(&s).held_bytes, held);
    assert_ok(larder_region_resume(s.kv));
    contents_verify(&s);
    assert_ok(larder_region_destroy(s.kv));
    rig_down(&s.rig);
}

/* A copy fails, and unmapping what was mapped for it too: the next resume has all
 * it needs, even beyond the limit. */
static void what_a_failed_resume_left_needs_no_room(void **state)
{
    struct scene s = scene_up();

    (void)state;
    prepare_paused(&s);
    assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_copy, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_unmap, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, act_resume(&s));
    assert_true(scene_info(&s).is_paused);
    assert_int_equal(scene_info(&s).held_bytes, scene_info(&s).committed_bytes);
    assert_ok(larder_region_set_limit(s.kv, PAGE));
    assert_ok(act_resume(&s));
    contents_verify(&s);
    assert_ok(larder_region_destroy(s.kv));
    rig_down(&s.rig);
}

/* The allocator can be destroyed in that state too. */
static void a_failed_undo_ends_with_the_allocator(void **state)
{
    (void)state;
    for (unsigned long back = 1; back <= 3; back++) {
        struct scene s = scene_up();

        assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_unmap, 4, 1,
                                     LARDER_ERR_DEVICE));
        assert_ok(larder_device_fail(s.rig.dev, LARDER_CALL_map, back, 1,
                                     LARDER_ERR_DEVICE));
        assert_result(LARDER_ERR_DEVICE, act_keep(&s));
        assert_ok(larder_destroy(s.rig.a));
        assert_device_empty(s.rig.dev);
        assert_ok(larder_region_destroy(s.kv));
        assert_ok(larder_device_close(s.rig.dev));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_may_fail),
        cmocka_unit_test(the_host_may_have_no_memory),
        cmocka_unit_test(a_second_call_may_fail_in_the_undo),
        cmocka_unit_test(
            a_failed_undo_leaves_the_region_paused_with_its_contents),
        cmocka_unit_test(a_failed_undo_leaves_idle_pages_to_the_region),
        cmocka_unit_test(what_a_failed_resume_left_needs_no_room),
        cmocka_unit_test(a_failed_undo_ends_with_the_allocator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
