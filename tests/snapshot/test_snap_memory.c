/* test_snap_memory.c - the memory for reading a snapshot: what is used adds up,
 * arrays grow as they should, and the budget is kept to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "snapshot/snap_memory.h"
#include "support/guarded.h"
#include "support/random.h"

enum { ARRAYS = 4, STEPS = 400 };

struct array {
    uint32_t *at;
    size_t capacity;
    size_t count;
};

static uint64_t bytes_of(const struct array *arrays)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < ARRAYS; i++)
        sum += arrays[i].capacity * sizeof *arrays[i].at;
    return sum;
}

static void must_hold(const struct array *a, uint32_t first)
{
    for (size_t i = 0; i < a->count; i++)
        assert_int_equal(a->at[i], first + i);
}

static void what_is_used_adds_up(void **state)
{
    struct snap_memory m = {.input_bytes = 1};
    struct array arrays[ARRAYS] = {{NULL, 0, 0}};
    uint64_t seed = 1;
    uint64_t peak = 0;

    (void)state;
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t which = random_u32(&seed, ARRAYS);
        struct array *a = &arrays[which];

        if (random_u32(&seed, 5) == 0) {
            snap_release(&m, a->at, a->capacity * sizeof *a->at);
            *a = (struct array){NULL, 0, 0};
        } else {
            size_t needed = a->count + random_u32(&seed, 200);

            assert_true(
                snap_reserve(&m, &a->at, &a->capacity, needed, sizeof *a->at));
            for (; a->count < needed; a->count++)
                a->at[a->count] = which * 100000 + (uint32_t)a->count;
        }
        assert_true(a->capacity >= a->count);
        must_hold(a, which * 100000);
        assert_int_equal(m.used, bytes_of(arrays));
        peak = m.used > peak ? m.used : peak;
        assert_int_equal(m.peak, peak);
    }
    for (size_t i = 0; i < ARRAYS; i++)
        snap_release(&m, arrays[i].at,
                     arrays[i].capacity * sizeof *arrays[i].at);
    snap_release(&m, NULL, 5);
    assert_int_equal(m.used, 0);
}

static void arrays_grow_by_a_quarter_when_large(void **state)
{
    static const struct {
        size_t capacity, needed, item, wanted;
    } steps[] = {
        {0, 1, 1, 256},
        {0, 1, 16, 16},
        {0, 300, 1, 300},
        {300, 301, 1, 600},
        {300, 700, 1, 700},
        {(16 << 20) - 1, 16 << 20, 1, (32 << 20) - 2},
        {16 << 20, (16 << 20) + 1, 1, 20 << 20},
        {2 << 20, (2 << 20) + 1, 8, (5 << 20) / 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct snap_memory m = {.input_bytes = 1 << 30};
        char *array = malloc(steps[i].capacity * steps[i].item + 1);
        size_t capacity = steps[i].capacity;

        assert_true(snap_reserve(&m, &array, &capacity, steps[i].needed,
                                 steps[i].item));
        assert_int_equal(capacity, steps[i].wanted);
        assert_int_equal(m.used,
                         (capacity - steps[i].capacity) * steps[i].item);
        free(array);
    }
}

static void the_budget_is_kept_to_the_byte(void **state)
{
    const uint64_t limit = 4000 + ((uint64_t)60 << 20);
    struct snap_memory m = {.input_bytes = 1000};
    char *array = malloc(500);
    size_t capacity = 500;
    void *p;

    (void)state;
    assert_null(snap_alloc(&m, limit + 1, 1));
    assert_true(m.over_budget);
    p = snap_alloc(&m, limit, 1);
    assert_non_null(p);
    assert_false(m.over_budget);
    snap_release(&m, p, limit);
    m.used = limit - 136; /* doubling does not fit, nor 600 and a sixteenth */
    assert_false(snap_reserve(&m, &array, &capacity, 600, 1));
    assert_true(m.over_budget);
    assert_int_equal(capacity, 500);
    assert_int_equal(m.used, limit - 136);
    m.used = limit - 137;
    assert_true(snap_reserve(&m, &array, &capacity, 600, 1));
    assert_int_equal(capacity, 637);
    assert_int_equal(m.used, limit);
    free(array);
}

/* A size that no memory has is no matter of the budget. */
static void what_is_too_large_to_count_is_refused(void **state)
{
    struct snap_memory m = {.input_bytes = 1000};
    void *array = NULL;
    size_t capacity = 0;

    (void)state;
    assert_false(snap_reserve(&m, &array, &capacity, SIZE_MAX / 4 / 8 + 1, 8));
    assert_false(m.over_budget);
    assert_false(snap_reserve(&m, &array, &capacity, SIZE_MAX / 4 / 8, 8));
    assert_true(m.over_budget);
    m.over_budget = false;
    assert_null(snap_alloc(&m, SIZE_MAX / 8 + 1, 8));
    assert_false(m.over_budget);
    assert_null(snap_alloc(&m, SIZE_MAX / 8, 8));
    assert_true(m.over_budget);
    assert_int_equal(m.used, 0);
}

static void without_memory_nothing_changes(void **state)
{
    struct snap_memory m = {.input_bytes = 1000};
    char *array = malloc(10);
    size_t capacity = 10;
    bool fine;
    void *p;

    (void)state;
    libc_fail(1, true);
    fine = snap_reserve(&m, &array, &capacity, 20, 1);
    p = snap_alloc(&m, 20, 1);
    libc_fail(0, false);
    assert_false(fine && LIBC_FAULTS);
    assert_true(p == NULL || !LIBC_FAULTS);
    assert_false(m.over_budget);
    if (LIBC_FAULTS) {
        assert_int_equal(capacity, 10);
        assert_int_equal(m.used, 0);
        assert_int_equal(m.peak, 0);
    }
    free(p);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_adds_up),
        cmocka_unit_test(arrays_grow_by_a_quarter_when_large),
        cmocka_unit_test(the_budget_is_kept_to_the_byte),
        cmocka_unit_test(what_is_too_large_to_count_is_refused),
        cmocka_unit_test(without_memory_nothing_changes),
    };

    return run_counted_tests(tests);
}
