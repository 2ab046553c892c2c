/* lifetimes.c - processes the events of one device. */
#include "snapshot/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/address_map.h"
#include "snapshot/spans.h"
#include "trace/array_room.h"

struct walk {
    struct lifetimes *out;
    struct arena arena;         /* to fail, and for what is temporary */
    size_t capacity;            /* of out->allocs */
    struct address_map alive;   /* address -> allocation */
    struct address_map waiting; /* freed, not yet reusable */
    struct span_set spans;
};

/* ---- allocations -------------------------------------------------------- */

static struct lifetime *append(struct walk *w)
{
    struct lifetimes *l = w->out;
    struct lifetime *made;

    arena_need(&w->arena,
               ARRAY_ROOM(l->allocs, w->capacity, l->alloc_count + 1));
    made = &l->allocs[l->alloc_count++];
    memset(made, 0, sizeof(*made));
    made->end = l->event_count;
    made->done = l->event_count;
    return made;
}

static struct lifetime *append_from(struct walk *w,
                                    const struct snapshot_event *e,
                                    uint32_t start)
{
    struct lifetime *made = append(w);

    made->address = e->address;
    made->requested = e->size;
    made->rounded = lifetimes_round(&w->out->snapshot->settings, e->size);
    made->start = start;
    made->stack = start == LIFETIME_BEFORE ? 0 : e->stack;
    made->stream = e->stream;
    made->pool = e->pool;
    made->user_metadata = e->user_metadata;
    return made;
}

static void put(struct walk *w, struct address_map *map,
                const struct lifetime *a)
{
    arena_need(&w->arena, address_map_put(map, a->address,
                                          (uint32_t)(a - w->out->allocs)));
}

static void on_alloc(struct walk *w, const struct snapshot_event *e,
                     uint32_t event)
{
    uint32_t old = address_map_take(&w->alive, e->address);

    if (old != ADDRESS_MAP_NONE) {
        w->out->allocs[old].end = event;
        w->out->allocs[old].done = event;
        w->out->overwritten++;
    }
    put(w, &w->alive, append_from(w, e, event));
}

/* The allocation that an event ends: one whose allocation was recorded, or one
 * from before the recording. */
static struct lifetime *ended_by(struct walk *w, struct address_map *map,
                                 const struct snapshot_event *e)
{
    uint32_t number = address_map_take(map, e->address);

    return number != ADDRESS_MAP_NONE ? &w->out->allocs[number]
                                      : append_from(w, e, LIFETIME_BEFORE);
}

static void on_free_requested(struct walk *w, const struct snapshot_event *e,
                              uint32_t event)
{
    struct lifetime *ended;

    if (address_map_get(&w->alive, e->address) == ADDRESS_MAP_NONE &&
        address_map_get(&w->waiting, e->address) != ADDRESS_MAP_NONE) {
        w->out->unmatched++;
        return;
    }
    ended = ended_by(w, &w->alive, e);
    ended->end = event;
    put(w, &w->waiting, ended);
}

static void on_free_completed(struct walk *w, const struct snapshot_event *e,
                              uint32_t event)
{
    struct lifetime *ended = ended_by(w, &w->waiting, e);

    /* Freed before the recording, and pending since then. */
    if (ended->start == LIFETIME_BEFORE && ended->end == w->out->event_count)
        ended->end = LIFETIME_BEFORE;
    ended->done = event;
}

/* ---- segments ------------------------------------------------------------ */

static struct segment_span span_of(const struct walk *w,
                                   const struct snapshot_event *e,
                                   uint32_t start)
{
    struct segment_span span = {
        .address = e->address,
        .size = e->size,
        .start = start,
        .end = w->out->event_count,
        .stack = start == LIFETIME_BEFORE ? 0 : e->stack,
        .stream = e->stream,
        .pool = e->pool,
        .kind = SPAN_LARGE,
    };

    if (e->action == SNAPSHOT_SEGMENT_MAP ||
        e->action == SNAPSHOT_SEGMENT_UNMAP)
        span.kind = SPAN_EXPANDABLE;
    else if (e->size <= ((uint64_t)2 << 20))
        span.kind = SPAN_SMALL;
    return span;
}

static void on_segment(struct walk *w, const struct snapshot_event *e,
                       uint32_t event)
{
    bool begins = e->action == SNAPSHOT_SEGMENT_ALLOC ||
                  e->action == SNAPSHOT_SEGMENT_MAP;
    struct segment_span span = span_of(w, e, begins ? event : LIFETIME_BEFORE);

    if (begins)
        span_set_add(&w->spans, &span);
    else
        span_set_remove(&w->spans, &span, event);
}

/* ---- walking the events ---------------------------------------------------- */

