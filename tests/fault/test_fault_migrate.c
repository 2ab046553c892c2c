/* test_fault_migrate.c - live memory moves while any driver call or any request
 * for host memory fails: once, twice, from then on, and together with a failure
 * of another kind in the code that undoes the first.  Each time the result is
 * one that the failure explains, every structure is consistent, live memory
 * keeps its address and its bytes, and no page is lost. */
#include "support/migrate_rig.h"
#include "fault/faults.h"

#include <larder/account.h>
#include <larder/region.h>
#include <larder/share.h>
#include <larder/tag.h>

#include "support/readable.h"

static const larder_call kinds[] = {
    LARDER_CALL_unmap,        LARDER_CALL_map,
    LARDER_CALL_set_access,   LARDER_CALL_page_create,
    LARDER_CALL_page_release, LARDER_CALL_address_reserve,
    LARDER_CALL_address_free, LARDER_CALL_copy,
    LARDER_CALL_event_create, LARDER_CALL_event_record,
    LARDER_CALL_event_sync,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The limit beyond held memory: nothing, so that the first handle is copied
 * through the host; or one page. */
static const struct way {
    uint64_t more;
    bool has_two_runs; /* a handle has pages in use in two places */
} ways[] = {{0, false}, {MIB(2), false}}, two_runs = {0, true};

enum { WAYS = sizeof ways / sizeof ways[0] };

/* ---- one run ------------------------------------------------------------------ */

static void describe(const struct faults *f, const struct way *way)
{
    print_error("%llu MiB more, %s\n", (unsigned long long)(way->more >> 20),
                way->has_two_runs ? "two runs" : "one run");
    faults_describe(f, "migrate:on");
}

static uint64_t free_bytes(const struct holes *h)
{
    return HOLES_FREE - (h->live[HANDLES] != 0 ? MIB(2) : 0);
}

/* The memory is usable, and no one else's. */
static void pages_touch(larder_addr got, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += MIB(2))
        memset((void *)(uintptr_t)(got + at), 0x77, KIB(64));
}

static void add_line(void *ctx, const larder_account_line *line)
{
    uint64_t *sum = ctx;

    if (line->kind != LARDER_OWNER_PINNED)
        *sum += line->held_bytes;
}

/* What an undo left, while the device still fails: what can be accessed has its
 * contents, and keeps what is written; and the device is accounted for. */
static void look(struct holes *h, uint64_t device_bytes)
{
    uint64_t sum = 0;

    for (int n = 0; n < LIVES; n++) {
        if (h->live[n] == 0 || !memory_is_readable(h->live[n]))
            continue;
        holes_verify_one(h, n);
        h->salt[n] = 1;
        holes_write_one(h, n);
    }
    assert_ok(larder_account(h->rig.a, add_line, &sum));
    assert_int_equal(sum, device_bytes);
}

/* A failed undo is completed by the first call that can; the second releases
 * addresses that were blocked until then. */
static void judge(struct holes *h, const struct faults *f,
                  const struct way *way, larder_addr got)
{
    if (larder_check(h->rig.a) != LARDER_OK)
        describe(f, way);
    assert_ok(larder_check(h->rig.a));
    (void)larder_empty_cache(h->rig.a);
    assert_ok(larder_empty_cache(h->rig.a));
    assert_ok(larder_check(h->rig.a));
    assert_int_equal(rig_usage(h->rig.dev).self_bytes, rig_reserved(&h->rig));
    if (got != 0)
        pages_touch(got, free_bytes(h));
    holes_verify(h);
}

/* All memory that was free can be allocated now. */
static void have_all(struct holes *h, larder_addr got)
{
    if (got == 0)
        assert_ok(holes_ask(h, free_bytes(h), &got));
    pages_touch(got, free_bytes(h));
    holes_verify(h);
    rig_free(&h->rig, got);
    for (int i = 0; i < LIVES; i++) {
        if (h->live[i] != 0)
            rig_free(&h->rig, h->live[i]);
    }
    assert_ok(larder_empty_cache(h->rig.a));
    assert_int_equal(rig_usage(h->rig.dev).pages, 0);
    assert_int_equal(rig_usage(h->rig.dev).mappings, 0);
    rig_down(&h->rig);
}

/* While the device still fails: what is handed out has its pages, and is no one
 * else's.  A block among them is freed, so that there is free memory around it
 * too. */
