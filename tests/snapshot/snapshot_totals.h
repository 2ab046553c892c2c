/* snapshot_totals.h - totals of a snapshot's contents, computed as
 * snapshot_totals.py computes them. */
#pragma once

#include <stdio.h>

#include "snapshot/snapshot.h"

void snapshot_totals(const struct snapshot *s, FILE *out);
