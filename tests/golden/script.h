/* script.h - a script of operations, run as a release of PyTorch would.
 *
 * A line an operation: those of traces (trace.h) and
 *
 *   b POOL [STREAM...]  allocations (on these streams) go to a private pool
 *   n POOL              no longer
 *   u POOL              the pool has one user less
 *   o POOL              it lends when memory runs out
 *   s POOL              its blocks are not split
 *   g STREAM            a capture begins on the stream
 *   h STREAM            it ends
 *   w STREAM            work is queued on the stream
 *   j STREAM OTHER      which from now on waits for what OTHER has
 *   k CONF              settings
 *   l FRACTION          of the device may be held
 *   q                   statistics
 */
#ifndef LARDER_TESTS_GOLDEN_SCRIPT_H
#define LARDER_TESTS_GOLDEN_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/settings/pytorch_rules.h"
#include "trace/tool_error.h"

struct script {
    char *conf;
    uint64_t capacity;
    double fraction; /* 1: none is set */
    bool is_manual;  /* events */
    char *lines;     /* each with its end */
};

/* Run it under a release's rules, and write `p` and `s` lines as recordings
 * have them, or `refused` if its settings are not accepted.  The version says what settings of the release's name mean; the
 * rules hold, which may be others. */
bool script_run(const struct script *s, const struct pytorch_rules *rules,
                FILE *out, struct tool_error *error);

#endif
