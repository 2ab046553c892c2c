/* reference_driver.c - how the model gets memory from the device and releases
 * it. */
#include "model/reference_state.h"

#include <assert.h>
#include <stdlib.h>

#define SMALL_PAGE (2 * REF_MIB)

/* ---- expandable segments ------------------------------------------------ */

static uint64_t page_up(const struct ref_segment *s, uint64_t addr)
{
    return s->addr + (addr - s->addr + s->page - 1) / s->page * s->page;
}

static uint64_t page_down(const struct ref_segment *s, uint64_t addr)
{
    return s->addr + (addr - s->addr) / s->page * s->page;
}

/* Map the first `bytes` of an unmapped block, which becomes free and is merged
 * with its neighbours.  False: out of memory, and nothing changed. */
static bool map_block(struct reference *r, struct ref_place *p, uint64_t bytes)
{
    struct ref_block *b = ref_at(*p);

    bytes = page_up(p->segment, b->addr + bytes) - b->addr;
    if (!ref_device_take_pages(&r->device, bytes))
        return false;
    if (bytes < b->bytes)
        ref_block_cut(*p, bytes);
    ref_at(*p)->mapped = true;
    ref_block_absorb_previous(p);
    ref_block_absorb_next(*p);
    ref_block_born(*p);
    ref_count(&r->stats.reserved_bytes, p->segment->pool, (int64_t)bytes);
    r->stats.num_device_alloc++;
    return true;
}

/* Unmap the whole pages inside a free block.  False: there are none. */
static bool unmap_block(struct reference *r, struct ref_place p)
{
    struct ref_segment *s = p.segment;
    uint64_t begin = page_up(s, ref_at(p)->addr);
    uint64_t end = page_down(s, ref_at(p)->addr + ref_at(p)->bytes);

    if (begin >= end)
        return false;
    if (begin > ref_at(p)->addr) {
        ref_block_cut(p, begin - ref_at(p)->addr);
        ref_at(p)->requested = 0;
        ref_block_born(p);
        p.index++;
    }
    if (end < ref_at(p)->addr + ref_at(p)->bytes) {
        struct ref_place after = {s, p.index + 1};

        ref_block_cut(p, end - begin);
        ref_at(after)->requested = 0;
        ref_block_born(after);
    }
    ref_at(p)->mapped = false;
    ref_block_absorb_previous(&p);
    ref_block_absorb_next(p);
    ref_device_return_pages(&r->device, end - begin);
    ref_count(&r->stats.reserved_bytes, s->pool, -(int64_t)(end - begin));
    r->stats.num_device_free++;
    return true;
}

/* Whether the idle blocks from here on have room for this much. */
static bool has_room(struct ref_place p, uint64_t bytes)
{
    uint64_t room = 0;

    while (room < bytes && p.index < p.segment->count &&
           ref_block_idle(ref_at(p))) {
        room += ref_at(p)->bytes;
        p.index++;
    }
    return room >= bytes;
}

/* The place in this segment that has room: the unmapped block with the lowest
 * address, or the free block before it. */
static bool room_in_segment(struct ref_segment *s, uint64_t bytes,
                            struct ref_place *out)
{
    for (size_t i = 0; i < s->count; i++) {
        struct ref_place p = {s, i};

        if (s->blocks[i].mapped)
            continue;
        if (i > 0 && ref_block_idle(&s->blocks[i - 1]))
            p.index--;
        if (has_room(p, bytes)) {
            *out = p;
            return true;
        }
    }
    return false;
}

static uint64_t new_page(const struct reference *r, const struct ref_request *q)
{
    return q->pool->is_small ? SMALL_PAGE : r->conf.large_segment;
}

static uint64_t new_range(const struct reference *r,
                          const struct ref_request *q)
{
    uint64_t page = new_page(r, q);
    uint64_t bytes = r->device.capacity + r->device.capacity / 8;

    return (bytes + page - 1) / page * page;
}

static struct ref_place new_expandable(struct reference *r,
                                       const struct ref_request *q)
{
    uint64_t bytes = new_range(r, q);
    uint64_t addr = ref_device_reserve(&r->device, bytes);

    return (struct ref_place){
        ref_segment_add(r, q, addr, bytes, new_page(r, q)), 0};
}

