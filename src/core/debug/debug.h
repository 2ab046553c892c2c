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

/* Freed blocks in a queue, oldest first. */
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

/* ---- findings (finding.c) ------------------------------------------------ */

/* Many findings are made where no result can report them, for example by an
 * allocation that needs quarantined memory.  The first one not yet reported is
 * kept for the next larder_free(), larder_check() or larder_destroy(). */

/* Note a finding about the block, with a message in this format.  Where the
 * block was allocated is added if the history knows it. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void larder__finding_note(struct allocator *a, const struct block *b,
                          larder_result r, const char *format, ...);

/* Set the last error and return the finding's result; LARDER_OK: there is
 * none. */
larder_result larder__finding_report(struct allocator *a);

/* ---- the device's bytes (bytes.c) ---------------------------------------- */

enum { BYTES_READ_MAX = 256 << 10 /* at once */ };

/* A range of the device's memory. */
struct bytes_range {
    larder_addr addr;
    uint64_t bytes;
};

/* Whether work may be queued on the stream and waited for: not if it would
 * become part of a graph. */
bool larder__bytes_may(struct allocator *a, larder_stream stream);

/* Queue a fill of the range with `value` on the stream; the device's errors. */
larder_result larder__bytes_fill(struct allocator *a, struct bytes_range range,
                                 unsigned char value, larder_stream stream);

/* Read the ranges, in order, together at most BYTES_READ_MAX, after all work
 * queued on the stream.  Valid until the next read.  NULL: they cannot be
 * read. */
const unsigned char *larder__bytes_read(struct allocator *a,
                                        const struct bytes_range *ranges,
                                        size_t count, larder_stream stream);

/* The offset of the first byte that is not `value`; `bytes` if there is
 * none. */
uint64_t larder__bytes_differ(const unsigned char *at, uint64_t bytes,
                              unsigned char value);

/* Call it when `d` is destroyed. */
void larder__bytes_end(struct debug *d);

/* ---- red zones (zones.c) ------------------------------------------------- */

/* Fill the block: its red zones and the bytes between them. */
larder_result larder__zones_write(struct allocator *a, struct block *b);

/* Check the live block's zones; notes a finding. */
void larder__zones_check(struct allocator *a, const struct block *b);

/* ---- freed blocks (quarantine.c) ----------------------------------------- */

/* A block in quarantine is pending (block.h), with a hold of its own
 * (events.h), and filled with POISON_BYTE once its recorded streams have
 * passed.  The oldest blocks leave when others need the room and are checked
 * then: a changed byte was written after the block was freed. */

/* Call it before the block is freed: keeps it from reuse afterwards.  NULL: it
 * is too large, or there is no host memory. */
struct quarantined *larder__quarantine_keep(struct allocator *a,
                                            struct block *b);

/* Call it when the block is freed.  Blocks beyond the quarantine's size
 * leave. */
void larder__quarantine_begin(struct allocator *a, struct quarantined *q);

/* Check all blocks in quarantine; notes a finding. */
void larder__quarantine_check(struct allocator *a);

/* Remove the owner's blocks. */
void larder__quarantine_leave(struct allocator *a,
                              const struct private_pool *owner);

/* Remove all blocks.  Returns whether there were any. */
bool larder__quarantine_empty(struct allocator *a);

/* ---- streams that were not recorded (unrecorded.c) ----------------------- */

/* Call it before the live block is freed: notes a finding if queued work uses
 * the block on a stream that neither the block's own stream nor a recorded one
 * waits for. */
void larder__unrecorded_check(struct allocator *a, const struct block *b);

/* ---- addresses of freed memory, and leaks (last.c) ----------------------- */

/* Make memory come from the device in handles of one page each, whatever the
 * device's size, so that all whole pages of a block can be released alone.
 * Call it before any memory is acquired. */
void larder__stale_begin(struct allocator *a);

/* Whether the live block has memory that is released together with it, so that
 * its address faults instead of accessing a later block. */
bool larder__stale_applies(struct allocator *a, const struct block *b);

/* Release the free memory of this pool. */
void larder__stale_release(struct allocator *a, struct pool *pool);

/* Call it when the allocator is destroyed: notes a finding if memory was not
 * freed, with the origin of the largest block. */
void larder__leaks_note(struct allocator *a);
