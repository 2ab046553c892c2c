/* recorded_device.c - a device that returns the recorded addresses, and runs
 * out of memory where the recorded one did. */
#include "convert/recorded_device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/array_room.h"

/* More than any process could have of a card; only the addresses reserved for
 * expandable segments depend on it. */
#define TOTAL_BYTES_MAX ((uint64_t)256 << 30)

/* Any request of the large pool. */
#define LARGE_REQUEST ((uint64_t)2 << 20)
#define INVENTED_GAP ((uint64_t)1 << 40)

/* The size of the largest simulated GPU: no card has more in one segment, and
 * an allocator takes time in proportion to it. */
#define SEGMENT_BYTES_MAX ((uint64_t)16 << 40)

struct recorded_wait {
    uint64_t recorded; /* marks recorded on the stream so far */
    uint64_t completed;
};

struct recorded_mark {
    uint64_t wait; /* stream number; WAIT_NONE: complete */
    uint64_t order;
};

#define WAIT_NONE UINT64_MAX

/* ---- the recorded calls ------------------------------------------------- */

static const struct snapshot_event *at(const struct recorded_device *d,
                                       size_t place)
{
    return &d->lifetimes->events[d->sequence[place]];
}

/* The next recorded event, if it precedes the current one. */
static const struct snapshot_event *next_recorded(struct recorded_device *d)
{
    while (d->cursor < d->count && d->used[d->cursor])
        d->cursor++;
    if (d->cursor == d->count || d->sequence[d->cursor] > d->now)
        return NULL;
    return at(d, d->cursor);
}

static void use(struct recorded_device *d, size_t place)
{
    d->used[place] = 1;
    d->matched++;
}

/* Keep the first difference: recorded was the event `e`, or, if it is NULL,
 * what `instead` says. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static void
differ(struct recorded_device *d, const struct snapshot_event *e,
       const char *instead, const char *format, ...)
{
    char did[RECORDED_TEXT_MAX / 2];
    va_list list;

    if (d->difference[0] != '\0')
        return;
    d->difference_event = d->now;
    va_start(list, format);
    vsnprintf(did, sizeof did, format, list);
    va_end(list);
    if (e == NULL)
        snprintf(d->difference, sizeof d->difference,
                 "the replay %s; recorded: %s", did, instead);
    else
        snprintf(d->difference, sizeof d->difference,
                 "recorded: %s of %" PRIu64 " bytes at 0x%" PRIx64
                 "; the replay %s",
                 snapshot_action_name((enum snapshot_action)e->action), e->size,
                 e->address, did);
}

/* Whether the driver refused at this point: the next event is a release or a
 * failed request. */
static bool recorded_device_refused(struct recorded_device *d)
{
    const struct snapshot_event *e = next_recorded(d);

    return e != NULL &&
           (e->action == SNAPSHOT_SEGMENT_FREE ||
            e->action == SNAPSHOT_SEGMENT_UNMAP || e->action == SNAPSHOT_OOM);
}

void recorded_device_settle(struct recorded_device *d, uint32_t now)
{
    const struct snapshot_event *e;

    d->now = now;
    while ((e = next_recorded(d)) != NULL) {
        if (e->action != SNAPSHOT_OOM)
            differ(d, e, NULL, "did not");
        d->used[d->cursor] = 1;
    }
}

/* ---- memory ------------------------------------------------------------- */

