/* units.h - formats quantities for people. */
#ifndef LARDER_CLI_UNITS_H
#define LARDER_CLI_UNITS_H

#include <stdint.h>

/* Size of a buffer for any of them. */
enum { UNITS_MAX = 32 };

/* "512 B", "1.50 KiB", "21.86 GiB": three digits or more; returns out. */
const char *units_bytes(uint64_t bytes, char out[UNITS_MAX]);

/* The same, never less than `bytes`: what is named so is enough. */
const char *units_bytes_up(uint64_t bytes, char out[UNITS_MAX]);

/* "850 ns", "12.3 ms", "4.56 s", "2 min 5 s". */
const char *units_time(uint64_t ns, char out[UNITS_MAX]);

#endif
