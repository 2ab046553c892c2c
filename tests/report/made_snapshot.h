/* made_snapshot.h - builds snapshots for tests from short texts.
 *
 * One event per line: "ACTION ADDRESS BYTES [STREAM [FRAME]]", with addresses
 * in MiB and bytes as sizes ("512", "4MiB").  A line that begins with "segment"
 * or "block" belongs to the final state:
 *
 *   alloc 0 4MiB 0 model.py:10:forward
 *   free_requested 0 4MiB
 *   oom 90MiB 4GiB            (free on the device, requested)
 *   segment 0 20MiB [STREAM [large|small|expandable]]
 *   block 4MiB active_allocated [FRAME]      (in the segment above, in order)
 *   mark NAME START                        (an annotation of what follows)
 *
 * Lines after "device N" belong to that device; lines before the first such
 * line belong to device 0, and further devices follow in order.
 *
 * Lines between "repeat N" and "end" count N times; "#" begins a comment.  The
 * address "+" stands for an address that no other line has. */
#pragma once

#include "snapshot/lifetimes.h"

/* The snapshot described by the lines; fails the test if it cannot be built.
 * `settings` is the inside of a JSON object, or NULL. */
struct snapshot *made_snapshot(const char *lines, const char *settings);
