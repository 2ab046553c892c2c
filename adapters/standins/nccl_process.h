/* nccl_process.h - whether a process that left its number is still there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* When it started, in the kernel's ticks.  0: it is gone, or ended and not yet
 * waited for. */
uint64_t nccl_process_start(int64_t pid);

#pragma GCC visibility pop
