/* carry.c - moves the used pages of a handle to new handles, at the same
 * addresses and with the same contents. */
#include "core/policy_larder/carry.h"

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/segments/events.h"
#include "core/segments/segment.h"
#include "core/state/held.h"

enum { HOST_ALIGN = 4096 };

/* ---- pages in use ---------------------------------------------------------- */

static void run_add(struct carry *c, size_t page)
{
    struct carry_run *last = c->count == 0 ? NULL : &c->runs[c->count - 1];

    if (last != NULL && last->begin + last->pages == page) {
        last->pages++;
        return;
    }
    larder__assert(c->count < c->capacity);
    c->runs[c->count++] = (struct carry_run){.begin = page, .pages = 1};
}

size_t larder__carry_used(struct allocator *a, const struct block *first,
                          const struct segment *s, struct page_span handle,
                          struct carry *out)
{
    size_t count = 0;
    size_t next = handle.begin;

    larder__assert(handle.begin < handle.end);
    larder__assert(first->segment == s);
    larder__assert(first->addr <= page_at(s, handle.begin));
    for (const struct block *b = first;
         b != NULL && b->addr < page_at(s, handle.end);
         b = slab_get(&a->slab, b->next)) {
        struct page_span used = pages_touched(s, b->addr, b->bytes);

        if (used.end <= handle.begin || !block_is_in_use(b))
            continue;
        if (b->state == BLOCK_PENDING || block_is_exported(b))
            return handle.end - handle.begin;
        for (size_t i = used.begin < next ? next : used.begin;
             i < used.end && i < handle.end; i++) {
            if (out != NULL)
                run_add(out, i);
            count++;
            next = i + 1;
        }
    }
    larder__assert(count <= handle.end - handle.begin);
    return count;
}

/* ---- copying by device or host --------------------------------------------- */

static larder_result remap_by_device(struct allocator *a)
{
    larder_result r = larder__scratch_ensure(a, a->larder->carry.used);

    if (r == LARDER_OK)
        r = larder__carry_new_create(a);
    if (r == LARDER_OK)
        r = larder__scratch_copy(a, false);
    if (r == LARDER_OK)
        r = larder__carry_old_unmap(a);
    return r == LARDER_OK ? larder__carry_new_map(a) : r;
}

