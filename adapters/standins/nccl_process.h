/* nccl_process.h - whether a process that left its number is still there. */
#ifndef LARDER_ADAPTERS_STANDINS_NCCL_PROCESS_H
#define LARDER_ADAPTERS_STANDINS_NCCL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* When it started, in the kernel's ticks.  0: it is gone, or ended and not yet
 * waited for. */
uint64_t nccl_process_start(int64_t pid);

#pragma GCC visibility pop

#endif