static void ask_for_more(struct holes *h)
{
    larder_addr got[HANDLES * HANDLE_PAGES];
    int count = 0;

    rig_free(&h->rig, h->live[0]);
    h->live[0] = 0;
    while (count < HANDLES * HANDLE_PAGES &&
           larder_alloc(h->rig.a, MIB(2), LIVE_STREAM, &got[count]) ==
               LARDER_OK) {
        memset((void *)(uintptr_t)got[count], 0x55, KIB(64));
        count++;
    }
    assert_ok(larder_check(h->rig.a));
    for (int i = 0; i < count; i++)
        rig_free(&h->rig, got[i]);
}

static bool all_are_readable(const struct holes *h)
{
    for (int n = 0; n < HANDLES; n++) {
        if (h->live[n] != 0 && !memory_is_readable(h->live[n]))
            return false;
    }
    return true;
}

/* What cannot be read is named by a call that tries to map it. */
static void look_at_words(const struct holes *h, const struct faults *f,
                          const struct way *way, larder_result r)
{
    if (all_are_readable(h) ||
        (r != LARDER_OK && r != LARDER_ERR_OUT_OF_MEMORY &&
         strstr(larder_last_error(), "whose contents are kept") != NULL))
        return;
    describe(f, way);
    fail_msg("%s: %s", larder_result_name(r), larder_last_error());
}

static struct struck run_once(const struct faults *f, const void *of)
{
    const struct way *way = of;
    struct holes h = holes_up(MIGRATE_SPEC, "migrate:on", way->more);
    struct struck struck;
    larder_addr got = 0;
    larder_result r;
    bool is_told;

    if (way->has_two_runs)
        holes_beside(&h);
    holes_write(&h);
    assert_ok(larder_device_reset_counters(h.rig.dev));
    faults_plan(f, h.rig.dev);
    r = holes_ask(&h, free_bytes(&h), &got);
    is_told = r == LARDER_ERR_DEVICE &&
              strstr(larder_last_error(), "whose contents are kept") != NULL;
    look_at_words(&h, f, way, r);
    look(&h, GIB(40));
    if (r != LARDER_OK)
        ask_for_more(&h);
    if (!all_are_readable(&h))
        look_at_words(&h, f, way, larder_empty_cache(h.rig.a));
    struck = faults_struck(f, h.rig.dev);
    faults_off(f, h.rig.dev);
    if (!is_told && !faults_explain(f, struck, r)) {
        describe(f, way);
        fail_msg("%s: %s", larder_result_name(r), larder_last_error());
    }
    judge(&h, f, way, got);
    have_all(&h, got);
    return struck;
}

/* ---- sweeps ------------------------------------------------------------------- */

/* Once, twice in a row, and from then on. */
static unsigned long sweep(struct fault f, const struct way *way)
{
    for (f.nth = 1;; f.nth++) {
        f.times = 1;
        if (!run_once(&(struct faults){.one = f}, way).one)
            return f.nth - 1;
        f.times = 2;
        (void)run_once(&(struct faults){.one = f}, way);
        f.times = 0;
        (void)run_once(&(struct faults){.one = f}, way);
    }
}

static void each_call_may_fail(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        for (int k = 0; k < KINDS; k++) {
            struct fault f = {.call = kinds[k], .with = LARDER_ERR_DEVICE};
            unsigned long places = sweep(f, &ways[w]);

            if (kinds[k] != LARDER_CALL_event_create)
                assert_true(places > 0);
            f.with = LARDER_ERR_OUT_OF_MEMORY;
            if (kinds[k] == LARDER_CALL_page_create ||
                kinds[k] == LARDER_CALL_map)
                (void)sweep(f, &ways[w]);
            print_message("%-16s %lu places\n", larder_call_name(kinds[k]),
                          places);
        }
    }
}

static void the_host_may_have_no_memory(void **state)
{
    struct fault f = {.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY};

    (void)state;
    for (int w = 0; w < WAYS; w++)
        assert_true(sweep(f, &ways[w]) > 2);
}

static void two_calls_may_fail(void **state)
{
    unsigned long pairs = 0;

    (void)state;
    for (int one = 0; one < KINDS; one++) {
        for (int two = 0; two < KINDS; two++) {
            if (one != two)
                pairs += faults_sweep(kinds[one], sweep_stride(41), kinds[two],
                                      sweep_stride(41), run_once, &ways[0]);
        }
    }
    print_message("%lu pairs\n", pairs);
    assert_true(pairs > 20);
}

