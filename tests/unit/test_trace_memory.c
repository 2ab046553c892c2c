/* test_trace_memory.c - traces and snapshots are read, replayed and reported as
 * JSON while the host runs out of memory: an error says so, and nothing
 * leaks. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay_session.h"
#include "replay/replay_spec.h"
#include "support/memory_sweep.h"
#include "trace/trace_source.h"
#include "support/read_file.h"

#define DATA LARDER_SOURCE_DIR "/tests/data/"

/* Each allocator leaves behind a handle that knows it was destroyed, and nothing
 * else. */
static void assert_file_fails_cleanly(sweep_task *task, const char *path,
                                      bool lasting)
{
    struct tool_error error;
    long handles;

    assert_true(task(path, &error)); /* lasting allocations exist from now on */
    handles = libc_faults.held;
    assert_true(task(path, &error));
    handles = libc_faults.held - handles;
    assert_fails_cleanly(task, path, lasting, handles);
}

static bool read_trace(const void *path, struct tool_error *error)
{
    struct trace t;

    if (!trace_read(path, &t, error))
        return false;
    trace_free(&t);
    return true;
}

static bool write_result(const struct replay_result *r, const char *path,
                         const struct replay_options *o,
                         struct tool_error *error)
{
    char *line = replay_result_json(r, path, o);

    if (line == NULL)
        return tool_fail(error, "not enough host memory");
    free(line);
    return true;
}

static bool replay_trace(const void *path, struct tool_error *error)
{
    const struct replay_options o = {.device = "sim:1GiB",
                                     .repeat = 1,
                                     .min_capacity = true,
                                     .hints_after = 2,
                                     .summary = true};
    struct replay_result r;
    struct trace t;
    bool ok;

    if (!trace_read(path, &t, error))
        return false;
    ok = replay_run(&t, &o, &r, error);
    trace_free(&t);
    if (!ok)
        return false;
    ok = write_result(&r, path, &o, error);
    replay_result_free(&r);
    return ok;
}

/* What a replay prepares before its first allocator, which leaves nothing. */
static bool prepare_replay(const void *path, struct tool_error *error)
{
    struct trace t;
    struct replay_session s = {.trace = &t};
    char *spec;
    bool ok;

    if (!trace_read(path, &t, error))
        return false;
    spec =
        replay_make_hints(&s, 2) ? replay_spec_make("sim:1GiB", &t, 0) : NULL;
    ok = spec != NULL || tool_fail(error, "not enough host memory");
    replay_session_close(&s);
    free(spec);
    trace_free(&t);
    return ok;
}

static bool replay_snapshot(const void *path, struct tool_error *error)
{
    const struct replay_options o = {.device = NULL};
    struct replay_input in;
    struct replay_result r;
    bool ok;

    if (!replay_input_open(path, &in, error) ||
        !replay_run_snapshot(&in, &o, &r, error))
        return false;
    ok = write_result(&r, path, &o, error);
    replay_result_free(&r);
    return ok;
}

static void a_trace_without_memory_is_not_read(void **state)
{
    (void)state;
    assert_file_fails_cleanly(read_trace, DATA "traces/e4_case7.trace.zst",
                              false);
    assert_file_fails_cleanly(read_trace, DATA "traces/e4_case7.trace.zst",
                              true);
}

static void a_replay_without_memory_fails_cleanly(void **state)
{
    (void)state;
    assert_file_fails_cleanly(replay_trace, DATA "traces/e1_rebind.trace.zst",
                              false);
    assert_file_fails_cleanly(replay_trace, DATA "traces/e1_rebind.trace.zst",
                              true);
}

static void a_replay_is_prepared_or_leaves_nothing(void **state)
{
    (void)state;
    assert_file_fails_cleanly(prepare_replay, DATA "traces/e1_rebind.trace.zst",
                              false);
    assert_file_fails_cleanly(prepare_replay, DATA "traces/e1_rebind.trace.zst",
                              true);
}

static void a_snapshot_s_replay_without_memory_fails_cleanly(void **state)
{
    (void)state;
    assert_file_fails_cleanly(replay_snapshot,
                              DATA "snapshots/two_devices.pickle", false);
    assert_file_fails_cleanly(replay_snapshot, DATA "snapshots/v2.13.pickle",
                              true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_without_memory_is_not_read),
        cmocka_unit_test(a_replay_without_memory_fails_cleanly),
        cmocka_unit_test(a_replay_is_prepared_or_leaves_nothing),
        cmocka_unit_test(a_snapshot_s_replay_without_memory_fails_cleanly),
    };

    if (!LIBC_FAULTS)
        return 77;
    /* One run reuses what the previous freed, without the kernel. */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