static struct ref_place find_expandable(struct reference *r,
                                        const struct ref_request *q)
{
    struct ref_place best = {NULL, 0};

    for (size_t i = 0; i < r->segment_count; i++) {
        struct ref_segment *s = r->segments[i];
        struct ref_place p;

        if (s->page == 0 || s->pool != q->pool || s->stream != q->stream)
            continue;
        if (room_in_segment(s, q->bytes, &p) &&
            (best.segment == NULL || s->addr < best.segment->addr))
            best = p;
    }
    return best.segment != NULL ? best : new_expandable(r, q);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Memory mapped before the device ran out stays, as free memory. */
static bool obtain_expandable(struct reference *r, const struct ref_request *q,
                              struct ref_place *out)
{
    struct ref_place p;

    if (q->bytes > new_range(r, q)) /* the range would be too small */
        return false;
    p = find_expandable(r, q);
    if (!ref_at(p)->mapped &&
        !map_block(r, &p, smaller(ref_at(p)->bytes, q->bytes)))
        return false;
    while (ref_at(p)->bytes < q->bytes) {
        uint64_t missing = q->bytes - ref_at(p)->bytes;

        p.index++;
        assert(p.index < p.segment->count && !ref_at(p)->mapped);
        if (!map_block(r, &p, smaller(ref_at(p)->bytes, missing)))
            return false;
    }
    *out = p;
    return true;
}

/* ---- driver allocations ------------------------------------------------- */

static bool obtain_segment(struct reference *r, const struct ref_request *q,
                           struct ref_place *out)
{
    uint64_t addr;

    if (!ref_device_alloc(&r->device, q->segment_bytes, &addr))
        return false;
    if (q->pool->private != NULL)
        q->pool->private->segments++;
    out->segment = ref_segment_add(r, q, addr, q->segment_bytes, 0);
    out->index = 0;
    ref_count(&r->stats.segment, q->pool, 1);
    ref_count(&r->stats.reserved_bytes, q->pool, (int64_t)q->segment_bytes);
    if (q->segment_bytes >= r->conf.max_split)
        ref_count_one(&r->stats.oversize_segments, 1);
    r->stats.num_device_alloc++;
    return true;
}

static void release_segment(struct reference *r, struct ref_segment *s)
{
    if (s->pool->private != NULL)
        s->pool->private->segments--;
    ref_device_release(&r->device, s->addr);
    ref_count(&r->stats.segment, s->pool, -1);
    ref_count(&r->stats.reserved_bytes, s->pool, -(int64_t)s->bytes);
    if (s->bytes >= r->conf.max_split)
        ref_count_one(&r->stats.oversize_segments, -1);
    r->stats.num_device_free++;
    ref_segment_remove(r, s);
}

/* One driver allocation, none of it in use. */
static bool releasable(const struct ref_segment *s)
{
    return s->page == 0 && !ref_segment_split(s) &&
           ref_block_free(&s->blocks[0]);
}

static uint64_t allowed_bytes(const struct reference *r)
{
    return (uint64_t)(r->conf.fraction * (double)r->device.capacity);
}

bool ref_obtain(struct reference *r, const struct ref_request *q, bool retry,
                struct ref_place *out)
{
    uint64_t held = (uint64_t)r->stats.reserved_bytes.all.current;

    if (retry)
        r->stats.num_alloc_retries++;
    if (r->conf.fraction >= 0 && held + q->segment_bytes > allowed_bytes(r))
        return false;
    if (r->conf.expandable && q->pool->private == NULL)
        return obtain_expandable(r, q, out);
    return obtain_segment(r, q, out);
}

/* ---- releasing -------------------------------------------------------- */

static uint64_t age_of(const struct ref_segment *s)
{
    return s->pool->searches - s->blocks[0].born;
}

static bool is_garbage(const struct reference *r, const struct ref_segment *s)
{
    return s->pool == &r->large && releasable(s);
}

void ref_collect_garbage(struct reference *r)
{
    uint64_t held = (uint64_t)r->stats.reserved_bytes.all.current;
    uint64_t threshold =
        (uint64_t)(r->conf.gc_threshold * (double)allowed_bytes(r));
    uint64_t reclaimed = 0;
    bool freed = true;

    while (held > threshold && reclaimed < held - threshold && freed) {
        uint64_t age_sum = 0;
        size_t count = 0;
        double average;

        for (size_t i = 0; i < r->segment_count; i++) {
            if (is_garbage(r, r->segments[i])) {
                age_sum += age_of(r->segments[i]);
                count++;
            }
        }
        if (count == 0)
            return;
        average = (double)age_sum / (double)count;
        freed = false;
        for (size_t i = r->segment_count; i-- > 0;) {
            struct ref_segment *s = r->segments[i];

            if (is_garbage(r, s) && (double)age_of(s) >= average) {
                reclaimed += s->bytes;
                freed = true;
                release_segment(r, s);
            }
        }
    }
}

/* The largest block of the pool and stream that can be freed, of these sizes. */
static struct ref_segment *largest_releasable(const struct reference *r,
                                              const struct ref_request *q,
                                              uint64_t least, uint64_t below)
{
    struct ref_segment *best = NULL;

    for (size_t i = 0; i < r->segment_count; i++) {
        struct ref_segment *s = r->segments[i];

        if (s->pool != q->pool || s->stream != q->stream || !releasable(s) ||
            s->bytes < least || s->bytes >= below)
            continue;
        if (best == NULL || s->bytes > best->bytes ||
            (s->bytes == best->bytes && s->addr > best->addr))
            best = s;
    }
    return best;
}

/* The smallest free block of at least this size that could be released so, or is
 * in pages. */
static struct ref_place smallest_of_both(struct reference *r,
                                         const struct ref_request *q,
                                         uint64_t least)
{
    struct ref_place p = ref_next_free(r, q->pool, q->stream, least, 0);

    while (p.segment != NULL && p.segment->page == 0 && !releasable(p.segment))
        p = ref_next_free(r, q->pool, q->stream, ref_at(p)->bytes,
                          ref_at(p)->addr + 1);
    return p;
}

bool ref_release_available(struct reference *r, const struct ref_request *q)
{
    uint64_t max_split = r->conf.max_split;
    uint64_t wanted = q->bytes > max_split ? q->bytes : max_split;
    uint64_t below = UINT64_MAX;
    uint64_t released = 0;
    struct ref_segment *s;
    struct ref_place p;

    if (max_split == UINT64_MAX)
        return false;
    p = smallest_of_both(r, q, wanted);
    if (p.segment != NULL && p.segment->page == 0) {
        release_segment(r, p.segment);
        return true;
    }
    if (p.segment != NULL) /* what is larger stays */
        below = ref_at(p)->bytes;
    while (released < wanted) {
        s = largest_releasable(r, q, max_split, below);
        if (s == NULL)
            return false;
        released += s->bytes;
        release_segment(r, s);
    }
    return true;
}

/* Unmap whatever is possible; an empty range is released. */
static void release_expandable(struct reference *r, struct ref_segment *s)
{
    bool unmapped = false;

    for (size_t i = 0; i < s->count; i++) {
        if (ref_block_free(&s->blocks[i]) &&
            unmap_block(r, (struct ref_place){s, i})) {
            unmapped = true;
            i = (size_t)-1; /* blocks have moved: start again */
        }
    }
    if (unmapped && !ref_segment_split(s)) {
        ref_device_unreserve(&r->device, s->addr);
        ref_segment_remove(r, s);
    }
}

static void release_pool(struct reference *r, const struct ref_pool *pool)
{
    for (size_t i = r->segment_count; i-- > 0;) {
        struct ref_segment *s = r->segments[i];

        if (s->pool != pool)
            continue;
        if (s->page != 0)
            release_expandable(r, s);
        else if (releasable(s))
            release_segment(r, s);
    }
}

void ref_release_cached(struct reference *r)
{
    ref_synchronize_events(r);
    release_pool(r, &r->large);
    release_pool(r, &r->small);
    for (size_t i = r->private_count; i-- > 0;) {
        struct ref_private *private = r->privates[i];

        if (private->users > 0)
            continue;
        release_pool(r, &private->small);
        release_pool(r, &private->large);
        if (private->segments == 0) {
            r->privates[i] = r->privates[--r->private_count];
            free(private);
        }
    }
}