/* A part of what moved is accessible at its place and cannot be unmapped again. */
static void what_stays_accessible_keeps_its_contents(void **state)
{
    const unsigned long stride = sweep_stride(2);

    (void)state;
    assert_true(faults_sweep(LARDER_CALL_set_access, stride, LARDER_CALL_unmap,
                             stride, run_once, &two_runs) > 0);
    assert_true(faults_sweep(LARDER_CALL_map, stride, LARDER_CALL_unmap, stride,
                             run_once, &two_runs) > 0);
}

/* ---- single guarantees --------------------------------------------------------- */

/* Mapping always fails: live memory is inaccessible but kept, and becomes
 * accessible once a mapping succeeds. */
static void a_failed_undo_is_completed_later(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, "migrate:on", 0);
    larder_addr got;

    (void)state;
    holes_write(&h);
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_refused(LARDER_ERR_DEVICE, holes_ask(&h, MIB(14), &got),
                   "whose contents are kept");
    assert_ok(larder_check(h.rig.a));
    assert_result(LARDER_ERR_DEVICE, larder_empty_cache(h.rig.a));
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 0, 0, LARDER_OK));
    assert_ok(holes_ask(&h, MIB(14), &got));
    assert_ok(larder_check(h.rig.a));
    holes_verify(&h);
    rig_down(&h.rig);
}

/* Whatever the device gives as its reason: a program that only heard that it is
 * out of memory would go on to use its tensors. */
static void a_failed_undo_for_lack_of_memory_is_told(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, "migrate:on", 0);
    larder_addr got;

    (void)state;
    holes_write(&h);
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 1, 0,
                                 LARDER_ERR_OUT_OF_MEMORY));
    assert_refused(LARDER_ERR_DEVICE, holes_ask(&h, MIB(14), &got),
                   "whose contents are kept");
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 0, 0, LARDER_OK));
    assert_ok(holes_ask(&h, MIB(14), &got));
    holes_verify(&h);
    rig_down(&h.rig);
}

/* The handle of a failed undo was given back.  What the device has free for it no
 * tag takes, though no limit is set. */
static void the_memory_of_an_undo_is_kept_for_it(void **state)
{
    struct holes h = holes_up("sim:64MiB,context=0", "migrate:on", 0);
    larder_addr got;

    (void)state;
    assert_ok(larder_configure(h.rig.a, "limit:1024g"));
    holes_write(&h);
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_page_create, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_refused(LARDER_ERR_DEVICE, holes_ask(&h, MIB(14), &got),
                   "whose contents are kept");
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_page_create, 0, 0,
                                 LARDER_OK));
    assert_ok(larder_tag_begin(h.rig.a, "t"));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(h.rig.a, KIB(64), OTHER_STREAM, &got));
    assert_ok(larder_tag_end(h.rig.a));
    assert_ok(larder_empty_cache(h.rig.a));
    look(&h, MIB(64));
    holes_verify(&h);
    rig_down(&h.rig);
}

/* Free memory in the handle of a failed undo has no pages: it is not handed out,
 * fast path or not, and neither is what is freed there; the free memory of other
 * handles is.  Everything returns with the device. */
static void nothing_is_allocated_where_an_undo_failed(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, "migrate:on", 0);
    larder_addr got[HANDLES * HANDLE_PAGES];
    int count = 0;

    (void)state;
    holes_write(&h);
    rig_free(&h.rig, rig_alloc_on(&h.rig, MIB(2), LIVE_STREAM)); /* is open */
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, holes_ask(&h, MIB(14), &got[0]));
    for (int round = 0; round < 2; round++) {
        while (larder_alloc(h.rig.a, MIB(1), LIVE_STREAM, &got[count]) ==
               LARDER_OK) {
            memset((void *)(uintptr_t)got[count], round + 1, MIB(1));
            if (++count == HANDLES * HANDLE_PAGES)
                break;
        }
        assert_words("cannot be used until a later request maps them again");
        if (round == 0) {
            assert_true(count > HANDLE_PAGES);
            while (count > 0)
                rig_free(&h.rig, got[--count]);
            for (int i = 0; i < HANDLES; i++)
                rig_free(&h.rig, h.live[i]);
        }
    }
    assert_ok(larder_check(h.rig.a));
    while (count > 0)
        rig_free(&h.rig, got[--count]);
    (void)larder_trim(h.rig.a, 0, NULL);
    assert_ok(larder_check(h.rig.a));
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 0, 0, LARDER_OK));
    assert_ok(holes_ask(&h, HOLES_FREE, &got[0]));
    pages_touch(got[0], HOLES_FREE);
    rig_free(&h.rig, got[0]);
    assert_ok(larder_empty_cache(h.rig.a));
    assert_int_equal(rig_usage(h.rig.dev).pages, 0);
    rig_down(&h.rig);
}

