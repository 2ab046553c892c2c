/* carry.h - moves the used pages of a handle to new handles, at the same
 * addresses and with the same contents, and releases the old handle.  Private
 * to core.
 *
 *   before   |        one handle        |
 *            [free][ live ][    free    ]
 *   after    |  -  |  h1  |      -      |
 *
 * Each run of used pages gets a handle of its own.
 *
 * The contents are copied on the device if it has room for both copies, else
 * through host memory.  Meanwhile the pages are not mapped, so no queued work
 * may touch them.  A handle is mapped elsewhere, at `scratch`, until it has its
 * contents.
 *
 * A failure on the way is undone.  If undoing fails too (the device maps
 * nothing any more), the handle or its contents are kept, and undoing is tried
 * again at every request that misses, and before memory is supplied, released
 * or exported.  Where new handles could not be unmapped, the move is completed
 * instead: the program may have written to them.  Until then the bookkeeping
 * looks as before, but the handle is withheld: it does not move, free blocks
 * that touch it are not handed out, and the fast path is closed
 * (allocator.has_withheld).  Its live memory cannot be relied on. */
#pragma once

#include "core/policy_larder/pages.h"

/* Count the pages of a handle that are in use.  All of them count if one cannot
 * be moved: it is exported, or pending (a recorded stream may still use it).
 * `first` is the block that the handle begins in, or an earlier one.  With
 * `out`, store their runs in out->runs, which has room for them. */
size_t larder__carry_used(struct allocator *a, const struct block *first,
                          const struct segment *s, struct page_span handle,
                          struct carry *out);

/* Move the used pages of one handle that is partly in use.  No queued work may
 * touch them.  ERR_OUT_OF_MEMORY: the device had no pages for the copy. */
larder_result larder__carry(struct allocator *a, struct segment *s,
                            struct page_span handle);

/* Finish undoing a failed move, or complete it; OK if there is none.  The error
 * names the addresses that stay withheld. */
larder_result larder__carry_back(struct allocator *a);

/* Whether these pages of the segment, or a part of the block, are withheld. */
static inline bool carry_withholds_pages(const struct allocator *a,
                                         const struct segment *s,
                                         struct page_span span)
{
    const struct carry *c = &a->larder->carry;

    return a->has_withheld && c->segment == s && span.begin < c->end &&
           span.end > c->begin;
}

static inline bool carry_withholds(const struct allocator *a,
                                   const struct block *b)
{
    return a->has_withheld &&
           carry_withholds_pages(a, b->segment,
                                 pages_touched(b->segment, b->addr, b->bytes));
}

/* The segment is being destroyed: release what belongs to its failed move. */
void larder__carry_leave(struct allocator *a, struct segment *s);

/* Release the scratch addresses and what was mapped there. */
void larder__carry_tidy(struct allocator *a);

/* Free the host memory, when the allocator is destroyed. */
void larder__carry_destroy(struct allocator *a);
