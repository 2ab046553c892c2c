/* call_log.h - prints the calls that change what a device holds, or wait for
 * it, as the allocator above it makes them: one line each,
 *
 *   d CALL NUMBER...
 *
 * Addresses are counted from the device's first address; pages and events have
 * no name.  A call that failed ends with the word "failed".  Left out are the
 * calls whose number says nothing: mem_info, and making and dropping events. */
#pragma once

#include <stdio.h>

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Print the calls on `dev` from now on, of one device of a process at a time,
 * and no longer. */
void call_log_begin(larder_device *dev, larder_addr base, FILE *out);
void call_log_end(larder_device *dev);

#ifdef __cplusplus
}
#endif
