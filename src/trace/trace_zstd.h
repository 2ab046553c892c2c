/* trace_zstd.h - a stream whose bytes come out compressed. */
#ifndef LARDER_TRACE_TRACE_ZSTD_H
#define LARDER_TRACE_TRACE_ZSTD_H

#include <stdbool.h>
#include <stdio.h>

/* What is written to the stream goes to `out` compressed with zstd.  fclose()
 * of it writes what is left, and fails if something could not be written;
 * `out` stays open.  NULL: no host memory. */
FILE *trace_zstd_open(FILE *out);

#endif
