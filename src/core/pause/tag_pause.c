/* tag_pause.c - releases the memory of a tag's allocations, and maps it again. */
#include "core/pause/pause.h"

#include "base/fail.h"
#include "core/debug/debug.h"
#include "core/entry/handle.h"
#include "core/pools/tags.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"

/* ---- preconditions -------------------------------------------------------- */

static larder_result pause_check_pages(const struct allocator *a,
                                       const struct tag *tag)
{
    if (!a->has_pages)
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "device '%s' has no virtual memory: released "
                            "memory could not be mapped at its addresses again",
                            larder_device_name(a->device));
    for (const struct segment *s = tag->pool->segments; s != NULL;
         s = s->pool_next) {
        if (s->kind != SEGMENT_EXPANDABLE)
            return larder__fail(LARDER_ERR_UNSUPPORTED,
                                "the memory of tag '%s' does not lie in pages "
                                "under this policy",
                                tag->name);
    }
    return LARDER_OK;
}

/* ---- pausing -------------------------------------------------------------- */

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
    if (tag->pool->is_paused)
        return larder__fail(LARDER_ERR_PAUSED, "the tag '%s' is paused already",
                            name);
    r = larder__capturing_forbids(a, "memory cannot be paused or resumed");
    if (r == LARDER_OK)
        r = pause_check_pages(a, tag);
    if (r != LARDER_OK)
        return r;
    if (a->debug != NULL)
        larder__debug_pause(a, tag->pool, mode == LARDER_PAUSE_DROP);
    r = larder__pause_settle(a, tag->pool);
    if (r != LARDER_OK)
        return r;
    (void)larder__private_release_cached(a, tag->pool);
    r = larder__pause_begin(a, tag->pool, mode == LARDER_PAUSE_KEEP);
    tag->is_dropped = r == LARDER_OK && mode == LARDER_PAUSE_DROP;
    return r;
}

larder_result larder_pause(larder_allocator *handle, const char *name,
                           larder_pause_mode mode)
{
    struct allocator *a;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, pause_checked(a, name, mode));
}

/* ---- resuming ------------------------------------------------------------- */

/* What is cached is released only if there is no room otherwise. */
static larder_result fill(struct allocator *a, struct segment *s,
                          struct page_span span)
{
    larder_result r = larder__expandable_fill(a, s, span);

    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    (void)larder__release_cached(a);
    return larder__expandable_fill(a, s, span);
}

larder_result larder_resume(larder_allocator *handle, const char *name)
{
    struct allocator *a;
    struct tag *tag;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    r = larder__tag_find(a, name, &tag);
    if (r == LARDER_OK)
        r = larder__pause_resume(a, tag->pool, fill);
    if (r == LARDER_OK && a->debug != NULL && tag->is_dropped)
        larder__debug_resume(a, tag->pool);
    return larder__handle_end(a, r);
}
