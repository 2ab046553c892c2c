/* test_fault_moves.c - pages move to where they are needed, or are released,
 * while any driver call or any request for host memory fails: once, twice, from
 * then on, and together with a failure of another kind in the code that undoes
 * the first.  Each time the result is one that the failure explains, every
 * structure is consistent, live memory keeps its bytes, and the device holds
 * what the statistics say.  No page is lost: afterwards all free memory can be
 * allocated in one piece on another stream, and at the end all of it is
 * released. */
#include "fault/faults.h"

enum { BLOCKS = 12, SMALL_BLOCKS = 40, STREAM_OTHER = 1, STREAM_THIRD = 2 };

/* ---- faults ---------------------------------------------------------------- */

static const larder_call kinds[] = {
    LARDER_CALL_unmap,        LARDER_CALL_map,
    LARDER_CALL_set_access,   LARDER_CALL_page_create,
    LARDER_CALL_page_release, LARDER_CALL_address_reserve,
    LARDER_CALL_event_create, LARDER_CALL_event_record,
    LARDER_CALL_event_sync,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Memory or addresses that the device failed to take back. */
static bool keeps_memory(const struct fault *f)
{
    return fault_is_planned(f) && (f->call == LARDER_CALL_unmap ||
                                   f->call == LARDER_CALL_page_release);
}

/* ---- moves ----------------------------------------------------------------- */

struct scene {
    struct rig rig;
    struct slot blocks[BLOCKS]; /* live ones have known bytes */
    struct slot small[SMALL_BLOCKS];
    larder_addr got; /* allocated by the act */
};

struct move {
    const char *name;
    const char *spec;
    const char *conf;
    void (*prepare)(struct scene *s);
    larder_result (*act)(struct scene *s);
    uint64_t free_bytes; /* allocatable in one piece at the end */
    larder_call least;   /* must be among its calls */
};

static const struct scenario with_memory = {.has_memory = 1};

static void block_get(struct scene *s, int i, uint64_t bytes)
{
    s->blocks[i] =
        (struct slot){.addr = rig_alloc(&s->rig, bytes), .bytes = bytes};
    pattern_write(&with_memory, &s->blocks[i]);
}

static void block_put(struct scene *s, int i)
{
    rig_free(&s->rig, s->blocks[i].addr);
    s->blocks[i].addr = 0;
}

/* All of 64 MiB is held, every second block of 8 is free. */
static void prepare_holes(struct scene *s)
{
    for (int i = 0; i < 8; i++)
        block_get(s, i, MIB(8));
    for (int i = 0; i < 8; i += 2)
        block_put(s, i);
}

/* The same, but free only when a stream has passed. */
static void prepare_pending(struct scene *s)
{
    for (int i = 0; i < 8; i++)
        block_get(s, i, MIB(8));
    for (int i = 0; i < 8; i += 2) {
        assert_ok(larder_record_stream(s->rig.a, s->blocks[i].addr, 5));
        block_put(s, i);
    }
}

/* Much is free, and more could be allocated. */
static void prepare_free(struct scene *s)
{
    prepare_holes(s);
    rig_free(&s->rig, rig_alloc(&s->rig, MIB(30)));
}

/* Handles of 8 pages, created when there was plenty; no more may be held now,
 * and new ones have one page each. */
static void prepare_large_handles(struct scene *s)
{
    char limit[40];

    for (int i = 0; i < 6; i++)
        block_get(s, i, MIB(16));
    for (int i = 1; i < 6; i += 2)
        block_put(s, i);
    snprintf(limit, sizeof limit, "limit:%llu",
             (unsigned long long)rig_reserved(&s->rig));
    assert_ok(larder_configure(s->rig.a, limit));
}

static larder_result act_alloc(struct scene *s, uint64_t bytes)
{
    return larder_alloc(s->rig.a, bytes, STREAM_OTHER, &s->got);
}

static larder_result act_31(struct scene *s)
{
    return act_alloc(s, MIB(31));
}

static larder_result act_10(struct scene *s)
{
    return act_alloc(s, MIB(10));
}

static larder_result act_46(struct scene *s)
{
    return act_alloc(s, MIB(46));
}

static larder_result act_small(struct scene *s)
{
    for (int i = 0; i < SMALL_BLOCKS; i++) {
        struct slot *at = &s->small[i];
        larder_result r;

        at->bytes = KIB(100);
        r = larder_alloc(s->rig.a, at->bytes, STREAM_OTHER, &at->addr);
        if (r != LARDER_OK) {
            assert_int_equal(at->addr, 0);
            return r;
        }
        pattern_write(&with_memory, at);
    }
    return LARDER_OK;
}

static larder_result act_empty_cache(struct scene *s)
{
    return larder_empty_cache(s->rig.a);
}

/* Memory that the device refuses to take back stays held, which is not a
 * failure. */
static larder_result act_trim(struct scene *s)
{
    return larder_trim(s->rig.a, MIB(41), NULL);
}

static const struct move moves[] = {
    {"to another stream", "sim:64MiB,context=0", "", prepare_holes, act_31,
     MIB(32), LARDER_CALL_unmap},
    {"to small blocks", "sim:64MiB,context=0", "", prepare_holes, act_small,
     MIB(32), LARDER_CALL_unmap},
    {"after events", "sim:64MiB,context=0,events=manual", "", prepare_pending,
     act_31, MIB(32), LARDER_CALL_event_sync},
    {"before growing", "sim:256MiB,context=0", "defrag:eager", prepare_free,
     act_31, MIB(192), LARDER_CALL_unmap},
    {"never", "sim:64MiB,context=0", "defrag:off", prepare_holes, act_31,
     MIB(32), LARDER_CALL_page_release},
    {"of large handles", "sim:40GiB,context=0", "handle_mib:16",
     prepare_large_handles, act_46, MIB(46), LARDER_CALL_unmap},
    {"of a part of a large one", "sim:40GiB,context=0", "handle_mib:16",
     prepare_large_handles, act_10, MIB(46), LARDER_CALL_page_release},
    {"to the device", "sim:64MiB,context=0", "", prepare_holes, act_empty_cache,
     MIB(32), LARDER_CALL_page_release},
    {"to a target", "sim:64MiB,context=0", "", prepare_holes, act_trim, MIB(32),
     LARDER_CALL_page_release},
};

enum { MOVES = sizeof moves / sizeof moves[0] };

/* ---- one run ---------------------------------------------------------------- */

static void describe(const struct move *m, const struct faults *f)
{
    print_error("move %s\n", m->name);
    faults_describe(f, m->conf);
}

static void blocks_verify(const struct scene *s)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (s->blocks[i].addr != 0)
            pattern_verify(&with_memory, &s->blocks[i]);
    }
    for (int i = 0; i < SMALL_BLOCKS; i++) {
        if (s->small[i].addr != 0)
            pattern_verify(&with_memory, &s->small[i]);
    }
}

