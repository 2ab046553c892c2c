/* host_peak.h - the peak of malloc()'s memory during a part of a test.  Not
 * under sanitizers, whose malloc() it would hide: it returns 0 then. */
#pragma once

#include <stdint.h>

/* Start a new measurement. */
void host_peak_reset(void);

/* Bytes beyond those allocated at its start. */
uint64_t host_peak_get(void);
