/* sim_process.h - whether a process that recorded its number is still alive.
 * Private to the simulated GPU. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When the process started, in kernel ticks: together with its number this
 * identifies a process.  0: the system does not say. */
uint64_t larder__sim_process_start(pid_t pid);

/* `start` 0: unknown.  In doubt the process is alive. */
bool larder__sim_process_lives(pid_t pid, uint64_t start);
