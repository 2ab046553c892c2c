/* pause.c - releases the memory of a tag's allocations, and maps it again. */
#include "core/pause/pause.h"

#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/debug/debug.h"
#include "core/entry/capturing.h"
#include "core/entry/handle.h"
#include "core/peers/peers.h"
#include "core/pools/private.h"
#include "core/pools/tags.h"
#include "core/segments/blocks.h"
#include "core/segments/cached.h"
#include "core/segments/events.h"
#include "core/segments/orphan.h"
#include "core/segments/segment.h"
#include "core/state/held.h"
#include "core/state/zone.h"

/* The first of the tag's segments from s on. */
static struct segment *segment_from(const struct tag *tag, struct segment *s)
{
    while (s != NULL && s->heap->pool->owner != tag->pool)
        s = s->next;
    return s;
}

static struct segment *first_of(const struct allocator *a,
                                const struct tag *tag)
{
    return segment_from(tag, a->segments);
}

static struct segment *next_of(const struct tag *tag, const struct segment *s)
{
    return segment_from(tag, s->next);
}

/* Take a step for each of the tag's segments, up to the first that fails. */
typedef larder_result step(struct allocator *a, struct segment *s);

static larder_result each(struct allocator *a, const struct tag *tag,
                          step *take)
{
    larder_result r = LARDER_OK;

    for (struct segment *s = first_of(a, tag); s != NULL; s = next_of(tag, s)) {
        if (r == LARDER_OK)
            r = take(a, s);
    }
    return r;
}

static larder_result step_make_keep(struct allocator *a, struct segment *s)
{
    return larder__paused_make(a, s, true);
}

static larder_result step_make_drop(struct allocator *a, struct segment *s)
{
    return larder__paused_make(a, s, false);
}

static larder_result step_copy_out(struct allocator *a, struct segment *s)
{
    return larder__paused_copy(a, s, LARDER_COPY_TO_HOST);
}

static larder_result step_copy_in(struct allocator *a, struct segment *s)
{
    return larder__paused_copy(a, s, LARDER_COPY_TO_DEVICE);
}

static void free_all(struct allocator *a, struct tag *tag)
{
    for (struct segment *s = first_of(a, tag); s != NULL; s = next_of(tag, s)) {
        if (s->paused != NULL)
            larder__paused_free(a, s);
    }
    tag->is_paused = false;
    tag->is_dropped = false;
    tag->paused_bytes = 0;
    tag->kept_bytes = 0;
}

/* ---- preconditions -------------------------------------------------------- */

static larder_result pause_check_pages(const struct allocator *a,
                                       const struct tag *tag)
{
    if (!a->has_pages)
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "device '%s' has no virtual memory: released "
                            "memory could not be mapped at its addresses again",
                            larder_device_name(a->device));
    for (struct segment *s = first_of(a, tag); s != NULL; s = next_of(tag, s)) {
        if (s->kind != SEGMENT_EXPANDABLE)
            return larder__fail(LARDER_ERR_UNSUPPORTED,
                                "the memory of tag '%s' does not lie in pages "
                                "under this policy",
                                tag->name);
    }
    return LARDER_OK;
}

/* Wait for the streams recorded for live blocks.  A block that then still waits
 * is held by an export. */
static larder_result blocks_pass(struct allocator *a, struct segment *s)
{
    larder_result r = LARDER_OK;

    for (struct block *b = s->head; r == LARDER_OK && b != NULL;
         b = slab_get(&a->slab, b->next)) {
        bool is_live = b->state == BLOCK_LIVE;

        if (b->state == BLOCK_PENDING || (is_live && block_is_exported(b)))
            return larder__fail(LARDER_ERR_BUSY,
                                "the allocation at 0x%llx is exported: close "
                                "that first",
                                (unsigned long long)zone_user(b));
        for (const struct use *use = is_live ? b->uses : NULL;
             use != NULL && r == LARDER_OK; use = use->next)
            r = larder__events_pass(a, use->stream);
    }
    return r;
}

static larder_result pause_heaps_pass(struct allocator *a,
                                      const struct pool *pool)
{
    larder_result r = LARDER_OK;

    for (uint32_t i = 0; r == LARDER_OK && i < pool->heap_count; i++)
        r = larder__events_pass(a, pool->heaps[i]->stream);
    return r;
}

/* Wait until no queued work uses the tag's memory. */
static larder_result quiesce(struct allocator *a, const struct tag *tag)
{
    larder_result r = larder__events_sync_owner(a, tag->pool);

    for (int kind = 0; r == LARDER_OK && kind < POOL_KINDS; kind++)
        r = pause_heaps_pass(a, &tag->pool->pools[kind]);
    return r == LARDER_OK ? each(a, tag, blocks_pass) : r;
}

/* ---- pausing -------------------------------------------------------------- */

