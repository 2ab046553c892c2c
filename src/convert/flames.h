/* flames.h - who holds memory as call stacks with weights: collapsed stacks,
 * which flamegraph.pl, inferno and speedscope read, and speedscope's own
 * format.
 *
 * Weights are allocated bytes at the moment of a device's peak; speedscope's
 * has besides what was asked for over the whole run. */
#ifndef LARDER_CONVERT_FLAMES_H
#define LARDER_CONVERT_FLAMES_H

#include <stdio.h>

#include "snapshot/snapshot.h"

/* All devices that hold something, or only `device` if it is not FLAMES_ALL.
 * False: no host memory, or writing failed; some may have been written. */
#define FLAMES_ALL SIZE_MAX
bool flames_write_collapsed(const struct snapshot *s, size_t device, FILE *out,
                            struct tool_error *error);
bool flames_write_speedscope(const struct snapshot *s, size_t device, FILE *out,
                             struct tool_error *error);

#endif
