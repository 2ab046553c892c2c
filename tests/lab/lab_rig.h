/* lab_rig.h - shared by tests of the lab's internals: sessions, and checks that
 * report what failed.  Header only, for cmocka programs. */
#pragma once

#include "support/rig.h"

#include <larder/lab.h>

static inline void lab_rig_result(larder_result got, larder_result want,
                                  const char *call, const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s:%d: %s gave %s, expected %s; last error: %s\n", file, line,
                call, larder_result_name(got), larder_result_name(want),
                lab_last_error());
    _fail(file, line);
}

#define lab_assert_result(want, call)                                          \
    lab_rig_result((call), (want), #call, __FILE__, __LINE__)
#define lab_assert_ok(call) lab_assert_result(LARDER_OK, call)

/* The call fails with this result, and the message contains the words. */
#define lab_assert_refused(want, call, words)                                  \
    do {                                                                       \
        lab_assert_result(want, call);                                         \
        if (strstr(lab_last_error(), (words)) == NULL)                         \
            fail_msg("'%s' is not in: %s", (words), lab_last_error());         \
    } while (0)

static inline lab *lab_rig_up(const char *device)
{
    lab_options opt;
    lab *l = NULL;

    lab_options_init(&opt);
    opt.device = device;
    lab_assert_ok(lab_open(&opt, &l));
    return l;
}

static inline lab_memory lab_rig_memory(lab *l)
{
    lab_memory m;

    lab_memory_init(&m);
    lab_assert_ok(lab_memory_get(l, &m));
    return m;
}
