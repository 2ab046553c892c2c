/* shortage.c - see shortage.h.
 *
 * When the event is recorded the allocator has already released everything it
 * could to the driver (PyTorch's ladder): what is still cached is in segments
 * that are partly in use. */
#include "report/shortage.h"

#include "report/explain.h"
#include "snapshot/snapshot_conf.h"

#define PAGE_BYTES ((uint64_t)2 << 20)

const struct shortage_words shortage_words[SHORTAGE_CAUSES] = {
    [SHORTAGE_TOO_MUCH] = {.name = "not enough memory"},
    [SHORTAGE_PIECES] = {.name = "fragmentation"},
    [SHORTAGE_STREAMS] =
        {
            "free memory of another stream",
            "each stream has its own free memory.  A block of %s was free, but "
            "belongs to another stream.",
            "Allocating on the stream that owns the memory, or on fewer "
            "streams.",
            "Allocate on the stream that owns the memory, or on fewer streams: "
            "a free block of %s belonged to another stream.",
        },
    [SHORTAGE_POOLS] =
        {
            "free memory of another pool",
            "each pool has its own free memory.  A block of %s was free, but "
            "in a pool that this request may not use.",
            "Releasing the pool (a captured graph, a memory pool of the "
            "program)\n    before this request.",
            "Before this request, release the captured graph or memory pool "
            "that holds a free block of %s.",
        },
    [SHORTAGE_PENDING] =
        {
            "freed memory that waits for streams",
            "%s was freed, but recorded streams still used it.",
            "Fewer uses of record_stream, or waiting for the other stream "
            "before this request.",
            "Let the other stream catch up before this request, or use "
            "record_stream less: %s was freed, but that stream still used it.",
        },
    [SHORTAGE_LIMIT] =
        {
            "a limit of its own",
            "not for lack of memory.  The driver had %s left, which is enough: "
            "a limit of the process (set_per_process_memory_fraction) refused "
            "the request, or the driver could not find that much in one block.",
            "A higher limit, or none.",
            "Raise the process's memory limit "
            "(set_per_process_memory_fraction): the driver had %s left.",
        },
    [SHORTAGE_REFUSED] =
        {
            "a block withheld by a rule",
            "a block of %s was free, but was not used: a memory limit, or "
            "max_split_size, which keeps large blocks unsplit, prevented it.",
            "A higher limit (set_per_process_memory_fraction), or a larger "
            "max_split_size.",
            NULL,
        },
};

bool shortage_may_use(const struct shortage *s, const struct moment_area *a)
{
    if (a->stream != s->request->stream || a->pool != s->request->pool)
        return false;
    /* The kind of an expandable segment does not tell its pool. */
    return a->kind == SPAN_EXPANDABLE || s->small == (a->kind == SPAN_SMALL);
}

static void look_at_area(struct shortage *s, const struct moment_area *a)
{
    uint64_t free_bytes = moment_area_free(a);

    s->free_bytes += free_bytes;
    if (a->count == 0)
        s->whole_free += free_bytes;
    if (a->kind == SPAN_EXPANDABLE)
        s->expandable = true;
    if (shortage_may_use(s, a)) {
        s->own_free += free_bytes;
        if (a->largest_gap > s->own_largest)
            s->own_largest = a->largest_gap;
    } else if (a->stream != s->request->stream) {
        if (a->largest_gap > s->stream_largest)
            s->stream_largest = a->largest_gap;
    } else if (a->largest_gap > s->pool_largest) {
        s->pool_largest = a->largest_gap;
    }
}

static enum shortage_cause cause_of(const struct shortage *s)
{
    const struct moment *m = &s->moment;

    if (s->driver_known && s->driver_free >= s->segment_bytes)
        return SHORTAGE_LIMIT;

    if (s->own_largest >= s->asked)
        return SHORTAGE_REFUSED;
    if (s->stream_largest >= s->asked)
        return SHORTAGE_STREAMS;
    if (s->pool_largest >= s->asked)
        return SHORTAGE_POOLS;
    if (s->free_bytes + s->driver_free >= s->asked)
        return SHORTAGE_PIECES;
    if (s->free_bytes + s->driver_free + m->pending >= s->asked)
        return SHORTAGE_PENDING;
    return SHORTAGE_TOO_MUCH;
}

/* The size of a new segment is a multiple of 2 MiB. */
static uint64_t fits(const struct shortage *s)
{
    uint64_t fresh = s->driver_free / PAGE_BYTES * PAGE_BYTES;

    return fresh > s->own_largest ? fresh : s->own_largest;
}

void shortage_make(struct arena *arena, const struct lifetimes *l,
                   uint32_t event, struct shortage *out)
{
    const struct snapshot_event *e = &l->events[event];
    uint64_t page_bytes;

    *out = (struct shortage){.event = event, .request = e, .asked = e->size};
    arena_need(arena, snapshot_segment(l->snapshot, e->size,
                                       &out->segment_bytes, &page_bytes));
    moment_make(arena, l, event, &out->moment);
    out->small = page_bytes == PAGE_BYTES;
    out->expandable = l->snapshot->settings.expandable_segments;
    out->driver_known = (e->has & SNAPSHOT_HAS_ADDRESS) != 0;
    out->driver_free = out->driver_known ? e->address : 0;
    for (size_t i = 0; i < out->moment.area_count; i++)
        look_at_area(out, &out->moment.areas[i]);
    /* Memory in use in segments that were never recorded counts too. */
    out->attainable = out->moment.reserved;
    if (out->attainable < out->moment.allocated + out->moment.pending)
        out->attainable = out->moment.allocated + out->moment.pending;
    out->attainable += out->driver_free;
    out->would_fit = fits(out);
    out->cause = cause_of(out);
}

uint64_t shortage_needed(const struct shortage *s)
{
    return s->moment.allocated + s->moment.pending + s->asked;
}

uint64_t shortage_missing(const struct shortage *s)
{
    uint64_t needed = shortage_needed(s);

    return needed > s->attainable ? needed - s->attainable : s->asked;
}

static bool is_passing(const void *categories, uint32_t number)
{
    const uint8_t *category_of = categories;

    return category_of[number] == REPORT_ACTIVATIONS ||
           category_of[number] == REPORT_TEMPORARIES;
}

uint64_t shortage_passing(const struct shortage *s, const uint8_t *categories)
{
    return s->asked + moment_sum_of(&s->moment, is_passing, categories).bytes;
}

uint64_t shortage_figure(const struct shortage *s)
{
    const uint64_t figures[SHORTAGE_CAUSES] = {
        [SHORTAGE_TOO_MUCH] = shortage_missing(s),
        [SHORTAGE_PIECES] = s->free_bytes,
        [SHORTAGE_STREAMS] = s->stream_largest,
        [SHORTAGE_POOLS] = s->pool_largest,
        [SHORTAGE_PENDING] = s->moment.pending,
        [SHORTAGE_LIMIT] = s->driver_free,
        [SHORTAGE_REFUSED] = s->own_largest,
    };

    return figures[s->cause];
}

bool shortage_of_all(const struct shortage *s)
{
    return s->cause == SHORTAGE_TOO_MUCH &&
           s->moment.requested + s->moment.pending + s->asked > s->attainable;
}
