/* rival.h - one allocator, as main.cpp drives it: a source for each. */
#pragma once

#include <cstdint>

/* Begin on the device that the driver has.  `name` chooses where a source has
 * several. */
void rival_begin(const char *name);

/* Null: out of memory. */
void *rival_allocate(uint64_t bytes, unsigned stream);
void rival_free(void *address, uint64_t bytes, unsigned stream);
