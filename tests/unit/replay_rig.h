/* replay_rig.h - shared by the tests of replay.  Header only, for cmocka
 * programs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/replay_session.h"
#include "support/read_file.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* Read a trace from a string. */
static inline void read_text(const char *text, struct trace *t)
{
    char path[] = "/tmp/larder_replay_XXXXXX";
    struct tool_error error;
    int fd = mkstemp(path);
    bool ok;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    ok = trace_read(path, t, &error);
    unlink(path);
    if (!ok)
        fail_msg("not read: %s", error.text);
}

/* Replay it. */
static inline struct replay_result run(const char *text,
                                       const struct replay_options *options)
{
    struct replay_result result;
    struct tool_error error;
    struct trace t;

    read_text(text, &t);
    if (!replay_run(&t, options, &result, &error))
        fail_msg("not run: %s", error.text);
    trace_free(&t);
    return result;
}

static inline struct replay_options pytorch_on(const char *device)
{
    struct replay_options o = {.policy = LARDER_POLICY_PYTORCH,
                               .device = device};

    return o;
}
