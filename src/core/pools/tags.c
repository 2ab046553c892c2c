/* tags.c - named sets of allocations (larder/tag.h). */
#include "core/pools/tags.h"

#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/entry/handle.h"
#include "core/pools/private.h"

/* Identifies the pools of tags in events and snapshots.  Users' pools may have
 * the same ids, because pools of tags are found only through their tag. */
#define TAG_POOL_FIRST UINT32_MAX

/* ---- open tags of a thread ---------------------------------------------- */

enum { FRAMES = 16 };

/* Handles are never freed, so a frame of a destroyed allocator, or of another
 * one, can be identified by its handle. */
struct frame {
    const larder_allocator *handle;
    struct tag *tag; /* valid as long as the allocator lives */
};

static _Thread_local struct frame frames[FRAMES];
static _Thread_local int depth;

static struct allocator *frame_allocator(int i)
{
    return handle_allocator(frames[i].handle);
}

/* The index of the allocator's last frame; -1: none. */
static int frame_find(const struct allocator *a)
{
    int i = depth - 1;

    while (i >= 0 && frame_allocator(i) != a)
        i--;
    return i;
}

struct private_pool *larder__tag_pool(const struct allocator *a)
{
    int i = frame_find(a);

    return i < 0 ? NULL : frames[i].tag->pool;
}

static void frame_remove(int at)
{
    larder__assert(at >= 0 && at < depth);
    depth--;
    for (int i = at; i < depth; i++)
        frames[i] = frames[i + 1];
}

/* Frames of destroyed allocators are removed when space is needed. */
static larder_result frame_add(const larder_allocator *handle, struct tag *tag)
{
    for (int i = depth; depth == FRAMES && i-- > 0;) {
        if (frame_allocator(i) == NULL)
            frame_remove(i);
    }
    if (depth == FRAMES)
        return larder__fail(LARDER_ERR_INVALID,
                            "this thread has begun %d tags, the maximum",
                            FRAMES);
    larder__assert(depth >= 0 && depth < FRAMES);
    larder__assert(tag->pool->tag == tag);
    frames[depth++] = (struct frame){.handle = handle, .tag = tag};
    return LARDER_OK;
}

/* ---- tags --------------------------------------------------------------- */

static struct tag **tag_place(struct allocator *a, const char *name)
{
    struct tag **link = &a->tags;

    while (*link != NULL && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    return link;
}

static larder_result name_check(const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);

    if (length > 0 && length <= LARDER_TAG_MAX)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_INVALID,
                        "'%.80s' is not a tag's name: expected 1 to %d bytes",
                        name == NULL ? "" : name, LARDER_TAG_MAX);
}

larder_result larder__tag_find(struct allocator *a, const char *name,
                               struct tag **out)
{
    larder_result r = name_check(name);

    if (r != LARDER_OK)
        return r;
    *out = *tag_place(a, name);
    return *out != NULL
               ? LARDER_OK
               : larder__fail(LARDER_ERR_INVALID,
                              "there is no tag '%s': it was never begun", name);
}

static struct tag *tag_make(struct allocator *a, const char *name)
{
    struct tag *tag = larder__host_alloc(1, sizeof *tag);
    uint64_t number = 1;

    if (tag == NULL)
        return NULL;
    for (const struct tag *t = a->tags; t != NULL; t = t->next)
        number++;
    tag->pool = larder__private_create(
        (larder_pool_id){.first = TAG_POOL_FIRST, .second = number});
    if (tag->pool == NULL) {
        larder__host_free(tag);
        return NULL;
    }
    strcpy(tag->name, name);
    tag->pool->tag = tag;
    tag->pool->name = tag->name;
    larder__private_append(a, tag->pool);
    larder__private_append_unused(a, tag->pool);
    return tag;
}

larder_result larder__tag_get(struct allocator *a, const char *name,
                              struct tag **out)
{
    struct tag **link;
    larder_result r = name_check(name);

    if (r != LARDER_OK)
        return r;
    link = tag_place(a, name);
    if (*link == NULL)
        *link = tag_make(a, name);
    larder__assert(*link == NULL || (*link)->pool->tag == *link);
    *out = *link;
    return *link != NULL ? LARDER_OK
                         : larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
}

larder_result larder__tag_check(const struct tag *tag)
{
    if (!tag->pool->is_paused)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_PAUSED,
                        "the tag '%s' is paused: nothing can be allocated for "
                        "it before larder_resume()",
                        tag->name);
}

uint64_t larder__tags_paused_bytes(const struct allocator *a)
{
    uint64_t bytes = 0;

    if (a->tags == NULL && a->privates.regions == 0)
        return 0;
    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next)
        bytes += p->is_paused ? p->usage.allocated_bytes : 0;
    return bytes;
}

/* The pools are destroyed with the private ones. */
void larder__tags_destroy(struct allocator *a)
{
    while (a->tags != NULL) {
        struct tag *tag = a->tags;

        a->tags = tag->next;
        larder__host_free(tag);
    }
}

/* ---- the public calls --------------------------------------------------- */

larder_result larder_tag_begin(larder_allocator *handle, const char *name)
{
    struct allocator *a;
    struct tag *tag;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__tag_get(a, name, &tag);
    if (r == LARDER_OK)
        r = frame_add(handle, tag);
    if (r == LARDER_OK)
        a->tag_frames++;
    return larder__handle_end(a, r);
}

larder_result larder_tag_end(larder_allocator *handle)
{
    struct allocator *a;
    int at;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    at = frame_find(a);
    if (at >= 0) {
        larder__assert(a->tag_frames > 0);
        frame_remove(at);
        a->tag_frames--;
    } else {
        r = larder__fail(LARDER_ERR_INVALID,
                         "this thread has begun no tag of this allocator");
    }
    return larder__handle_end(a, r);
}
