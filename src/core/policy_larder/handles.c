/* handles.c - creates, keeps and releases the handles of the policy larder. */
#include "core/policy_larder/pages.h"

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/peers/draw.h"
#include "core/segments/segment.h"
#include "core/state/held.h"

/* ---- capacity and sizes ---------------------------------------------------- */

/* Bytes that the default pools may hold: bounded by the limit, the device's
 * size and its last refusal, less what is owed to other owners. */
static uint64_t handles_capacity(const struct allocator *a)
{
    uint64_t bytes = a->props.total_bytes - a->props.context_bytes;
    uint64_t owed =
        account_owed_to_others(&a->account, account_drawer(&a->account));

    if (bytes > a->larder->refused_at)
        bytes = a->larder->refused_at;
    bytes = bits_lesser(bytes, a->allowed_bytes);
    return owed < bytes ? bytes - owed : 0;
}

/* How much of `bytes` lies beyond `limit`. */
static uint64_t beyond(uint64_t bytes, uint64_t limit)
{
    return bytes > limit ? bytes - limit : 0;
}

size_t larder__handles_room(const struct allocator *a)
{
    const struct holding *owner = account_drawer(&a->account);
    uint64_t bytes = beyond(handles_capacity(a), a->held_bytes);

    if (owner->limit_bytes != 0)
        bytes =
            bits_lesser(bytes, beyond(owner->limit_bytes, owner->held_bytes));
    return bytes / PAGE_BYTES;
}

size_t larder__handles_excess(const struct allocator *a)
{
    const struct holding *owner = account_drawer(&a->account);
    uint64_t bytes = beyond(a->held_bytes, handles_capacity(a));
    uint64_t own = owner->limit_bytes == 0
                       ? 0
                       : beyond(owner->held_bytes, owner->limit_bytes);

    return ((own > bytes ? own : bytes) + PAGE_BYTES - 1) / PAGE_BYTES;
}

enum { HANDLE_PART = 400 };

size_t larder__handles_pages_max(const struct allocator *a)
{
    uint64_t segment = segment_page_size(&a->conf, false) / PAGE_BYTES;
    uint64_t part = handles_capacity(a) / PAGE_BYTES / HANDLE_PART;
    uint64_t pages = segment + segment / 4;

    if (a->conf.handle_mib != 0)
        pages = a->conf.handle_mib * LARDER_MIB / PAGE_BYTES;
    else if (part > pages)
        pages = part;
    return pages > 0 ? (size_t)pages : 1;
}

/* ---- creating handles ------------------------------------------------------ */

bool larder__handles_make_room(struct allocator *a, size_t count)
{
    struct larder *l = a->larder;
    size_t need = a->page_count + count;

    if (!larder__orphans_make_room(a, count))
        return false;
    if (need <= l->capacity)
        return true;
    need += need / 2;
    if (!larder__host_grow(&l->loose.list, need, sizeof *l->loose.list) ||
        !larder__host_grow(&l->spots.list, need, sizeof *l->spots.list))
        return false;
    l->capacity = need;
    return true;
}

larder_result larder__handles_create(struct allocator *a, size_t pages)
{
    uint64_t bytes = pages_bytes(pages);
    struct page_handle p = {.pages = pages};
    larder_result r;

    if (!larder__handles_make_room(a, pages))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    (void)larder__orphans_release(a); /* an orphan may free room */
    if (!held_allows(a, bytes))
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = larder__draw_handle(a, bytes, &p.handle);
    if (r != LARDER_OK)
        return r;
    larder__assert(p.handle != 0 && pages > 0);
    a->page_count += pages;
    held_add(a, &a->pools[POOL_LARGE], bytes);
    larder__handles_loosen(a, p);
    return LARDER_OK;
}

/* ---- loose handles --------------------------------------------------------- */

void larder__handles_loosen(struct allocator *a, struct page_handle p)
{
    struct loose *loose = &a->larder->loose;

    larder__assert(p.handle != 0 && p.pages > 0);
    larder__assert(loose->handles < a->larder->capacity);
    loose->list[loose->handles++] = p;
    loose->pages += p.pages;
    larder__assert(loose->pages <= a->page_count);
    larder__assert(loose->handles <= loose->pages);
}

uint64_t larder__handles_take(struct allocator *a, size_t i)
{
    struct loose *loose = &a->larder->loose;
    struct page_handle p = loose->list[i];
    uint64_t bytes = pages_bytes(p.pages);

    larder__assert(i < loose->handles && p.pages <= loose->pages);
    larder__assert(loose->pages <= a->page_count);
    loose->list[i] = loose->list[--loose->handles];
    loose->pages -= p.pages;
    a->page_count -= p.pages;
    held_sub(a, &a->pools[POOL_LARGE], bytes);
    return p.handle;
}

void larder__handles_release(struct allocator *a, size_t i)
{
    uint64_t bytes = pages_bytes(a->larder->loose.list[i].pages);

    larder__orphan_try_release(
        a,
        (struct orphan){.handle = larder__handles_take(a, i), .bytes = bytes});
}

bool larder__handles_fit(const struct allocator *a, size_t from, size_t max,
                         size_t *out)
{
    const struct loose *loose = &a->larder->loose;
    size_t pages = 0;

    for (size_t i = from; i < loose->handles && pages < max; i++) {
        if (loose->list[i].pages > max || loose->list[i].pages <= pages)
            continue;
        pages = loose->list[i].pages;
        *out = i;
    }
    larder__assert(pages == 0 || (*out >= from && pages <= max));
    return pages > 0;
}

bool larder__handles_smallest(const struct allocator *a, size_t from,
                              size_t *out)
{
    const struct loose *loose = &a->larder->loose;
    size_t pages = SIZE_MAX;

    for (size_t i = from; i < loose->handles; i++) {
        if (loose->list[i].pages < pages) {
            pages = loose->list[i].pages;
            *out = i;
        }
    }
    return pages != SIZE_MAX;
}

void larder__handles_drop(struct allocator *a, size_t pages)
{
    struct loose *loose = &a->larder->loose;

    while (pages > 0 && loose->handles > 0) {
        size_t before = loose->pages;
        size_t i = loose->handles - 1;

        if (pages < before && !larder__handles_fit(a, 0, pages, &i))
            (void)larder__handles_smallest(a, 0, &i);
        larder__handles_release(a, i);
        pages -= bits_lesser(pages, before - loose->pages);
    }
    a->larder->refused_at = UINT64_MAX;
}

void larder__handles_keep(struct allocator *a, size_t pages)
{
    if (a->larder->loose.pages > pages)
        larder__handles_drop(a, a->larder->loose.pages - pages);
}