/* Pages that are at hand in a region, in a handle that moves and cannot be moved
 * back, are not committed until it is. */
static void nothing_is_committed_where_an_undo_failed(void **state)
{
    enum { PAGES = 16 };
    struct holes h = {.rig = rig_up_policy("sim:64MiB,context=0",
                                           LARDER_POLICY_LARDER, "migrate:on")};
    larder_region_info info = {.size = sizeof info};
    larder_region *kv;
    larder_addr got;

    (void)state;
    assert_ok(larder_region_create(h.rig.a, PAGES * MIB(2), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, PAGES * MIB(2)));
    assert_ok(larder_region_decommit(kv, MIB(2), (PAGES - 1) * MIB(2)));
    assert_ok(larder_region_get_info(kv, &info));
    *holes_word(info.addr, 0) = 0x1234;
    holes_limit(&h, 0);
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, holes_ask(&h, MIB(10), &got));
    assert_refused(LARDER_ERR_DEVICE, larder_region_commit(kv, MIB(4), MIB(2)),
                   "whose contents are kept");
    assert_result(LARDER_ERR_DEVICE,
                  larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_result(LARDER_ERR_DEVICE, larder_region_destroy(kv));
    assert_ok(larder_check(h.rig.a));
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 0, 0, LARDER_OK));
    assert_ok(larder_region_commit(kv, MIB(4), MIB(2)));
    *holes_word(info.addr + MIB(4), 0) = 0x5678;
    assert_int_equal(*holes_word(info.addr, 0), 0x1234);
    assert_ok(larder_region_destroy(kv));
    rig_down(&h.rig);
}

/* The handle of what is to be exported may be gone. */
static void nothing_is_exported_where_an_undo_failed(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC ",export=fd", "migrate:on", 0);
    larder_export *e;
    larder_addr got;
    int refused = 0;

    (void)state;
    holes_write(&h);
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, holes_ask(&h, MIB(14), &got));
    for (int i = 0; i < HANDLES; i++)
        refused +=
            larder_export_open(h.rig.a, h.live[i], &e) == LARDER_ERR_DEVICE;
    assert_int_equal(refused, HANDLES);
    assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_map, 0, 0, LARDER_OK));
    for (int i = 0; i < HANDLES; i++) {
        assert_ok(larder_export_open(h.rig.a, h.live[i], &e));
        assert_ok(larder_export_close(e));
    }
    holes_verify(&h);
    rig_down(&h.rig);
}

/* The allocator can also be destroyed in that state, whatever the device does
 * then. */
static void an_incomplete_undo_ends_with_the_allocator(void **state)
{
    static const larder_call second[] = {LARDER_CALL_map, LARDER_CALL_unmap,
                                         LARDER_CALL_copy};

    (void)state;
    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++) {
        struct holes h = holes_up(MIGRATE_SPEC, "migrate:on", 0);
        larder_addr got;

        holes_write(&h);
        assert_ok(larder_device_fail(h.rig.dev, LARDER_CALL_set_access, 1, 0,
                                     LARDER_ERR_DEVICE));
        assert_result(LARDER_ERR_DEVICE, holes_ask(&h, MIB(14), &got));
        assert_ok(
            larder_device_fail(h.rig.dev, second[i], 1, 1, LARDER_ERR_DEVICE));
        (void)larder_destroy(h.rig.a);
        assert_device_empty(h.rig.dev);
        assert_ok(larder_device_close(h.rig.dev));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_may_fail),
        cmocka_unit_test(the_host_may_have_no_memory),
        cmocka_unit_test(two_calls_may_fail),
        cmocka_unit_test(what_stays_accessible_keeps_its_contents),
        cmocka_unit_test(a_failed_undo_is_completed_later),
        cmocka_unit_test(a_failed_undo_for_lack_of_memory_is_told),
        cmocka_unit_test(the_memory_of_an_undo_is_kept_for_it),
        cmocka_unit_test(nothing_is_allocated_where_an_undo_failed),
        cmocka_unit_test(nothing_is_committed_where_an_undo_failed),
        cmocka_unit_test(nothing_is_exported_where_an_undo_failed),
        cmocka_unit_test(an_incomplete_undo_ends_with_the_allocator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
