/* debug.h - the settings debug:2 and 3: memory that a program must not write is
 * filled with known bytes and checked later.  Private to core.
 *
 * An allocator with debug:1 or more has a watched handle (entry/handle.h), so
 * every call takes the slow path.  The slow path tests for a struct debug;
 * without debug, hits are not slowed down.
 *
 *   zones.c       red zones around allocations, and the bytes between them
 *   quarantine.c  freed blocks that are kept from reuse until checked
 *   bytes.c       reads and writes the device's bytes in order on the block's
 *                 stream, through the device's own table
 *   unrecorded.c  work queued on streams that were not recorded
 *   last.c        debug:3: freed memory is released, so that its addresses
 *                 fault; memory that was never freed
 *   finding.c     keeps a finding until it can be reported
 *
 * Bytes: a red zone is filled with ZONE_BYTE.  Memory just allocated or freed
 * is filled with POISON_BYTE, which is not a number in every floating-point
 * format.
 *
 * Nothing is written or read while a stream may be capturing, because it would
 * become part of the graph. */
#pragma once

#include "base/fail.h"
#include "core/state/allocator.h"

enum { ZONE_BYTE = 0xFD, POISON_BYTE = 0xFF };

struct finding {
    larder_result result; /* LARDER_OK: none */
    char words[LARDER_FAIL_MAX / 2];
};

/* Freed blocks in a queue, oldest first (quarantine.h). */
struct quarantine {
    struct quarantined *first;
    struct quarantined *last;
    struct quarantined *used; /* still used by recorded streams */
    uint64_t bytes;
    uint64_t max_bytes;
    uint32_t count;
};

struct debug {
    uint64_t level; /* 2 or 3 */
    struct finding finding;
    struct quarantine quarantine;
    struct bytes_buffer *buffer; /* bytes.c; NULL: not yet */
    bool is_tried;               /* written bytes were read back once */
    bool is_blind;               /* and were not there, or cannot be read */
    bool is_wary;                /* a wait failed because of a capture */
};

/* Make the debug state that the settings of a new allocator ask for. */
larder_result larder__debug_create(struct allocator *a);
void larder__debug_destroy(struct allocator *a);

/* The following require a->debug. */

/* Call it after the block was handed out.  If it fails the block must be
 * freed. */
larder_result larder__debug_allocated(struct allocator *a, struct block *b);

/* Free the live block, which is in the map: replaces map_remove() and
 * larder__block_retire().  The block is freed even if this reports a finding,
 * about it or an earlier one. */
larder_result larder__debug_free(struct allocator *a, struct block *b);

/* Call it before the memory of a tag's allocations is released for a while,
 * with `is_dropped` without keeping its contents.  Empties the tag's
 * quarantine, and checks now what cannot be checked later. */
void larder__debug_pause(struct allocator *a, const struct private_pool *owner,
                         bool is_dropped);
/* Call it when the memory is back without its contents. */
void larder__debug_resume(struct allocator *a,
                          const struct private_pool *owner);

/* Call it after a region's block was committed. */
void larder__debug_committed(struct allocator *a, const struct block *b);
/* Whether decommitted memory must be released to the device at once. */
bool larder__debug_releases(const struct allocator *a);
/* Check everything, and report a finding.  O(blocks + quarantined blocks). */
larder_result larder__debug_check(struct allocator *a);

/* Check one last time, when the allocator is destroyed. */
larder_result larder__debug_end(struct allocator *a);
