/* test_lifetimes_made.c - lifetimes of allocations in made-up snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "snapshot/address_map.h"
#include "support/guarded.h"
#include "support/random.h"

#define MIB(n) ((uint64_t)(n) << 20)

static struct lifetimes lifetimes_of(struct snapshot *s)
{
    struct lifetimes l;
    struct tool_error error;

    assert_true(lifetimes_make(s, 0, &l, &error));
    return l;
}

static uint64_t curve_at(const struct lifetimes *l, enum lifetime_curve which,
                         uint32_t state)
{
    uint64_t *values = malloc((l->event_count + 1) * sizeof(*values));
    uint64_t value;

    assert_non_null(values);
    lifetimes_curve(l, which, values);
    value = values[state];
    free(values);
    return value;
}

static void an_allocation_lives_from_its_event_to_its_free(void **state)
{
    struct snapshot *s = made_snapshot("segment_alloc 0 20MiB\n"
                                       "alloc 0 1000000\n"
                                       "free_requested 0 1000000\n"
                                       "free_completed 0 1000000\n"
                                       "segment_free 0 20MiB\n",
                                       NULL);
    struct lifetimes l = lifetimes_of(s);

    (void)state;
    assert_int_equal(l.alloc_count, 1);
    assert_int_equal(l.before_count, 0);
    assert_int_equal(l.allocs[0].start, 1);
    assert_int_equal(l.allocs[0].end, 2);
    assert_int_equal(l.allocs[0].done, 3);
    assert_int_equal(l.allocs[0].requested, 1000000);
    assert_int_equal(l.allocs[0].rounded, 1000448);
    assert_int_equal(l.span_count, 1);
    assert_int_equal(l.spans[0].start, 0);
    assert_int_equal(l.spans[0].end, 4);
    assert_int_equal(curve_at(&l, CURVE_REQUESTED, 1), 0);
    assert_int_equal(curve_at(&l, CURVE_REQUESTED, 2), 1000000);
    assert_int_equal(curve_at(&l, CURVE_REQUESTED, 3), 0);
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 0), 0);
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 4), MIB(20));
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 5), 0);
    lifetimes_free(&l);
    snapshot_free(s);
}

static void memory_freed_without_an_allocation_is_older_than_the_history(
    void **state)
{
    struct snapshot *s = made_snapshot("free_requested 4 4MiB\n"
                                       "free_completed 4 4MiB\n"
                                       "alloc 4 2MiB\n"
                                       "segment 0 20MiB\n"
                                       "block 4MiB inactive\n"
                                       "block 2MiB active_allocated\n"
                                       "block 6MiB inactive\n"
                                       "block 8MiB active_allocated\n",
                                       NULL);
    struct lifetimes l = lifetimes_of(s);

    (void)state;
    assert_int_equal(l.alloc_count, 3);
    assert_int_equal(l.before_count, 2);
    assert_int_equal(l.allocs[0].start, LIFETIME_BEFORE);
    assert_int_equal(l.allocs[0].address, MIB(4));
    assert_int_equal(l.allocs[0].end, 0);
    assert_int_equal(l.allocs[1].start, LIFETIME_BEFORE);
    assert_int_equal(l.allocs[1].address, MIB(12));
    assert_int_equal(l.allocs[1].end, l.event_count);
    assert_int_equal(curve_at(&l, CURVE_ALLOCATED, 0), MIB(12));
    assert_int_equal(curve_at(&l, CURVE_ALLOCATED, 2), MIB(8));
    assert_int_equal(curve_at(&l, CURVE_ALLOCATED, 3), MIB(10));
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 0), MIB(20));
    lifetimes_free(&l);
    snapshot_free(s);
}

static void memory_whose_free_only_completes_was_freed_before_the_history(
    void **state)
{
    struct snapshot *s = made_snapshot("free_completed 4 4MiB\n", NULL);
    struct lifetimes l = lifetimes_of(s);

    (void)state;
    assert_int_equal(l.alloc_count, 1);
    assert_int_equal(l.allocs[0].end, LIFETIME_BEFORE);
    assert_int_equal(l.allocs[0].done, 0);
    assert_int_equal(curve_at(&l, CURVE_ALLOCATED, 0), 0);
    lifetimes_free(&l);
    snapshot_free(s);
}

/* A ring that lost events: an address is allocated twice, and freed twice. */
static void contradictory_events_are_counted(void **state)
{
    struct snapshot *s = made_snapshot("alloc 0 4MiB\n"
                                       "alloc 0 2MiB\n"
                                       "free_requested 0 2MiB\n"
                                       "free_requested 0 2MiB\n",
                                       NULL);
    struct lifetimes l = lifetimes_of(s);

    (void)state;
    assert_int_equal(l.overwritten, 1);
    assert_int_equal(l.unmatched, 1);
    assert_int_equal(l.allocs[0].end, 1);
    assert_int_equal(curve_at(&l, CURVE_REQUESTED, 2), MIB(2));
    assert_int_equal(curve_at(&l, CURVE_REQUESTED, 4), 0);
    lifetimes_free(&l);
    snapshot_free(s);
}

