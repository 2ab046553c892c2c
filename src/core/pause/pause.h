/* pause.h - segments whose memory is released for a while.  Private to core.
 *
 * Blocks and addresses stay as they are; each page that was there goes through
 *
 *   MAPPED --unmap--> HELD --release--> GONE --create--> HELD --map--> MAPPED
 *
 * and every state on that way is a legal one to stop at: a step that fails
 * leaves nothing that cannot be gone on with.  A page that was created again is
 * fresh until its contents are back.
 *
 * Rule P3, checked by larder_check(): a page of a paused segment has a handle
 * if and only if it is held or mapped. */
#ifndef LARDER_CORE_PAUSE_H
#define LARDER_CORE_PAUSE_H

#include "core/segments/kept.h"

enum page_state {
    PAGE_ABSENT, /* there was none */
    PAGE_MAPPED,
    PAGE_HELD, /* a handle, mapped nowhere */
    PAGE_GONE
};

struct paused_page {
    uint8_t state;    /* enum page_state */
    uint8_t is_fresh; /* its contents are not those of before */
    uint8_t is_new;   /* created by the call under way */
    uint32_t place;   /* of its contents, in pages */
};

struct paused {
    size_t end;          /* no page from here on */
    struct kept kept;    /* contents of the pages that were there, in order */
    struct paused *next; /* of the tag's that are done with, but not gone */
    struct paused_page pages[];
};

/* What segments of paused tags hold; the rules say so too. */
uint64_t larder__paused_held_bytes(const struct segment *s);
bool larder__paused_is_sound(const struct segment *s);

/* Before all segments are destroyed: none is paused any more. */
void larder__pause_forget(struct allocator *a);
/* After them, and before the tags: nothing is queued any more. */
void larder__pause_end(struct allocator *a);

/* ---- steps over one segment (pause_pages.c) ------------------------------- */

/* Make s->paused, with room for the contents if `keep`.  Changes nothing
 * else. */
larder_result larder__paused_make(struct allocator *a, struct segment *s,
                                  bool keep);
void larder__paused_free(struct allocator *a, struct segment *s);
/* Free those that had to wait: no copy is under way any more. */
void larder__paused_free_stale(struct allocator *a, struct tag *tag);

/* Unmap all mapped pages. */
larder_result larder__paused_unmap(struct allocator *a, struct segment *s);
/* Map all held ones, and make all usable. */
larder_result larder__paused_map(struct allocator *a, struct segment *s);
/* Release the held ones; with `only_new`, those this call created. */
uint64_t larder__paused_release(struct allocator *a, struct segment *s,
                                bool only_new);
/* Create those that are gone.  Room for orphans was made. */
larder_result larder__paused_create(struct allocator *a, struct segment *s);
/* Unmap those that this call created, for an attempt that failed: not while a
 * copy to them may be under way.  They are there for the next attempt then. */
void larder__paused_unmap_new(struct allocator *a, struct segment *s);

/* Copy the contents out, or into the pages that are fresh, and wait. */
larder_result larder__paused_copy(struct allocator *a, const struct segment *s,
                                  larder_copy_kind kind);

#endif
