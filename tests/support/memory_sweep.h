/* memory_sweep.h - repeats a task while one host allocation after the other
 * fails.  For cmocka programs in which libc_faults.h is included. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "support/libc_faults.h"
#include "trace/tool_error.h"

/* True: it worked.  False: *error says why not. */
typedef bool sweep_task(const void *what, struct tool_error *error);

/* The nth allocation fails, alone or with all that follow: the task works
 * nevertheless or says that memory is short, and leaves at most `leaves`
 * allocations behind.  False: it makes fewer than nth. */
static bool sweep_step(sweep_task *task, const void *what, unsigned long nth,
                       bool lasting, long leaves)
{
    struct tool_error error;
    bool ok, reached;
    long left = libc_faults.held;

    error.text[0] = '\0';
    libc_fail(nth, lasting);
    ok = task(what, &error);
    reached = libc_faults.calls >= nth;
    libc_fail(0, false);
    left = libc_faults.held - left;
    if (left < 0 || left > leaves)
        fail_msg("after allocation %lu failed %ld are held", nth, left);
    if (!ok && strstr(error.text, "memory") == NULL)
        fail_msg("allocation %lu: '%s' says nothing of memory", nth,
                 error.text);
    return reached;
}

static void assert_fails_cleanly(sweep_task *task, const void *what,
                                 bool lasting, long leaves)
{
    unsigned long nth = 1;

    while (sweep_step(task, what, nth, lasting, leaves))
        nth++;
}
