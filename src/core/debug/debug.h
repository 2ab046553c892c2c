/* debug.h - the setting debug:2: what a program must not write is filled with
 * known bytes, and looked at again.  Private to core.
 *
 * An allocator with debug:1 or more has a watched handle (entry/handle.h), so
 * that every call takes the slow way; those ask whether it has a struct debug,
 * and a hit of one without is as it always was.
 *
 *   zones.c       red zones around allocations, and what is in between
 *   quarantine.c  freed blocks that wait to be looked at
 *   bytes.c       what is written to the device and read from it, in the order
 *                 of the block's stream, through the device's own table
 *   unrecorded.c  work that is queued on streams that were not recorded
 *   last.c        debug:3: what is freed goes back to the device, so that its
 *                 addresses fault; what was never freed
 *   finding.c     what was found, until it is told
 *
 * Bytes: a red zone is all ZONE_BYTE.  What was just allocated and what was
 * freed is all POISON_BYTE, so that as numbers of floating point it is not a
 * number, in every format.
 *
 * Nothing is written or read while a stream may be captured: the graph would
 * have it. */
#ifndef LARDER_CORE_DEBUG_H
#define LARDER_CORE_DEBUG_H

#include "base/fail.h"
#include "core/state/allocator.h"

enum { ZONE_BYTE = 0xFD, POISON_BYTE = 0xFF };

struct finding {
    larder_result result; /* LARDER_OK: there is none */
    char words[LARDER_FAIL_MAX / 2];
};

/* Freed blocks in a row, the oldest first (quarantine.h). */
struct quarantine {
    struct quarantined *first;
    struct quarantined *last;
    struct quarantined *used; /* still, by recorded streams */
    uint64_t bytes;
    uint64_t max_bytes;
    uint32_t count;
};

struct debug {
    uint64_t level; /* 2 or 3 */
    struct finding finding;
    struct quarantine quarantine;
    struct bytes_buffer *buffer; /* bytes.c; NULL: not yet */
    bool is_tried;               /* what is written was read back once */
    bool is_blind;               /* and was not there, or cannot be read */
    bool is_wary; /* a wait was refused, as something is captured */
};

/* Give the allocator, that is being made, what its settings ask for. */
larder_result larder__debug_make(struct allocator *a);
void larder__debug_unmake(struct allocator *a);

/* The following are for allocators with a->debug. */

/* The block was just handed out.  On failure it is to be freed. */
larder_result larder__debug_allocated(struct allocator *a, struct block *b);

/* Free the live block, which the map names, in place of map_remove() and
 * larder__block_retire().  A finding, about this or an earlier one: it is
 * freed all the same. */
larder_result larder__debug_free(struct allocator *a, struct block *b);

/* Nothing of the owner's stays in quarantine. */
void larder__debug_let_go(struct allocator *a,
                          const struct private_pool *owner);

/* The memory of a tag's allocations is about to go for a while, and if
 * `is_dropped` all that is in it: nothing of it stays in quarantine, and what
 * cannot be looked at later is now. */
void larder__debug_sleep(struct allocator *a, const struct private_pool *owner,
                         bool is_dropped);
/* It is back, without what was in it. */
void larder__debug_wake(struct allocator *a, const struct private_pool *owner);

/* A region's block was committed, or is about to be decommitted. */
void larder__debug_committed(struct allocator *a, const struct block *b);
void larder__debug_decommit(struct allocator *a, const struct block *b);
/* Whether what was decommitted is to go back to the device at once. */
bool larder__debug_releases(const struct allocator *a);
/* What was found and not told yet. */
larder_result larder__debug_tell(struct allocator *a);

/* Look at everything: a finding.  O(blocks and what is quarantined). */
larder_result larder__debug_check(struct allocator *a);

/* The allocator goes: look a last time. */
larder_result larder__debug_end(struct allocator *a);

#endif
