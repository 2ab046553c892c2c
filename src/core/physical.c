#include "core/physical.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/held.h"
#include "core/orphan.h"
#include "core/pages.h"

/* Host memory, so that nothing done to `count` more pages needs any. */
static bool make_room(struct allocator *a, size_t count)
{
    struct loose_pages *loose = &a->loose;
    size_t need = a->page_count + count;
    struct physical *list;

    if (!larder__orphans_make_room(a, count))
        return false;
    if (need <= loose->capacity)
        return true;
    need += need / 2;
    list = larder__host_resize(loose->list, need, sizeof *list);
    if (list == NULL)
        return false;
    loose->list = list;
    loose->capacity = need;
    return true;
}

uint64_t larder__physical_most(const struct allocator *a)
{
    uint64_t most = a->props.total_bytes - a->props.context_bytes;

    if (most > a->refused_at)
        most = a->refused_at;
    return most > a->allowed_bytes ? a->allowed_bytes : most;
}

size_t larder__physical_room(const struct allocator *a)
{
    uint64_t most = larder__physical_most(a);

    return most > a->held_bytes ? (most - a->held_bytes) / PAGE_BYTES : 0;
}

larder_result larder__physical_create(struct allocator *a, size_t pages)
{
    uint64_t bytes = (uint64_t)pages * PAGE_BYTES;
    struct physical p = {.pages = pages};
    larder_result r;

    if (!make_room(a, pages))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    (void)larder__orphans_release(a); /* memory of use here */
    if (!held_allows(a, bytes))
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = larder__device_page_create(a->device, bytes, &p.handle);
    if (r != LARDER_OK)
        return r;
    a->page_count += pages;
    held_add(a, &a->pools[POOL_LARGE], bytes);
    larder__physical_loosen(a, p);
    return LARDER_OK;
}

void larder__physical_loosen(struct allocator *a, struct physical p)
{
    a->loose.list[a->loose.handles++] = p;
    a->loose.count += p.pages;
}

void larder__physical_release(struct allocator *a, size_t i)
{
    struct loose_pages *loose = &a->loose;
    struct physical p = loose->list[i];
    uint64_t bytes = (uint64_t)p.pages * PAGE_BYTES;

    loose->list[i] = loose->list[--loose->handles];
    loose->count -= p.pages;
    a->page_count -= p.pages;
    held_sub(a, &a->pools[POOL_LARGE], bytes);
    larder__orphan_give(a, (struct orphan){.page = p.handle, .bytes = bytes});
}

bool larder__physical_fit(const struct allocator *a, size_t from, size_t most,
                          size_t *out)
{
    size_t pages = 0;

    for (size_t i = from; i < a->loose.handles; i++) {
        if (a->loose.list[i].pages > most || a->loose.list[i].pages <= pages)
            continue;
        pages = a->loose.list[i].pages;
        *out = i;
    }
    return pages > 0;
}

bool larder__physical_least(const struct allocator *a, size_t from, size_t *out)
{
    size_t pages = SIZE_MAX;

    for (size_t i = from; i < a->loose.handles; i++) {
        if (a->loose.list[i].pages < pages) {
            pages = a->loose.list[i].pages;
            *out = i;
        }
    }
    return pages != SIZE_MAX;
}

void larder__physical_drop_some(struct allocator *a, size_t pages)
{
    while (pages > 0 && a->loose.handles > 0) {
        size_t before = a->loose.count;
        size_t i = a->loose.handles - 1;

        if (pages < before && !larder__physical_fit(a, 0, pages, &i))
            (void)larder__physical_least(a, 0, &i);
        larder__physical_release(a, i);
        before -= a->loose.count;
        a->pages_dropped += before;
        pages -= before < pages ? before : pages;
    }
    a->refused_at = UINT64_MAX;
}

void larder__physical_drop(struct allocator *a)
{
    larder__physical_drop_some(a, SIZE_MAX);
    a->is_tight = false;
}
