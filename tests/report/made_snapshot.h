/* made_snapshot.h - snapshots for tests, said in a few words.
 *
 * A line an event: "ACTION ADDRESS BYTES [STREAM [FRAME]]", with addresses in
 * MiB and bytes as sizes ("512", "4MiB"); a line that begins with "segment"
 * or "block" is of the final state:
 *
 *   alloc 0 4MiB 0 model.py:10:forward
 *   free_requested 0 4MiB
 *   oom 90MiB 4GiB            (what the device had free, what was asked)
 *   segment 0 20MiB [STREAM [large|small|expandable]]
 *   block 4MiB active_allocated [FRAME]      (in the segment above, in order)
 *   mark NAME START                        (an annotation, of what follows)
 *
 * What follows "device N" is of that device; what comes before the first such
 * line is of device 0, and the others follow one by one.
 *
 * Lines between "repeat N" and "end" count N times; "#" begins a comment.
 * The address "+" is one that no other line has.
 */
#ifndef TESTS_REPORT_MADE_SNAPSHOT_H
#define TESTS_REPORT_MADE_SNAPSHOT_H

#include "snapshot/lifetimes.h"

/* The snapshot of those lines; fails the test when it cannot be made.  The
 * settings are a JSON object's inside, or NULL. */
struct snapshot *made_snapshot(const char *lines, const char *settings);

#endif