/* The index of the first range that ends after `address`. */
static size_t live_place(const struct recorded_device *d, uint64_t address)
{
    size_t low = 0;
    size_t high = d->live_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (d->live[2 * middle + 1] > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool live_free(const struct recorded_device *d, uint64_t address,
                      uint64_t bytes)
{
    size_t place = live_place(d, address);

    return address <= UINT64_MAX - bytes && address != 0 &&
           (place == d->live_count || d->live[2 * place] >= address + bytes);
}

static bool live_add(struct recorded_device *d, uint64_t address,
                     uint64_t bytes)
{
    size_t place = live_place(d, address);

    if (!ARRAY_ROOM(d->live, d->live_capacity, 2 * d->live_count + 2))
        return false;
    memmove(&d->live[2 * place + 2], &d->live[2 * place],
            (d->live_count - place) * 2 * sizeof *d->live);
    d->live[2 * place] = address;
    d->live[2 * place + 1] = address + bytes;
    d->live_count++;
    return true;
}

static void live_remove(struct recorded_device *d, uint64_t address)
{
    size_t place = live_place(d, address);

    if (place == d->live_count || d->live[2 * place] != address)
        return;
    d->live_count--;
    memmove(&d->live[2 * place], &d->live[2 * place + 2],
            (d->live_count - place) * 2 * sizeof *d->live);
}

static uint64_t invent(struct recorded_device *d, uint64_t bytes)
{
    uint64_t address = d->invented;

    d->invented += (bytes + ((uint64_t)2 << 20)) >> 21 << 21;
    return address;
}

/* The next recorded segment of this size whose place is free. */
static bool find_later(struct recorded_device *d, uint64_t bytes,
                       uint64_t *address)
{
    for (size_t i = d->cursor; i < d->count; i++) {
        const struct snapshot_event *e = at(d, i);

        if (d->used[i] || e->action != SNAPSHOT_SEGMENT_ALLOC ||
            e->size != bytes)
            continue;
        if (!live_free(d, e->address, bytes))
            return false;
        d->used[i] = 1;
        *address = e->address;
        return true;
    }
    return false;
}

static uint64_t choose_address(struct recorded_device *d, uint64_t bytes)
{
    const struct snapshot_event *e = next_recorded(d);
    uint64_t address;

    if (e != NULL && e->action == SNAPSHOT_SEGMENT_ALLOC && e->size == bytes &&
        live_free(d, e->address, bytes)) {
        use(d, d->cursor);
        return e->address;
    }
    differ(d, e, "none", "took a segment of %" PRIu64 " bytes", bytes);
    return find_later(d, bytes, &address) ? address : invent(d, bytes);
}

static larder_result recorded_mem_alloc(void *self, uint64_t bytes,
                                        larder_addr *out)
{
    struct recorded_device *d = self;
    uint64_t address;

    if (bytes > SEGMENT_BYTES_MAX ||
        (!d->is_start && recorded_device_refused(d)))
        return LARDER_ERR_OUT_OF_MEMORY;
    address = d->is_start ? d->start_address : choose_address(d, bytes);
    if (!live_free(d, address, bytes))
        return LARDER_ERR_OUT_OF_MEMORY;
    if (!live_add(d, address, bytes))
        return LARDER_ERR_NO_HOST_MEMORY;
    d->start_address = 0;
    *out = address;
    return LARDER_OK;
}

/* The order within a run is not compared: it depends on the version. */
static bool use_in_run(struct recorded_device *d, uint64_t address)
{
    (void)next_recorded(d);
    for (size_t i = d->cursor; i < d->count && d->sequence[i] <= d->now; i++) {
        const struct snapshot_event *e = at(d, i);

        if (e->action != SNAPSHOT_SEGMENT_FREE)
            return false;
        if (!d->used[i] && e->address == address) {
            use(d, i);
            return true;
        }
    }
    return false;
}

static larder_result recorded_mem_free(void *self, larder_addr addr)
{
    struct recorded_device *d = self;

    live_remove(d, addr);
    if (!d->is_start && !use_in_run(d, addr))
        differ(d, NULL, "it was kept", "released the segment at 0x%" PRIx64,
               addr);
    return LARDER_OK;
}

static larder_result recorded_mem_info(void *self, uint64_t *free_bytes,
                                       uint64_t *total_bytes)
{
    const struct recorded_device *d = self;

    *free_bytes = 0;
    *total_bytes = d->total_bytes;
    return LARDER_OK;
}

/* ---- virtual memory ----------------------------------------------------- */

/* Ranges never overlap, whatever was recorded: the allocator relies on it. */
static larder_result recorded_reserve(void *self, uint64_t bytes,
                                      larder_addr *out)
{
    struct recorded_device *d = self;
    const struct snapshot_event *e = next_recorded(d);
    uint64_t address = d->reserve_address;

    if (!d->is_start && e != NULL && e->action == SNAPSHOT_SEGMENT_MAP)
        address = recorded_ranges_base(&d->ranges, e->address);
    if (d->is_start && !live_free(d, address, bytes))
        return LARDER_ERR_OUT_OF_MEMORY;
    if (!live_free(d, address, bytes))
        address = invent(d, bytes);
    if (!live_add(d, address, bytes))
        return LARDER_ERR_NO_HOST_MEMORY;
    *out = address;
    return LARDER_OK;
}

static larder_result recorded_address_free(void *self, larder_addr addr,
                                           uint64_t bytes)
{
    (void)bytes;
    live_remove(self, addr);
    return LARDER_OK;
}

static larder_result recorded_page_create(void *self, uint64_t bytes,
                                          uint64_t *out)
{
    struct recorded_device *d = self;

    (void)bytes;
    if (!d->is_start && recorded_device_refused(d))
        return LARDER_ERR_OUT_OF_MEMORY;
    *out = ++d->next_page;
    return LARDER_OK;
}

/* Of a page that is released, of an event that is destroyed (numbers are not
 * used again), and of a stream that is waited for. */
static larder_result recorded_nothing(void *self, uint64_t number)
{
    (void)self;
    (void)number;
    return LARDER_OK;
}

static larder_result recorded_map(void *self, larder_addr addr, uint64_t bytes,
                                  uint64_t page)
{
    (void)self;
    (void)addr;
    (void)bytes;
    (void)page;
    return LARDER_OK;
}

/* Called once for each range that was mapped. */
static larder_result recorded_set_access(void *self, larder_addr addr,
                                         uint64_t bytes)
{
    struct recorded_device *d = self;
    const struct snapshot_event *e = next_recorded(d);

    if (d->is_start)
        return LARDER_OK;
    if (e != NULL && e->action == SNAPSHOT_SEGMENT_MAP && e->address == addr &&
        e->size == bytes)
        use(d, d->cursor);
    else
        differ(d, e, "none", "mapped %" PRIu64 " bytes at 0x%" PRIx64, bytes,
               addr);
    return LARDER_OK;
}

/* A recorded unmapping covers a range; ours come page by page. */
static larder_result recorded_unmap(void *self, larder_addr addr,
                                    uint64_t bytes)
{
    struct recorded_device *d = self;

    (void)next_recorded(d);
    for (size_t i = d->cursor; i < d->count && d->sequence[i] <= d->now; i++) {
        const struct snapshot_event *e = at(d, i);

        if (d->used[i] || e->action != SNAPSHOT_SEGMENT_UNMAP ||
            addr < e->address || addr - e->address >= e->size)
            continue;
        d->unmapped[i] += bytes;
        if (d->unmapped[i] >= e->size)
            use(d, i);
        return LARDER_OK;
    }
    if (!d->is_start)
        differ(d, NULL, "they were kept",
               "unmapped %" PRIu64 " bytes at 0x%" PRIx64, bytes, addr);
    return LARDER_OK;
}

/* ---- order -------------------------------------------------------------- */

static larder_result recorded_event_create(void *self, uint64_t *out)
{
    struct recorded_device *d = self;

    if (!ARRAY_ROOM(d->marks, d->mark_capacity, d->mark_count + 1))
        return LARDER_ERR_NO_HOST_MEMORY;
    d->marks[d->mark_count].wait = WAIT_NONE;
    *out = d->mark_count++;
    return LARDER_OK;
}

static larder_result recorded_event_record(void *self, uint64_t event,
                                           larder_stream stream)
{
    struct recorded_device *d = self;
    struct recorded_mark *mark = &d->marks[event];

    mark->wait = WAIT_NONE;
    if (stream < RECORDED_WAIT || stream - RECORDED_WAIT >= d->wait_count)
        return LARDER_OK;
    mark->wait = stream - RECORDED_WAIT;
    mark->order = ++d->waits[mark->wait].recorded;
    return LARDER_OK;
}

static larder_result recorded_event_query(void *self, uint64_t event)
{
    const struct recorded_device *d = self;
    const struct recorded_mark *mark = &d->marks[event];

    if (mark->wait == WAIT_NONE ||
        d->waits[mark->wait].completed >= mark->order)
        return LARDER_OK;
    return LARDER_ERR_NOT_READY;
}

static larder_result recorded_event_sync(void *self, uint64_t event)
{
    struct recorded_device *d = self;
    const struct recorded_mark *mark = &d->marks[event];

    if (mark->wait != WAIT_NONE && d->waits[mark->wait].completed < mark->order)
        d->waits[mark->wait].completed = mark->order;
    return LARDER_OK;
}

void recorded_device_complete(struct recorded_device *d, larder_stream stream)
{
    struct recorded_wait *wait = &d->waits[stream - RECORDED_WAIT];

    wait->completed = wait->recorded;
}

/* ---- creation ----------------------------------------------------------- */

static larder_result recorded_props(void *self, larder_device_props *out)
{
    const struct recorded_device *d = self;

    out->total_bytes = d->total_bytes;
    out->granularity_bytes = (uint64_t)2 << 20;
    snprintf(out->name, sizeof out->name, "recorded");
    return LARDER_OK;
}

/* Its memory belongs to the caller. */
static void recorded_close(void *self)
{
    (void)self;
}

static const larder_device_ops recorded_ops = {
    .size = sizeof(larder_device_ops),
    .name = "recorded",
    .close = recorded_close,
    .props = recorded_props,
    .mem_alloc = recorded_mem_alloc,
    .mem_free = recorded_mem_free,
    .mem_info = recorded_mem_info,
    .address_reserve = recorded_reserve,
    .address_free = recorded_address_free,
    .page_create = recorded_page_create,
    .page_release = recorded_nothing,
    .map = recorded_map,
    .unmap = recorded_unmap,
    .set_access = recorded_set_access,
    .event_create = recorded_event_create,
    .event_destroy = recorded_nothing,
    .event_record = recorded_event_record,
    .event_query = recorded_event_query,
    .event_sync = recorded_event_sync,
    .stream_sync = recorded_nothing,
};

static bool in_sequence(const struct snapshot_event *e)
{
    return e->action == SNAPSHOT_OOM || (e->action >= SNAPSHOT_SEGMENT_ALLOC &&
                                         e->action <= SNAPSHOT_SEGMENT_UNMAP);
}

static void take_sequence(struct recorded_device *d, struct arena *arena)
{
    const struct lifetimes *l = d->lifetimes;
    size_t count = 0;

    for (uint32_t i = 0; i < l->event_count; i++)
        count += in_sequence(&l->events[i]);
    d->sequence = arena_take(arena, count, sizeof *d->sequence);
    d->used = arena_take(arena, count, 1);
    d->unmapped = arena_take(arena, count, sizeof *d->unmapped);
    for (uint32_t i = 0; i < l->event_count; i++) {
        if (in_sequence(&l->events[i]))
            d->sequence[d->count++] = i;
    }
}

static void choose_addresses(struct recorded_device *d)
{
    const struct lifetimes *l = d->lifetimes;
    uint64_t distance = recorded_ranges_distance(&d->ranges);
    uint64_t highest = 0;

    for (size_t i = 0; i < l->span_count; i++) {
        if (l->spans[i].address + l->spans[i].size > highest)
            highest = l->spans[i].address + l->spans[i].size;
    }
    d->invented = (highest + INVENTED_GAP) >> 30 << 30;
    /* Larder reserves 9/8 of it for a range. */
    d->total_bytes = l->snapshot->own.total_bytes != 0
                         ? l->snapshot->own.total_bytes
                         : TOTAL_BYTES_MAX;
    if (distance / 9 * 8 < d->total_bytes)
        d->total_bytes = distance / 9 * 8 >> 25 << 25;
}

/* Fail unless a call of the library worked. */
static void call(struct arena *arena, larder_result result)
{
    arena_check(arena, result == LARDER_OK ||
                           tool_fail(arena->error, "%s", larder_last_error()));
}

void recorded_device_open(struct recorded_device *d, struct arena *arena,
                          const struct story *story, const char *conf)
{
    uint64_t page_bytes;

    call(arena, larder_conf_segment(conf, LARGE_REQUEST, NULL, &page_bytes));
    d->lifetimes = story->lifetimes;
    d->wait_count = story->deferred_count;
    d->waits = arena_take(arena, d->wait_count, sizeof *d->waits);
    take_sequence(d, arena);
    recorded_ranges_make(arena, d->lifetimes, page_bytes, &d->ranges);
    choose_addresses(d);
    call(arena, larder_device_create(&recorded_ops, d, &d->device));
}

void recorded_device_close(struct recorded_device *d)
{
    larder_device_close(d->device);
    free(d->live);
    free(d->marks);
    memset(d, 0, sizeof *d);
}
