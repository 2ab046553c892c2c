/* sim_process.h - whether a process that wrote its number down still lives.
 * Private to the simulated GPU. */
#ifndef LARDER_DEVICE_SIM_PROCESS_H
#define LARDER_DEVICE_SIM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When the process began, in the kernel's ticks: with its number it names one
 * process for good.  0 if the system does not tell. */
uint64_t larder__sim_process_start(pid_t pid);

/* `start` 0: not known.  When in doubt it lives. */
bool larder__sim_process_lives(pid_t pid, uint64_t start);

#endif
