/* trace_zstd.h - an output stream that compresses. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Open a stream that writes its data to `out`, compressed with zstd. fclose()
 * writes the rest, and fails if any write failed; `out` stays open.  NULL: no
 * host memory. */
FILE *trace_zstd_open(FILE *out);
