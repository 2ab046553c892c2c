/* script.h - a script of operations, run as a release of PyTorch would run it.
 *
 * One operation per line: those of traces (trace.h) and
 *
 *   b POOL [STREAM...]  allocations (on these streams) go to a private pool
 *   n POOL              they no longer do
 *   u POOL              release one use of the pool
 *   o POOL              the pool lends when memory runs out
 *   s POOL              the pool's blocks are not split
 *   g STREAM            begin a capture on the stream
 *   h STREAM            end it
 *   w STREAM            queue work on the stream
 *   j STREAM OTHER      STREAM waits for the work queued on OTHER
 *   k CONF              apply settings
 *   l FRACTION          limit reserved memory to a fraction of the device
 *   q                   print statistics
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/settings/pytorch_rules.h"
#include "trace/tool_error.h"

struct script {
    char *conf;
    uint64_t capacity;
    double fraction; /* 1: not set */
    bool is_manual;  /* of events */
    char *lines;     /* each with its newline */
};

/* Run it under a release's rules, and write `p` and `s` lines as in recordings,
 * or `refused` if its settings are not accepted.  The version determines what
 * the settings mean; the rules may be those of another release. */
bool script_run(const struct script *s, const struct pytorch_rules *rules,
                FILE *out, struct tool_error *error);