static bool books_agree(struct scene *s, const struct faults *f)
{
    uint64_t held = rig_usage(s->rig.dev).self_bytes;
    uint64_t told = rig_reserved(&s->rig);

    if (keeps_memory(&f->one) || keeps_memory(&f->two))
        return held >= told;
    return held == told;
}

/* Check everything that can be wrong at once, with the faults removed. */
static void judge(struct scene *s, const struct move *m, const struct faults *f,
                  larder_result r)
{
    bool is_right = larder_check(s->rig.a) == LARDER_OK && books_agree(s, f);

    if (!is_right)
        describe(m, f);
    assert_ok(larder_check(s->rig.a));
    assert_true(is_right);
    blocks_verify(s);
    if (r == LARDER_OK && s->got != 0) {
        struct slot got = {.addr = s->got, .bytes = MIB(10)};

        pattern_write(&with_memory, &got);
        pattern_verify(&with_memory, &got);
        blocks_verify(s);
    }
}

/* All free memory is still there. */
static void have_all(struct scene *s, const struct move *m,
                     const struct faults *f)
{
    larder_addr all = 0;
    larder_result r;

    if (s->got != 0)
        rig_free(&s->rig, s->got);
    for (int i = 0; i < SMALL_BLOCKS; i++) {
        if (s->small[i].addr != 0)
            rig_free(&s->rig, s->small[i].addr);
        s->small[i].addr = 0;
    }
    r = larder_alloc(s->rig.a, m->free_bytes, STREAM_THIRD, &all);
    if (r != LARDER_OK)
        describe(m, f);
    assert_ok(r);
    assert_ok(larder_check(s->rig.a));
    blocks_verify(s);
    rig_free(&s->rig, all);
}

static void scene_down(struct scene *s)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (s->blocks[i].addr != 0)
            rig_free(&s->rig, s->blocks[i].addr);
    }
    assert_ok(larder_empty_cache(s->rig.a));
    assert_int_equal(rig_usage(s->rig.dev).pages, 0);
    assert_int_equal(rig_usage(s->rig.dev).mappings, 0);
    rig_down(&s->rig);
}

static struct struck run_once(const struct faults *f, const void *move)
{
    const struct move *m = move;
    struct scene s = {.got = 0};
    struct struck struck;
    larder_result r;

