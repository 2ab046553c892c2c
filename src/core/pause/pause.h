/* pause.h - segments whose memory is released for a while.  Private to core.
 *
 * Blocks and addresses stay as they are.  Each mapped page goes through
 *
 *   MAPPED --unmap--> HELD --release--> GONE --create--> HELD --map--> MAPPED
 *
 * and every state on the way is valid: after a step that failed, the next
 * attempt continues from where it stopped.  A page that was created again is
 * fresh until its contents are restored.
 *
 * Rule P3, checked by larder_check(): a page of a paused segment has a handle
 * if and only if it is held or mapped. */
#ifndef LARDER_CORE_PAUSE_PAUSE_H
#define LARDER_CORE_PAUSE_PAUSE_H

#include "core/segments/kept.h"

enum page_state {
    PAGE_ABSENT, /* there was no page */
    PAGE_MAPPED,
    PAGE_HELD, /* has a handle that is not mapped */
    PAGE_GONE
};

struct paused_page {
    uint8_t state;    /* enum page_state */
    uint8_t is_fresh; /* its old contents are not restored yet */
    uint8_t is_new;   /* created by the current call */
    uint32_t place;   /* of its contents in `kept`, in pages */
};

struct paused {
    size_t end;          /* no page at or after this one */
    struct kept kept;    /* the pages' contents, in order */
    struct paused *next; /* in the tag's list of those to be freed later */
    struct paused_page pages[];
};

/* Memory that segments of paused tags hold, and rule P3 for one segment. */
uint64_t larder__paused_held_bytes(const struct segment *s);
bool larder__paused_is_sound(const struct segment *s);

/* Call it before all segments are destroyed: no tag is paused afterwards. */
void larder__pause_forget(struct allocator *a);
/* Call it after that and before tags are destroyed, when no work is queued. */
void larder__pause_end(struct allocator *a);

/* ---- steps over one segment (pause_pages.c) ------------------------------- */

/* Make s->paused, with host memory for the contents if `keep`.  Changes nothing
 * else. */
larder_result larder__paused_make(struct allocator *a, struct segment *s,
                                  bool keep);
void larder__paused_free(struct allocator *a, struct segment *s);
/* Free those that had to wait for a copy; no copy is running any more. */
void larder__paused_free_stale(struct allocator *a, struct tag *tag);

/* Unmap all mapped pages. */
larder_result larder__paused_unmap(struct allocator *a, struct segment *s);
/* Map all held pages, and set access for all. */
larder_result larder__paused_map(struct allocator *a, struct segment *s);
/* Release the held pages; with `only_new`, only those that the current call
 * created. */
uint64_t larder__paused_release(struct allocator *a, struct segment *s,
                                bool only_new);
/* Create the pages that are gone.  The caller has made room for orphans. */
larder_result larder__paused_create(struct allocator *a, struct segment *s);
/* After a failed attempt: unmap the pages that this call created, unless a copy
 * to them may still be running; then the next attempt uses them. */
void larder__paused_unmap_new(struct allocator *a, struct segment *s);

/* Copy the contents to the host, or into the fresh pages, and wait. */
larder_result larder__paused_copy(struct allocator *a, const struct segment *s,
                                  larder_copy_kind kind);

#endif