/* Pages are unmapped in other pieces than they were mapped in. */
static void unmapping_cuts_what_was_mapped(void **state)
{
    struct snapshot *s = made_snapshot("segment_map 0 20MiB\n"
                                       "segment_map 20 20MiB\n"
                                       "segment_unmap 10 20MiB\n"
                                       "segment_unmap 100 2MiB\n",
                                       NULL);
    struct lifetimes l = lifetimes_of(s);

    (void)state;
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 0), MIB(2));
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 2), MIB(42));
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 3), MIB(22));
    assert_int_equal(curve_at(&l, CURVE_RESERVED, 4), MIB(20));
    lifetimes_free(&l);
    snapshot_free(s);
}

static void the_rounding_is_the_recorded_one(void **state)
{
    struct snapshot *s = made_snapshot(
        "alloc 0 1400000\n", "\"roundup_power2_divisions\": {\"1\": 4}");

    (void)state;
    assert_int_equal(lifetimes_round(&s->settings, 1400000), 1572864);
    assert_int_equal(lifetimes_round(&s->settings, 1), 512);
    assert_int_equal(lifetimes_round(&s->settings, 1200), 1536);
    snapshot_free(s);
    /* Each row of divisions is for the sizes from its own on. */
    s = made_snapshot("alloc 0 1400000\n", "\"roundup_power2_divisions\": "
                                           "{\"1\": 4, \"4\": 2, \"16\": 1}");
    assert_int_equal(lifetimes_round(&s->settings, 1200), 1536);
    assert_int_equal(lifetimes_round(&s->settings, MIB(2) + 1),
                     MIB(2) + MIB(1) / 2);
    assert_int_equal(lifetimes_round(&s->settings, MIB(4) + 1), MIB(6));
    assert_int_equal(lifetimes_round(&s->settings, MIB(16) + 1), MIB(16) + 512);
    snapshot_free(s);
}

/* Against a plain array, with addresses that coincide. */
static void the_address_map_keeps_what_it_is_told(void **state)
{
    static uint32_t model[512];
    struct address_map m = {0};
    uint64_t random = 88172645463325252U;
    int step;

    (void)state;
    memset(model, 0xff, sizeof(model));
    for (step = 0; step < 200000; step++) {
        size_t at;

        random_next(&random);
        at = random % 512;
        if ((random >> 40) % 2 == 0) {
            model[at] = (uint32_t)step;
            assert_true(address_map_put(&m, at << 9, (uint32_t)step));
        } else {
            assert_int_equal(address_map_take(&m, at << 9), model[at]);
            model[at] = ADDRESS_MAP_NONE;
        }
        at = (random >> 20) % 512;
        assert_int_equal(address_map_get(&m, at << 9), model[at]);
    }
    address_map_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_lives_from_its_event_to_its_free),
        cmocka_unit_test(
            memory_freed_without_an_allocation_is_older_than_the_history),
        cmocka_unit_test(
            memory_whose_free_only_completes_was_freed_before_the_history),
        cmocka_unit_test(contradictory_events_are_counted),
        cmocka_unit_test(unmapping_cuts_what_was_mapped),
        cmocka_unit_test(the_rounding_is_the_recorded_one),
        cmocka_unit_test(the_address_map_keeps_what_it_is_told),
    };

    return run_guarded_tests(tests);
}
