/* device_log.h - the allocations and frees of the device's memory, as text:
 * "+4000 -4000".  One session at a time. */
#pragma once

#include "lab/lab_rig.h"

/* Log from now on, all but blocks of 512 bytes or less. */
void log_start(lab *l);
void log_start_all(lab *l);

/* Compares the log with `want`, and starts a new one. */
void log_expect(lab *l, const char *want);

void log_end(lab *l);