static void on_event(struct walk *w, const struct snapshot_event *e,
                     uint32_t event)
{
    if (e->action == SNAPSHOT_ALLOC)
        on_alloc(w, e, event);
    else if (e->action == SNAPSHOT_FREE_REQUESTED)
        on_free_requested(w, e, event);
    else if (e->action == SNAPSHOT_FREE_COMPLETED)
        on_free_completed(w, e, event);
    else if (e->action >= SNAPSHOT_SEGMENT_ALLOC &&
             e->action <= SNAPSHOT_SEGMENT_UNMAP)
        on_segment(w, e, event);
}

/* A block of the final state completes what is known of its allocation; without
 * one, it has existed since before the recording. */
static void add_final_block(struct walk *w, const struct snapshot_segment *seg,
                            const struct snapshot_block *block)
{
    bool pending = block->state == SNAPSHOT_ACTIVE_PENDING_FREE;
    struct address_map *map = pending ? &w->waiting : &w->alive;
    uint32_t number = address_map_get(map, block->address);
    struct lifetime *a;

    if (number != ADDRESS_MAP_NONE) {
        w->out->allocs[number].rounded = block->size;
        return;
    }
    a = append(w);
    a->address = block->address;
    a->requested = (block->has & SNAPSHOT_HAS_REQUESTED) != 0
                       ? block->requested_size
                       : block->size;
    a->rounded = block->size;
    a->start = LIFETIME_BEFORE;
    if (pending)
        a->end = LIFETIME_BEFORE;
    a->stack = block->stack;
    a->stream = seg->stream;
    a->pool = seg->pool;
    a->user_metadata = block->user_metadata;
    put(w, map, a);
}

static uint8_t kind_of(const struct snapshot_segment *seg)
{
    if (seg->expandable)
        return SPAN_EXPANDABLE;
    return seg->type == SNAPSHOT_SMALL ? SPAN_SMALL : SPAN_LARGE;
}

/* The type of segments created during the recording, and before 2.6 their pool,
 * are known only from the final state. */
static void correct_kinds(struct walk *w, const struct snapshot_segment *seg)
{
    struct segment_span *span;

    if (seg->type == SNAPSHOT_TYPE_UNKNOWN || seg->expandable)
        return;
    span = span_set_at(&w->spans, seg->address);
    if (span == NULL)
        return;
    span->kind = kind_of(seg);
    span->pool = seg->pool;
}

static void add_final_segment(struct walk *w,
                              const struct snapshot_segment *seg)
{
    struct segment_span span = {
        .address = seg->address,
        .size = seg->total_size,
        .start = LIFETIME_BEFORE,
        .end = w->out->event_count,
        .stack = seg->stack,
        .stream = seg->stream,
        .pool = seg->pool,
        .kind = kind_of(seg),
    };

    span_set_fill(&w->spans, &span);
    for (size_t i = 0; i < seg->block_count; i++) {
        const struct snapshot_block *block =
            &w->out->snapshot->blocks[seg->block + i];

        if (block->state != SNAPSHOT_INACTIVE)
            add_final_block(w, seg, block);
    }
}

/* Allocations from before the recording come first.  The others are in order
 * already and are moved up in place, the last one first, because there may be
 * millions. */
static void put_in_order(struct walk *w)
{
    struct lifetimes *l = w->out;
    struct lifetime *before;
    size_t to = l->alloc_count;
    size_t left;

    for (size_t i = 0; i < l->alloc_count; i++)
        l->before_count += l->allocs[i].start == LIFETIME_BEFORE;
    if (l->before_count == 0)
        return;
    before = arena_take(&w->arena, l->before_count, sizeof(*before));
    left = l->before_count;
    for (size_t i = l->alloc_count; i-- > 0;) {
        if (l->allocs[i].start == LIFETIME_BEFORE)
            before[--left] = l->allocs[i];
        else
            l->allocs[--to] = l->allocs[i];
    }
    memcpy(l->allocs, before, l->before_count * sizeof(*before));
}

static bool walk_all(struct walk *w)
{
    const struct snapshot *s = w->out->snapshot;

    if (setjmp(w->arena.failed) != 0)
        return arena_end(&w->arena, false);
    for (uint32_t i = 0; i < w->out->event_count; i++)
        on_event(w, &w->out->events[i], i);
    for (size_t i = 0; i < s->segment_count; i++) {
        if (s->segments[i].device == w->out->device)
            add_final_segment(w, &s->segments[i]);
    }
    put_in_order(w);
    for (size_t i = 0; i < s->segment_count; i++) {
        if (s->segments[i].device == w->out->device)
            correct_kinds(w, &s->segments[i]);
    }
    return arena_end(&w->arena, true);
}

/* ---- public functions ------------------------------------------------------ */

size_t lifetimes_device_count(const struct snapshot *s)
{
    size_t count = s->device_count;

    for (size_t i = 0; i < s->segment_count; i++) {
        if (s->segments[i].device >= count)
            count = (size_t)s->segments[i].device + 1;
    }
    return count;
}

bool lifetimes_make(const struct snapshot *s, size_t device,
                    struct lifetimes *out, struct tool_error *error)
{
    struct walk w = {
        .out = out,
        .arena = {.error = error,
                  .words = "not enough host memory for the lifetimes"},
        .spans = {.arena = &w.arena, .out = out},
    };
    bool ok;

