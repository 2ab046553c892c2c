/* trace_zstd.h - an output stream that compresses. */
#ifndef LARDER_TRACE_TRACE_ZSTD_H
#define LARDER_TRACE_TRACE_ZSTD_H

#include <stdbool.h>
#include <stdio.h>

/* Open a stream that writes its data to `out`, compressed with zstd. fclose()
 * writes the rest, and fails if any write failed; `out` stays open.  NULL: no
 * host memory. */
FILE *trace_zstd_open(FILE *out);

#endif
