/* savable.h - how much less expandable segments could hold at a moment. */
#ifndef LARDER_REPORT_SAVABLE_H
#define LARDER_REPORT_SAVABLE_H

#include "report/moment.h"

/* What the segments partly in use hold beyond the pages that an expandable
 * segment for each stream, pool and kind would need for the same blocks, without
 * a gap: at most that much is saved.  Segments that can grow save nothing
 * more. */
uint64_t report_savable(struct hoard *h, const struct moment *m);

#endif
