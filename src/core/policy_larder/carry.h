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

/* ---- the driver calls of a move (carry_steps.c) -------------------------- */

/* Each step works on a->larder->carry and records its progress there, so that a
 * step that failed can be continued or reverted. */

/* The address of the i-th run, which does not change. */
static inline larder_addr carry_place(const struct carry *c, size_t i)
{
    return page_at(c->segment, c->runs[i].begin);
}

/* Copy all used pages to host memory, and wait. */
larder_result larder__carry_to_host(struct allocator *a);

/* ---- the new handles ------------------------------------------------------ */

larder_result larder__carry_new_create(struct allocator *a);
/* Release the new handles, none of which is mapped.  The caller has made room
 * for orphans. */
void larder__carry_new_release(struct allocator *a);
/* Map the new handles at the addresses of their runs, with access. */
larder_result larder__carry_new_map(struct allocator *a);
larder_result larder__carry_new_unmap(struct allocator *a);

/* ---- scratch addresses ---------------------------------------------------- */

/* Reserve addresses at which handles of so many pages can be mapped. */
larder_result larder__scratch_ensure(struct allocator *a, size_t pages);
larder_result larder__scratch_free(struct allocator *a);
/* Copy all used pages, from their place or from host memory, to the new handles,
 * which are mapped at the scratch addresses only during the call. */
larder_result larder__scratch_copy(struct allocator *a, bool from_host);

/* ---- the old handle ------------------------------------------------------- */

larder_result larder__carry_old_unmap(struct allocator *a);
larder_result larder__carry_old_release(struct allocator *a);
/* Create the handle again if it was released; it is blank then. */
larder_result larder__carry_old_remake(struct allocator *a);
/* Copy the contents from host memory to the blank handle, which is mapped at the
 * scratch addresses until that has succeeded. */
larder_result larder__carry_old_refill(struct allocator *a);
/* Map the handle where it was, with access. */
larder_result larder__carry_old_map(struct allocator *a);
