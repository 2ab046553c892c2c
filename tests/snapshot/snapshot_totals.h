/* snapshot_totals.h - totals of a snapshot's contents, computed as
 * snapshot_totals.py computes them. */
#ifndef LARDER_TESTS_SNAPSHOT_SNAPSHOT_TOTALS_H
#define LARDER_TESTS_SNAPSHOT_SNAPSHOT_TOTALS_H

#include <stdio.h>

#include "snapshot/snapshot.h"

void snapshot_totals(const struct snapshot *s, FILE *out);

#endif
