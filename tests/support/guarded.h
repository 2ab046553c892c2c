/* guarded.h - runs a group of tests under libc_guard() (libc_faults.h): memory
 * that they do not free makes the program fail.  For cmocka programs. */
#pragma once

#include "support/libc_faults.h"

static long guarded_left;

static inline int counted_begin(void **state)
{
    (void)state;
    guarded_left = libc_faults.held;
    return 0;
}

static inline int guarded_begin(void **state)
{
    libc_guard(true);
    return counted_begin(state);
}

static inline int guarded_end(void **state)
{
    (void)state;
    guarded_left = libc_faults.held - guarded_left;
    libc_guard(false);
    return 0;
}

/* cmocka ignores what a group's teardown returns, and a test that failed could
 * not free its memory. */
static inline int guarded_result(int failed)
{
    if (failed == 0 && guarded_left != 0)
        print_error("%ld allocations were not freed\n", guarded_left);
    return failed == 0 && guarded_left != 0 ? 1 : failed;
}

/* Without guards: allocations are only counted. */
#define run_counted_tests(tests)                                               \
    guarded_result(cmocka_run_group_tests((tests), counted_begin, guarded_end))

#define run_guarded_tests(tests)                                               \
    guarded_result(cmocka_run_group_tests((tests), guarded_begin, guarded_end))
