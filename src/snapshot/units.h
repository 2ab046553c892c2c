/* units.h - formats quantities for people. */
#pragma once

#include <stdint.h>

/* Size of a buffer for any of them. */
enum { UNITS_MAX = 32 };

/* Each text lives until the end of the block that calls it; the function of the
 * same name with _in writes it to a buffer, which it returns. */

/* "512 B", "1.50 KiB", "21.9 GiB", "1023 MiB": three digits, or all those before
 * the point. */
#define units_bytes(bytes) units_bytes_in((bytes), (char[UNITS_MAX]){0})
const char *units_bytes_in(uint64_t bytes, char out[UNITS_MAX]);

/* The same, rounded up, so that the named size is enough. */
#define units_bytes_up(bytes) units_bytes_up_in((bytes), (char[UNITS_MAX]){0})
const char *units_bytes_up_in(uint64_t bytes, char out[UNITS_MAX]);

/* "850 ns", "12.3 ms", "4.56 s", "2 min 5 s". */
#define units_time(ns) units_time_in((ns), (char[UNITS_MAX]){0})
const char *units_time_in(uint64_t ns, char out[UNITS_MAX]);

/* A whole number. */
#define units_count(count) units_count_in((count), (char[UNITS_MAX]){0})
const char *units_count_in(uint64_t count, char out[UNITS_MAX]);
