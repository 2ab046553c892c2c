/* snapshot_totals.h - what a snapshot holds, summed up as snapshot_totals.py
 * does it. */
#ifndef LARDER_TESTS_SNAPSHOT_SNAPSHOT_TOTALS_H
#define LARDER_TESTS_SNAPSHOT_SNAPSHOT_TOTALS_H

#include <stdio.h>

#include "snapshot/snapshot.h"

void snapshot_totals(const struct snapshot *s, FILE *out);

#endif
