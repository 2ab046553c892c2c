/* pages.c - pages of the address ranges of the policy larder. */
#include "core/policy_larder/pages.h"

#include "core/history/recording.h"
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/state/held.h"

/* ---- counting -------------------------------------------------------------- */

void larder__pages_recount(struct allocator *a, const struct pool *from,
                           const struct pool *to, size_t pages)
{
    uint64_t bytes = pages_bytes(pages);

    held_move(a, from, to, bytes);
    if (from->stats == to->stats)
        return;
    metric_sub(&a->stats.reserved_bytes, from->stats, bytes);
    metric_add(&a->stats.reserved_bytes, to->stats, bytes);
}

/* ---- blocks ---------------------------------------------------------------- */

static void put_in(struct block *b, enum block_state state)
{
    if (state == BLOCK_UNMAPPED)
        heap_insert_unmapped(b);
    else
        heap_insert(b);
}

static void take_out(struct block *b)
{
    if (b->state == BLOCK_UNMAPPED)
        heap_remove_unmapped(b);
    else
        heap_remove(b);
}

/* Turn the part [addr, addr + bytes) of block b from free to unmapped, or from
 * unmapped to free.  Returns the block that the part ends up in. */
static struct block *turn(struct allocator *a, struct block *b,
                          larder_addr addr, uint64_t bytes)
{
    enum block_state before = b->state;
    struct merged merged = {0};
    struct block *middle = b;

    larder__assert(before == BLOCK_FREE || before == BLOCK_UNMAPPED);
    larder__assert(bytes > 0 && bytes % PAGE_BYTES == 0);
    larder__assert(addr >= b->addr && addr + bytes <= b->addr + b->bytes);
    take_out(b);
    if (addr + bytes < b->addr + b->bytes)
        put_in(larder__block_split(a, b, addr + bytes - b->addr), before);
    if (addr > b->addr) {
        middle = larder__block_split(a, b, addr - b->addr);
        put_in(b, before);
    }
    middle->state = before == BLOCK_FREE ? BLOCK_UNMAPPED : BLOCK_FREE;
    middle = larder__block_merge(a, middle, &merged);
    put_in(middle, middle->state);
    larder__assert(slab_is_linked(&a->slab, middle));
    return middle;
}

struct block *larder__pages_unmapped(struct allocator *a, struct block *b,
                                     struct page_span run)
{
    return turn(a, b, page_at(b->segment, run.begin),
                pages_bytes(run.end - run.begin));
}

struct block *larder__pages_back(struct allocator *a, struct block *b,
                                 struct page_span span)
{
    const struct segment *s = b->segment;
    larder_addr begin = page_at(s, span.begin);
    larder_addr end = page_at(s, span.end);
    struct block *first = NULL; /* later free blocks merge with it */

    while (b != NULL && b->addr < end) {
        if (b->state == BLOCK_UNMAPPED) {
            larder_addr from = b->addr > begin ? b->addr : begin;
            larder_addr to =
                b->addr + b->bytes < end ? b->addr + b->bytes : end;

            b = turn(a, b, from, to - from);
        }
        if (first == NULL && b->state == BLOCK_FREE)
            first = b;
        b = block_next(a, b);
    }
    larder__assert(first != NULL && first->state == BLOCK_FREE);
    return first;
}

/* ---- unmapping ------------------------------------------------------------- */

void larder__pages_let_go(struct allocator *a, struct segment *s,
                          struct page_span run)
{
    size_t pages = run.end - run.begin;

    larder__assert(pages <= s->page_count);
    for (size_t i = run.begin, end; i < run.end; i = end) {
        end = page_handle_end(s, i);
        larder__handles_loosen(
            a, (struct page_handle){.handle = s->pages[i], .pages = end - i});
    }
    page_enter(s, run, 0);
    s->page_count -= pages;
    s->heap->page_count -= pages;
    larder__assert(s->page_count <= s->heap->page_count);
    larder__pages_recount(a, s->heap->pool, &a->pools[POOL_LARGE], pages);
    history_range(a, LARDER_ACTION_segment_unmap, s, page_at(s, run.begin),
                  pages_bytes(pages));
}

larder_result larder__pages_unmap(struct allocator *a, struct block *b,
                                  struct page_span run)
{
    const struct segment *s = b->segment;
    larder_result r = larder__device_unmap(a->device, page_at(s, run.begin),
                                           pages_bytes(run.end - run.begin),
                                           page_count_handles(s, run));

    larder__assert(page_handle_begin(s, run.begin) == run.begin);
    larder__assert(page_handle_end(s, run.end - 1) == run.end);

    if (r != LARDER_OK)
        return r;
    larder__pages_let_go(a, b->segment, run);
    (void)larder__pages_unmapped(a, b, run);
    return LARDER_OK;
}