    memset(out, 0, sizeof(*out));
    out->snapshot = s;
    out->device = device;
    if (device < s->device_count && s->devices[device].count > 0) {
        if (s->devices[device].count >= UINT32_MAX)
            return tool_fail(error, "device %zu has more than 2^32 events",
                             device);
        out->events = s->events + s->devices[device].first;
        out->event_count = (uint32_t)s->devices[device].count;
    }
    ok = walk_all(&w);
    address_map_free(&w.alive);
    address_map_free(&w.waiting);
    span_set_free(&w.spans);
    if (!ok)
        lifetimes_free(out);
    return ok;
}

void lifetimes_free(struct lifetimes *l)
{
    free(l->allocs);
    free(l->spans);
    memset(l, 0, sizeof(*l));
}

static void end_lifetimes(void *lifetimes)
{
    lifetimes_free(lifetimes);
}

const struct lifetimes *lifetimes_take(struct arena *arena,
                                       const struct snapshot *s, size_t device)
{
    struct lifetimes *l = arena_take_with(arena, sizeof *l, end_lifetimes);

    arena_check(arena, lifetimes_make(s, device, l, arena->error));
    return l;
}

static int64_t divisions_for(const struct snapshot_settings *settings,
                             uint64_t bytes)
{
    int64_t divisions = 0;

    for (size_t i = 0; i < settings->roundup_count; i++) {
        if (i == 0 || bytes >= settings->roundup[i].size_mib << 20)
            divisions = settings->roundup[i].divisions;
    }
    return divisions;
}

uint64_t lifetimes_round(const struct snapshot_settings *settings,
                         uint64_t bytes)
{
    int64_t divisions = divisions_for(settings, bytes);
    uint64_t step = 512;

    if (bytes > UINT64_MAX / 4)
        return bytes;
    if (bytes < 512)
        return 512;
    if (divisions > 1 && bytes > 512 * (uint64_t)divisions) {
        uint64_t power = 512;

        while (power <= bytes / 2)
            power *= 2;
        step = power / (uint64_t)divisions;
        if (step < 512)
            step = 512;
    }
    return (bytes + step - 1) / step * step;
}

static void add_range(uint64_t *values, const struct lifetimes *l,
                      uint32_t start, uint32_t end, uint64_t bytes)
{
    /* BEFORE + 1 is 0: present from the first state on. */
    values[(uint32_t)(start + 1)] += bytes;
    if (end < l->event_count)
        values[end + 1] -= bytes;
}

void lifetimes_curve(const struct lifetimes *l, enum lifetime_curve which,
                     uint64_t *values)
{
    uint64_t sum = 0;

    memset(values, 0, ((size_t)l->event_count + 1) * sizeof(*values));
    for (size_t i = 0; which != CURVE_RESERVED && i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        if (a->end != LIFETIME_BEFORE)
            add_range(values, l, a->start, a->end,
                      which == CURVE_REQUESTED ? a->requested : a->rounded);
    }
    for (size_t i = 0; which == CURVE_RESERVED && i < l->span_count; i++) {
        const struct segment_span *s = &l->spans[i];

        add_range(values, l, s->start, s->end, s->size);
    }
    for (size_t i = 0; i <= l->event_count; i++) {
        sum += values[i];
        values[i] = sum;
    }
}

uint64_t lifetimes_peak(struct arena *arena, const struct lifetimes *l,
                        enum lifetime_curve which, uint32_t *state)
{
    const struct arena_piece *last = arena->last;
    uint64_t *values =
        arena_take(arena, (size_t)l->event_count + 1, sizeof *values);
    uint64_t bytes;

    lifetimes_curve(l, which, values);
    *state = 0;
    for (uint32_t i = 1; i <= l->event_count; i++)
        *state = values[i] > values[*state] ? i : *state;
    bytes = values[*state];
    arena_free_since(arena, last);
    return bytes;
}

struct placed {
    uint64_t address;
    uint32_t number;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

void lifetimes_by_address(struct arena *arena, const struct lifetimes *l,
                          uint32_t *numbers, size_t count)
{
    const struct arena_piece *last = arena->last;
    struct placed *placed = arena_take(arena, count, sizeof *placed);

    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){l->allocs[numbers[i]].address, numbers[i]};
    qsort(placed, count, sizeof *placed, by_place);
    for (size_t i = 0; i < count; i++)
        numbers[i] = placed[i].number;
    arena_free_since(arena, last);
}

uint32_t lifetimes_event_at(const struct lifetimes *l, int64_t time_us)
{
    uint32_t low = 0;
    uint32_t high = l->event_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->events[middle].time_us < time_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t lifetimes_failure(const struct lifetimes *l, uint32_t before)
{
    while (before > 0 && l->events[before - 1].action != SNAPSHOT_OOM)
        before--;
    return before > 0 ? before - 1 : UINT32_MAX;
}