    s.rig = rig_up_pages(m->spec, LARDER_POLICY_LARDER, m->conf);
    m->prepare(&s);
    assert_ok(larder_device_reset_counters(s.rig.dev));
    faults_plan(f, s.rig.dev);
    r = m->act(&s);
    struck = faults_struck(f, s.rig.dev);
    if (!faults_explain(f, struck, r)) {
        describe(m, f);
        fail_msg("%s: %s", larder_result_name(r), larder_last_error());
    }
    faults_off(f, s.rig.dev);
    judge(&s, m, f, r);
    have_all(&s, m, f);
    scene_down(&s);
    return struck;
}

/* ---- sweeps ----------------------------------------------------------------- */

/* Once, twice in a row, and from then on. */
static unsigned long sweep(const struct move *m, struct fault f)
{
    unsigned long places = 0;

    for (f.nth = 1;; f.nth++) {
        f.times = 1;
        if (!run_once(&(struct faults){.one = f}, m).one)
            return places;
        places++;
        f.times = 2;
        (void)run_once(&(struct faults){.one = f}, m);
        f.times = 0;
        (void)run_once(&(struct faults){.one = f}, m);
    }
}

static void each_call_of_a_move_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < MOVES; i++) {
        unsigned long places = 0;

        for (int k = 0; k < KINDS; k++) {
            struct fault f = {.call = kinds[k], .with = LARDER_ERR_DEVICE};
            unsigned long of_kind = sweep(&moves[i], f);

            places += of_kind;
            if (kinds[k] == moves[i].least)
                assert_true(of_kind > 0);
        }
        print_message("%-26s %lu places\n", moves[i].name, places);
    }
}

static void the_device_may_have_less_than_it_said(void **state)
{
    (void)state;
    for (int i = 0; i < MOVES; i++) {
        struct fault f = {.call = LARDER_CALL_page_create,
                          .with = LARDER_ERR_OUT_OF_MEMORY};

        (void)sweep(&moves[i], f);
        f.call = LARDER_CALL_map;
        (void)sweep(&moves[i], f);
    }
}

static void the_host_may_have_no_memory(void **state)
{
    (void)state;
    for (int i = 0; i < MOVES; i++)
        (void)sweep(
            &moves[i],
            (struct fault){.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY});
}

static void two_calls_of_a_move_may_fail(void **state)
{
    unsigned long pairs = 0;

    (void)state;
    for (int i = 0; i < MOVES; i++) {
        for (int one = 0; one < KINDS; one++) {
            for (int two = 0; two < KINDS; two++) {
                if (one != two)
                    pairs +=
                        faults_sweep(kinds[one], sweep_stride(3), kinds[two],
                                     sweep_stride(3), run_once, &moves[i]);
            }
        }
    }
    print_message("%lu pairs\n", pairs);
    assert_true(pairs > 100);
}

/* ---- single guarantees ------------------------------------------------------- */

/* The page that could not be unmapped is where the next one is to be mapped. */
static void a_page_that_stayed_mapped_does_not_block_others(void **state)
{
    struct rig rig =
        rig_up_pages("sim:64MiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_addr addr;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(60)));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_set_access, 1, 2,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE,
                  larder_alloc(rig.a, MIB(40), STREAM_OTHER, &addr));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE,
                  larder_alloc(rig.a, MIB(20), STREAM_OTHER, &addr));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, 0, 0, LARDER_OK));
    rig_free(&rig, rig_alloc_on(&rig, MIB(20), STREAM_OTHER));
    rig_down(&rig);
}

/* A stream that could not be waited for may still use its pages. */
static void nothing_is_unmapped_before_its_stream_has_passed(void **state)
{
    struct rig rig = rig_up_pages("sim:64MiB,backing=none,events=manual",
                                  LARDER_POLICY_LARDER, "");
    larder_addr at[5];

    (void)state;
    for (int i = 0; i < 5; i++)
        at[i] = rig_alloc(&rig, MIB(4));
    rig_free(&rig, at[1]);
    rig_free(&rig, at[3]);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_event_sync, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_empty_cache(rig.a));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap), 0);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_event_sync, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_empty_cache(rig.a));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap),
                     rig_calls(&rig, LARDER_CALL_event_sync));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(12));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_of_a_move_may_fail),
        cmocka_unit_test(the_device_may_have_less_than_it_said),
        cmocka_unit_test(the_host_may_have_no_memory),
        cmocka_unit_test(two_calls_of_a_move_may_fail),
        cmocka_unit_test(a_page_that_stayed_mapped_does_not_block_others),
        cmocka_unit_test(nothing_is_unmapped_before_its_stream_has_passed),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