/* Unmapping has failed on the way: map again what was unmapped. */
static void pause_undo(struct allocator *a, struct tag *tag)
{
    char words[LARDER_FAIL_MAX - 256];

    larder__copy_error(words, sizeof words);
    if (each(a, tag, larder__paused_map) == LARDER_OK) {
        free_all(a, tag);
        larder__set_error("%s", words);
        return;
    }
    tag->is_paused = true;
    larder__set_error("%s; what was unmapped could not be mapped again: the "
                      "tag '%s' is paused with all of its memory, and "
                      "larder_resume() tries again",
                      words, tag->name);
}

static void release_all(struct allocator *a, struct tag *tag)
{
    larder__assert(tag->is_paused && tag->paused_bytes == 0);
    for (struct segment *s = first_of(a, tag); s != NULL; s = next_of(tag, s)) {
        tag->paused_bytes += larder__paused_release(a, s, false);
        tag->kept_bytes += s->paused->kept.bytes;
    }
}

static larder_result tag_pause(struct allocator *a, struct tag *tag,
                               larder_pause_mode mode)
{
    bool keep = mode == LARDER_PAUSE_KEEP;
    larder_result r;

    larder__assert(allocator_is_locked(a) && !tag->is_paused);
    larder__assert(!allocator_is_capturing(a) && a->has_pages);
    larder__paused_free_stale(a, tag);
    (void)larder__private_release_cached(a, tag->pool);
    r = each(a, tag, keep ? step_make_keep : step_make_drop);
    if (r == LARDER_OK && keep)
        r = each(a, tag, step_copy_out);
    if (r != LARDER_OK) {
        free_all(a, tag);
        return r;
    }
    r = each(a, tag, larder__paused_unmap);
    if (r != LARDER_OK) {
        pause_undo(a, tag);
        return r;
    }
    tag->is_paused = true;
    tag->is_dropped = !keep;
    release_all(a, tag);
    return LARDER_OK;
}

static larder_result pause_checked(struct allocator *a, const char *name,
                                   larder_pause_mode mode)
{
    struct tag *tag;
    larder_result r = larder__tag_find(a, name, &tag);

    if (r != LARDER_OK)
        return r;
    if (mode != LARDER_PAUSE_KEEP && mode != LARDER_PAUSE_DROP)
        return larder__fail(LARDER_ERR_INVALID, "%d is not a pause mode",
                            (int)mode);
    if (tag->is_paused)
        return larder__fail(LARDER_ERR_PAUSED, "the tag '%s' is paused already",
                            name);
    r = larder__capturing_forbids(a, "memory cannot be paused or resumed");
    if (r == LARDER_OK)
        r = pause_check_pages(a, tag);
    if (r != LARDER_OK)
        return r;
    if (a->debug != NULL)
        larder__debug_sleep(a, tag->pool, mode == LARDER_PAUSE_DROP);
    if ((r = quiesce(a, tag)) != LARDER_OK)
        return r;
    return tag_pause(a, tag, mode);
}

larder_result larder_pause(larder_allocator *handle, const char *name,
                           larder_pause_mode mode)
{
    struct allocator *a;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    r = pause_checked(a, name, mode);
    larder__handle_unlock(a);
    return r;
}

/* ---- resuming ------------------------------------------------------------- */

/* Pages without a block need not be restored. */
static void drop_unmapped(const struct segment *s, const struct block *b)
{
    size_t begin = (b->addr - s->addr) / s->page_bytes;
    size_t end = begin + b->bytes / s->page_bytes;

    larder__assert(b->state == BLOCK_UNMAPPED && s->paused != NULL);
    for (size_t i = begin; i < end && i < s->paused->end; i++)
        s->paused->pages[i].state = PAGE_ABSENT;
}

/* Drop the memory of blocks that were freed during the pause.  Merging b keeps
 * the header of the next block that is not unmapped, so the walk continues
 * there. */
static larder_result forget_freed(struct allocator *a, struct segment *s)
{
    struct block *b = s->head;
    larder_result r = LARDER_OK;

    while (b != NULL && r == LARDER_OK) {
        struct block *next = slab_get(&a->slab, b->next);

        if (next != NULL && next->state == BLOCK_UNMAPPED)
            next = slab_get(&a->slab, next->next);
        if (b->state == BLOCK_FREE)
            r = larder__expandable_forget(a, b);
        b = next;
    }
    for (b = s->head; b != NULL; b = slab_get(&a->slab, b->next)) {
        if (b->state == BLOCK_UNMAPPED)
            drop_unmapped(s, b);
    }
    return r;
}

struct missing {
    size_t pages;
    uint64_t bytes;
};

static struct missing pause_count_missing(const struct allocator *a,
                                          const struct tag *tag)
{
    struct missing m = {0};

    for (struct segment *s = first_of(a, tag); s != NULL; s = next_of(tag, s)) {
        for (size_t i = 0; i < s->paused->end; i++) {
            struct paused_page *p = &s->paused->pages[i];

            p->is_new = false;
            m.pages += p->state == PAGE_GONE;
            m.bytes += p->state == PAGE_GONE ? s->page_bytes : 0;
        }
    }
    return m;
}

