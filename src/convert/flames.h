/* flames.h - memory by call stack, with weights: as collapsed stacks, which
 * flamegraph.pl, inferno and speedscope read, and in speedscope's own format.
 *
 * Weights are the bytes allocated at a device's peak; speedscope's format also
 * has the bytes requested over the whole run. */
#pragma once

#include <stdio.h>

#include "snapshot/snapshot.h"

/* All devices that hold memory, or only `device` if it is not FLAMES_ALL.
 * False: no host memory, or writing failed; a part may have been written. */
#define FLAMES_ALL SIZE_MAX
bool flames_write_collapsed(const struct snapshot *s, size_t device, FILE *out,
                            struct tool_error *error);
bool flames_write_speedscope(const struct snapshot *s, size_t device, FILE *out,
                             struct tool_error *error);
