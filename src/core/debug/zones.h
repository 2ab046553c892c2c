/* zones.h - writes and checks red zones (state/zone.h).  Private to core. */
#pragma once

#include "core/debug/debug.h"

/* Fill the block: its red zones and the bytes between them. */
larder_result larder__zones_write(struct allocator *a, struct block *b);

/* Check the live block's zones; notes a finding. */
void larder__zones_check(struct allocator *a, const struct block *b);