static larder_result pause_supply(struct allocator *a, const struct tag *tag)
{
    struct missing m = pause_count_missing(a, tag);
    const struct holding *h = &tag->pool->holding;
    larder_result r;

    if (!holding_is_within(h, m.bytes))
        return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                            "the tag '%s' may hold %llu bytes and needs %llu "
                            "to resume: raise its limit, or free some of its "
                            "allocations",
                            tag->name, (unsigned long long)h->limit_bytes,
                            (unsigned long long)(h->held_bytes + m.bytes));

    if (!larder__orphans_make_room(a, m.pages))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    (void)larder__orphans_release(a); /* may free memory */
    if (!held_allows_owner(a, h, m.bytes))
        (void)larder__release_cached(a);
    if (!held_allows_owner(a, h, m.bytes))
        return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                            "the tag '%s' needs %llu bytes to resume, more "
                            "than the limit allows",
                            tag->name, (unsigned long long)m.bytes);
    r = each(a, tag, larder__paused_create);
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    (void)larder__release_cached(a);
    return each(a, tag, larder__paused_create);
}

static void resume_undo(struct allocator *a, const struct tag *tag)
{
    char words[LARDER_FAIL_MAX];

    larder__copy_error(words, sizeof words);
    for (struct segment *s = first_of(a, tag); s != NULL; s = next_of(tag, s)) {
        larder__paused_unmap_new(a, s);
        (void)larder__paused_release(a, s, true);
    }
    larder__set_error("%s", words);
}

static void tidy(struct allocator *a, const struct tag *tag)
{
    struct segment *s = first_of(a, tag);

    while (s != NULL) {
        struct segment *next = next_of(tag, s);

        larder__expandable_tidy(a, s);
        s = next;
    }
}

static larder_result tag_resume(struct allocator *a, struct tag *tag)
{
    bool is_dropped = tag->is_dropped;
    larder_result r = each(a, tag, forget_freed);

    larder__assert(tag->is_paused && allocator_is_locked(a));
    if (r != LARDER_OK)
        return r;
    r = pause_supply(a, tag);
    if (r == LARDER_OK)
        r = each(a, tag, larder__paused_map);
    if (r == LARDER_OK)
        r = each(a, tag, step_copy_in);
    if (r != LARDER_OK) {
        resume_undo(a, tag);
        return r;
    }
    free_all(a, tag);
    tidy(a, tag);
    if (a->debug != NULL && is_dropped)
        larder__debug_wake(a, tag->pool);
    return LARDER_OK;
}

static larder_result resume_checked(struct allocator *a, const char *name)
{
    struct tag *tag;
    larder_result r = larder__tag_find(a, name, &tag);

    if (r != LARDER_OK)
        return r;
    if (!tag->is_paused)
        return larder__fail(LARDER_ERR_INVALID, "the tag '%s' is not paused",
                            name);
    r = larder__capturing_forbids(a, "memory cannot be paused or resumed");
    return r == LARDER_OK ? tag_resume(a, tag) : r;
}

/* Bytes that are missing to resume the tag; 0: its limit forbids it. */
static uint64_t resume_need(struct allocator *a, const char *name)
{
    struct tag *tag;
    uint64_t need;

    if (larder__tag_find(a, name, &tag) != LARDER_OK)
        return 0;
    need = pause_count_missing(a, tag).bytes;
    return held_allows_owner(a, &tag->pool->holding, need) ? need : 0;
}

/* Ask other processes to release cached memory. */
static bool others_help(struct allocator *a, const char *name,
                        struct peers_search *search)
{
    uint64_t need = resume_need(a, name);

    return need > 0 && larder__peers_help(a, search, need);
}

larder_result larder_resume(larder_allocator *handle, const char *name)
{
    struct peers_search search;
    struct allocator *a;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    search = larder__peers_search(a);
    r = resume_checked(a, name);
    while (r == LARDER_ERR_OUT_OF_MEMORY && others_help(a, name, &search))
        r = resume_checked(a, name);
    larder__handle_unlock(a);
    return r;
}

/* ---- cleanup -------------------------------------------------------------- */

void larder__pause_forget(struct allocator *a)
{
    for (struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->paused == NULL)
            continue;
        (void)larder__paused_release(a, s, false);
        larder__paused_free(a, s);
    }
}

void larder__pause_end(struct allocator *a)
{
    for (struct tag *tag = a->tags; tag != NULL; tag = tag->next) {
        larder__paused_free_stale(a, tag);
        while (tag->stale != NULL) { /* the device keeps what these hold */
            struct paused *p = tag->stale;

            tag->stale = p->next;
            larder__host_free(p);
        }
    }
}