static larder_result remap_by_host(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    c->host = larder__host_alloc_aligned(HOST_ALIGN, pages_bytes(c->used));
    if (c->host == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__scratch_ensure(a, c->used);
    if (r == LARDER_OK)
        r = larder__carry_to_host(a);
    if (r == LARDER_OK)
        r = larder__carry_old_unmap(a);
    if (r == LARDER_OK)
        r = larder__carry_old_release(a);
    if (r == LARDER_OK)
        r = larder__carry_new_create(a);
    if (r == LARDER_OK)
        r = larder__scratch_copy(a, true);
    return r == LARDER_OK ? larder__carry_new_map(a) : r;
}

/* The device may have less room than expected.  New handles that were created
 * before it ran out are kept and used by the copy through the host. */
static larder_result remap(struct allocator *a)
{
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    if (larder__handles_room(a) >= a->larder->carry.used)
        r = remap_by_device(a);
    if (r != LARDER_ERR_OUT_OF_MEMORY || !a->larder->carry.is_mapped)
        return r;
    return remap_by_host(a);
}

/* ---- accounting ------------------------------------------------------------ */

static void recount(struct allocator *a)
{
    const struct carry *c = &a->larder->carry;
    struct segment *s = c->segment;
    const struct pool *pool = s->heap->pool;
    size_t gained = c->end - c->begin - c->used;

    larder__assert(gained > 0 && gained <= s->page_count);
    larder__assert(s->page_count <= s->heap->page_count);
    larder__assert(s->heap->page_count <= a->page_count);
    held_sub(a, pool, pages_bytes(c->end - c->begin));
    for (size_t i = 0; i < c->count; i++)
        held_add(a, pool, pages_bytes(c->runs[i].pages));
    s->page_count -= gained;
    s->heap->page_count -= gained;
    a->page_count -= gained;
    a->larder->refused_at = UINT64_MAX;
}

static void carry_publish(struct allocator *a, struct block *first)
{
    const struct carry *c = &a->larder->carry;
    struct segment *s = c->segment;
    struct page_span run = {.end = c->begin};
    struct block *b = first;

    larder__assert(c->made == c->count && c->mapped == c->count);
    larder__assert(!c->is_mapped);
    page_enter(s, (struct page_span){c->begin, c->end}, 0);
    for (size_t i = 0; i < c->count; i++) {
        const struct carry_run *r = &c->runs[i];

        page_enter(s, (struct page_span){r->begin, r->begin + r->pages},
                   r->handle);
    }
    recount(a);
    while (page_next_missing(s, c->end, &run)) {
        b = larder__pages_unmapped(a, block_over(a, b, page_at(s, run.begin)),
                                   run);
        history_range(a, LARDER_ACTION_segment_unmap, s, page_at(s, run.begin),
                      pages_bytes(run.end - run.begin));
    }
}

/* ---- completing and undoing ------------------------------------------------ */

static void carry_finish(struct allocator *a)
{
    struct carry *c = &a->larder->carry;

    a->has_withheld = c->is_at_scratch = false;
    c->made = c->mapped = 0;
    if (c->is_in_flight)
        return;
    larder__host_free(c->host);
    c->host = NULL;
}

/* The new handles are mapped: they take the old one's place. */
static void carry_complete(struct allocator *a, struct block *first)
{
    const struct carry *c = &a->larder->carry;

    carry_publish(a, first);
    if (c->handle != 0)
        larder__orphan_try_release(
            a, (struct orphan){.handle = c->handle,
                               .bytes = pages_bytes(c->end - c->begin)});
    carry_finish(a);
}

/* If a step fails the function can be called again and continues there. */
static larder_result go_back(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    r = larder__carry_new_unmap(a);
    if (r != LARDER_OK)
        return r;
    larder__carry_new_release(a);
    r = larder__carry_old_remake(a);
    if (r == LARDER_OK && c->is_blank)
        r = larder__carry_old_refill(a);
    if (r == LARDER_OK)
        r = larder__carry_old_map(a);
    if (r != LARDER_OK)
        return r;
    larder__assert(c->made == 0 && c->mapped == 0);
    larder__assert(c->is_mapped && c->is_usable && c->handle != 0);
    page_enter(c->segment, (struct page_span){c->begin, c->end}, c->handle);
    carry_finish(a);
    return LARDER_OK;
}

/* The addresses stay out of use until undoing the move succeeds.  Callers take
 * OUT_OF_MEMORY as leave to try other steps and would lose this error, so it
 * becomes ERR_DEVICE. */
static larder_result withhold(struct allocator *a, larder_result r)
{
    const struct carry *c = &a->larder->carry;
    char words[LARDER_FAIL_MAX - 256];

    larder__copy_error(words, sizeof words);
    larder__set_error("%s; undoing a move of memory failed: the %llu bytes at "
                      "0x%llx, whose contents are kept, cannot be used until a "
                      "later request maps them again",
                      words, (unsigned long long)pages_bytes(c->end - c->begin),
                      (unsigned long long)page_at(c->segment, c->begin));
    return r == LARDER_ERR_OUT_OF_MEMORY ? LARDER_ERR_DEVICE : r;
}

/* Allocate all host memory that the move needs, except for the contents. */
static bool prepare(struct allocator *a, size_t used, size_t unused)
{
    struct carry *c = &a->larder->carry;
    size_t runs = bits_lesser(used, unused + 1);
    size_t gaps = bits_lesser(used + 1, unused);
    uint32_t headers = (uint32_t)gaps * PAGES_HEADERS + SLAB_SPARE;

    if (runs > c->capacity) {
        if (!larder__host_grow(&c->runs, runs, sizeof *c->runs))
            return false;
        c->capacity = runs;
    }
    return larder__handles_make_room(a, used) &&
           larder__slab_ensure(&a->slab, headers);
}

/* The program may have written to new handles that could not be unmapped, so
 * their contents are the ones to keep: the move is completed. */
static larder_result go_on(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    if (!prepare(a, c->used, c->end - c->begin - c->used))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__carry_new_map(a);
    if (r == LARDER_OK)
        carry_complete(
            a, block_over(a, c->segment->head, page_at(c->segment, c->begin)));
    return r;
}

larder_result larder__paged_settle(struct allocator *a)
{
    larder_result r;

    if (!a->has_withheld)
        return LARDER_OK;
    r = a->larder->carry.mapped > 0 ? go_on(a) : go_back(a);
    return r == LARDER_OK ? r : withhold(a, r);
}

/* Returns r, the result of the move. */
static larder_result carry_undo(struct allocator *a, larder_result r)
{
    char words[LARDER_FAIL_MAX];
    bool is_undone;

    larder__copy_error(words, sizeof words);
    is_undone = go_back(a) == LARDER_OK;
    larder__set_error("%s", words);
    if (is_undone)
        return r;
    return withhold(a, r);
}

/* ---- migrating one handle -------------------------------------------------- */

/* No work is queued, so an earlier copy to the host has finished. */
static void carry_begin(struct allocator *a, struct segment *s,
                        struct page_span handle, size_t used)
{
    struct carry *c = &a->larder->carry;

    larder__assert(!a->has_withheld);
    larder__assert(used > 0 && used < handle.end - handle.begin);
    larder__assert(s->pages[handle.begin] != 0);
    larder__assert(s->pages[handle.end - 1] == s->pages[handle.begin]);
    c->is_in_flight = false;
    carry_finish(a);
    a->has_withheld = true;
    c->segment = s;
    c->begin = handle.begin;
    c->end = handle.end;
    c->handle = s->pages[handle.begin];
    c->is_mapped = c->is_usable = true;
    c->is_blank = false;
    c->count = 0;
    c->used = used;
}

larder_result larder__carry(struct allocator *a, struct segment *s,
                            struct page_span handle)
{
    struct carry *c = &a->larder->carry;
    struct block *first = block_over(a, s->head, page_at(s, handle.begin));
    size_t used = larder__carry_used(a, first, s, handle, NULL);
    size_t unused = handle.end - handle.begin - used;
    larder_result r;

    larder__assert(allocator_is_locked(a) && !allocator_is_capturing(a));
    larder__assert(s->kind == SEGMENT_PAGED && !segment_is_paused(s));
    if (used == 0 || unused == 0) /* nothing to gain */
        return LARDER_OK;
    if (a->orphans.count > 0 && larder__orphans_release(a) != LARDER_OK)
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    if (!prepare(a, used, unused))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    carry_begin(a, s, handle, used);
    (void)larder__carry_used(a, first, s, handle, c);
    r = remap(a);
    if (r != LARDER_OK)
        return carry_undo(a, r);
    carry_complete(a, first);
    return LARDER_OK;
}

/* ---- ending ----------------------------------------------------------------- */

/* Release the handles wherever they are mapped now. */
static void carry_release_all(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    struct orphan handle = {.handle = c->handle,
                            .bytes = pages_bytes(c->end - c->begin)};

    for (size_t i = 0; i < c->made; i++) {
        struct orphan other = {.handle = c->runs[i].handle,
                               .bytes = pages_bytes(c->runs[i].pages)};

        if (i < c->mapped)
            other.mapped_at = carry_place(c, i);
        larder__orphan_try_release(a, other);
    }
    if (c->is_mapped)
        handle.mapped_at = page_at(c->segment, c->begin);
    else if (c->is_at_scratch)
        handle.mapped_at = c->scratch;
    if (c->handle != 0)
        larder__orphan_try_release(a, handle);
}

void larder__carry_leave(struct allocator *a, struct segment *s)
{
    struct carry *c = &a->larder->carry;
    struct page_span handle = {c->begin, c->end};

    if (!a->has_withheld || c->segment != s)
        return;
    carry_release_all(a);
    page_enter(s, handle, 0);
    s->page_count -= handle.end - handle.begin;
    a->page_count -= handle.end - handle.begin;
    carry_finish(a);
}

/* A page that could not be unmapped may still occupy the scratch addresses. */
void larder__carry_tidy(struct allocator *a)
{
    const struct carry *c = &a->larder->carry;

    if (c->scratch == 0 || c->is_at_scratch)
        return;
    if (a->orphans.count > 0)
        (void)larder__orphans_release(a);
    (void)larder__scratch_free(a);
}

void larder__carry_destroy(struct allocator *a)
{
    larder__host_free(a->larder->carry.runs);
    larder__host_free(a->larder->carry.host);
}
