/* made_device.c - a small caching allocator that records what it does. */
#include "support/made_device.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

enum { SEGMENTS_MAX = 512, BLOCKS_MAX = 1 << 13 };

enum made_state { MADE_FREE, MADE_LIVE, MADE_PENDING };

/* Blocks of a segment are a list by address. */
struct made_block {
    uint64_t address;
    uint64_t size;
    uint64_t requested;
    enum made_state state;
    json_t *frames; /* of a live or pending one, owned */
    const char *note;
    size_t next; /* 0: the last one */
    size_t segment;
};

struct made_segment {
    uint64_t address;
    uint64_t size;
    unsigned stream;
    unsigned pool;
    bool small;
    bool gone;
    json_t *frames; /* owned */
    size_t first;   /* block */
};

struct made_device {
    struct made_style style;
    unsigned number;
    struct made_segment segments[SEGMENTS_MAX];
    size_t segment_count;
    struct made_block blocks[BLOCKS_MAX]; /* [0] is none */
    size_t block_count;
    uint64_t next_address;
    uint64_t allocated;
    uint64_t peak;
    int64_t time_us;
    json_t *events;
};

static const json_int_t streams[] = {0, 94352109572096, 7};
static const json_int_t pools[][2] = {{0, 0}, {0, 3}, {2, 0}};

struct made_device *made_device_new(const struct made_style *style,
                                    unsigned number)
{
    struct made_device *d = calloc(1, sizeof *d);

    if (d == NULL)
        abort();
    d->style = *style;
    d->number = number;
    d->block_count = 1;
    d->next_address = ((uint64_t)number + 1) << 36;
    d->time_us = (style->counted ? 0 : INT64_C(1750000000000000)) + number;
    d->events = json_array();
    return d;
}

void made_device_free(struct made_device *d)
{
    for (size_t i = 0; i < d->segment_count; i++)
        json_decref(d->segments[i].frames);
    for (size_t i = 0; i < d->block_count; i++)
        json_decref(d->blocks[i].frames);
    json_decref(d->events);
    free(d);
}

/* ---- events ---------------------------------------------------------------- */

static void put_note(const struct made_device *d, json_t *o, const char *note)
{
    if (d->style.release >= MADE_2_6)
        json_object_set_new(o, d->style.category ? "category" : "user_metadata",
                            json_string(note != NULL ? note : ""));
}

static json_t *pool_of(unsigned pool)
{
    return json_pack("[I, I]", pools[pool][0], pools[pool][1]);
}

static void record(struct made_device *d, const char *action, uint64_t address,
                   const struct made_request *r)
{
    bool oom = strcmp(action, "oom") == 0;
    json_t *e =
        json_pack("{s:s, s:I, s:I, s:I}", "action", action,
                  oom ? "device_free" : "addr", (json_int_t)address, "size",
                  (json_int_t)r->bytes, "stream", streams[r->stream]);

    if (oom && address == MADE_UNTOLD)
        json_object_del(e, "device_free");
    if (d->style.release >= MADE_2_10 && d->style.release != MADE_2_11) {
        json_object_set_new(e, "device", json_integer(d->number));
        json_object_set_new(e, "pool_id", pool_of(r->pool));
    }
    if (d->style.tick_us > 0 && d->style.release >= MADE_2_4)
        json_object_set_new(e, "time_us", json_integer(d->time_us));
    d->time_us += d->style.tick_us;
    if (d->style.release >= MADE_2_6) {
        json_object_set_new(e, "compile_context", json_string("N/A"));
        put_note(d, e, r->note);
    }
    if (r->frames != NULL)
        json_object_set(e, "frames", r->frames);
    json_array_append_new(d->events, e);
}

/* ---- segments -------------------------------------------------------------- */

static uint64_t round_up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

static size_t block_new(struct made_device *d, struct made_block block)
{
    if (d->block_count == BLOCKS_MAX)
        abort();
    d->blocks[d->block_count] = block;
    return d->block_count++;
}

static struct made_segment *segment_new(struct made_device *d, uint64_t size,
                                        const struct made_request *r)
{
    struct made_segment *g = &d->segments[d->segment_count];

    if (d->segment_count == SEGMENTS_MAX)
        abort();
    g->small = size <= MIB;
    g->size = g->small          ? 2 * MIB
              : size < 10 * MIB ? 20 * MIB
                                : round_up(size, 2 * MIB);
    g->address = d->next_address;
    g->stream = r->stream;
    g->pool = r->pool;
    g->frames = json_incref(r->frames);
    /* The next part of an expandable segment may lie at once behind it. */
    d->next_address +=
        g->size + (d->style.expandable && d->segment_count % 3 != 0 ? 0 : MIB);
    g->first = block_new(d, (struct made_block){.address = g->address,
                                                .size = g->size,
                                                .segment = d->segment_count});
    d->segment_count++;
    record(
        d, d->style.expandable ? "segment_map" : "segment_alloc", g->address,
        &(struct made_request){g->size, r->stream, r->pool, r->frames, NULL});
    return g;
}

/* The smallest free block that is large enough; 0: none. */
static size_t best_fit(const struct made_device *d, uint64_t size,
                       const struct made_request *r)
{
    size_t best = 0;

    for (size_t i = 0; i < d->segment_count; i++) {
        const struct made_segment *g = &d->segments[i];

        if (g->gone || g->stream != r->stream || g->pool != r->pool ||
            g->small != (size <= MIB))
            continue;
        for (size_t b = g->first; b != 0; b = d->blocks[b].next) {
            if (d->blocks[b].state == MADE_FREE && d->blocks[b].size >= size &&
                (best == 0 || d->blocks[b].size < d->blocks[best].size))
                best = b;
        }
    }
    return best;
}

static void split(struct made_device *d, size_t b, uint64_t size)
{
    struct made_block *block = &d->blocks[b];
    uint64_t rest = block->size - size;
    size_t behind;

    if (rest < (d->segments[block->segment].small ? 512 : MIB))
        return;
    behind = block_new(d, (struct made_block){.address = block->address + size,
                                              .size = rest,
                                              .next = block->next,
                                              .segment = block->segment});
    block->size = size;
    block->next = behind;
}

/* ---- allocations ----------------------------------------------------------- */

size_t made_alloc(struct made_device *d, const struct made_request *r)
{
    uint64_t size = r->bytes < 512 ? 512 : round_up(r->bytes, 512);
    size_t b = best_fit(d, size, r);
    struct made_block *block;

    if (b == 0)
        b = segment_new(d, size, r)->first;
    split(d, b, size);
    block = &d->blocks[b];
    block->state = MADE_LIVE;
    block->requested = r->bytes;
    block->frames = json_incref(r->frames);
    block->note = r->note;
    d->allocated += block->size;
    d->peak = d->allocated > d->peak ? d->allocated : d->peak;
    record(d, "alloc", block->address, r);
    return b;
}

static void record_free(struct made_device *d, const char *action, size_t b,
                        json_t *frames)
{
    const struct made_block *block = &d->blocks[b];
    const struct made_segment *g = &d->segments[block->segment];

    record(d, action, block->address,
           &(struct made_request){block->requested, g->stream, g->pool, frames,
                                  block->note});
}

void made_request_free(struct made_device *d, size_t number, json_t *frames)
{
    record_free(d, "free_requested", number, frames);
    d->blocks[number].state = MADE_PENDING;
    d->allocated -= d->blocks[number].size;
}

static void merge(struct made_device *d, size_t b)
{
    struct made_block *block = &d->blocks[b];
    struct made_block *next = &d->blocks[block->next];

    if (block->next == 0 || next->state != MADE_FREE)
        return;
    block->size += next->size;
    block->next = next->next;
}

void made_complete(struct made_device *d, size_t number, json_t *frames)
{
    struct made_block *block = &d->blocks[number];

    record_free(d, "free_completed", number, frames);
    block->state = MADE_FREE;
    json_decref(block->frames);
    block->frames = NULL;
    block->note = NULL;
    merge(d, number);
    for (size_t b = d->segments[block->segment].first; b != 0;
         b = d->blocks[b].next) {
        if (d->blocks[b].next == number && d->blocks[b].state == MADE_FREE)
            merge(d, b);
    }
}

void made_free(struct made_device *d, size_t number, json_t *frames)
{
    made_request_free(d, number, frames);
    made_complete(d, number, frames);
}

void made_fail(struct made_device *d, const struct made_request *r,
               uint64_t driver_free)
{
    record(d, "oom", driver_free, r);
}

void made_empty_cache(struct made_device *d, json_t *frames)
{
    for (size_t i = 0; i < d->segment_count; i++) {
        struct made_segment *g = &d->segments[i];
        const struct made_block *block = &d->blocks[g->first];

        if (g->gone || block->state != MADE_FREE || block->next != 0)
            continue;
        g->gone = true;
        record(
            d, d->style.expandable ? "segment_unmap" : "segment_free",
            g->address,
            &(struct made_request){g->size, g->stream, g->pool, frames, NULL});
    }
}

/* ---- what there is --------------------------------------------------------- */

uint64_t made_allocated(const struct made_device *d)
{
    return d->allocated;
}

uint64_t made_peak(const struct made_device *d)
{
    return d->peak;
}

size_t made_event_count(const struct made_device *d)
{
    return json_array_size(d->events);
}

int64_t made_time(const struct made_device *d)
{
    return d->time_us;
}

json_t *made_trace(const struct made_device *d, size_t first)
{
    json_t *trace = json_array();

    for (size_t i = first; i < json_array_size(d->events); i++)
        json_array_append(trace, json_array_get(d->events, i));
    return trace;
}

static json_t *block_json(const struct made_device *d,
                          const struct made_block *block)
{
    static const char *const states[] = {"inactive", "active_allocated",
                                         "active_pending_free"};
    bool awaiting = block->state == MADE_PENDING && d->style.awaiting;
    bool used = block->state != MADE_FREE;
    json_t *o = json_object();

    if (d->style.release > MADE_2_0)
        json_object_set_new(o, "address",
                            json_integer((json_int_t)block->address));
    json_object_set_new(o, "size", json_integer((json_int_t)block->size));
    json_object_set_new(o, "requested_size",
                        json_integer(used ? (json_int_t)block->requested : 0));
    json_object_set_new(
        o, "state",
        json_string(awaiting ? "active_awaiting_free" : states[block->state]));
    if (d->style.release == MADE_2_0 && used)
        json_object_set_new(o, "history",
                            json_pack("[{s:I, s:I, s:O}]", "addr",
                                      (json_int_t)block->address, "real_size",
                                      (json_int_t)block->requested, "frames",
                                      block->frames));
    if (d->style.release == MADE_2_0)
        return o;
    if (used)
        put_note(d, o, block->note);
    json_object_set_new(o, "frames",
                        used ? json_incref(block->frames) : json_array());
    return o;
}

static json_t *segment_json(const struct made_device *d,
                            const struct made_segment *g)
{
    json_t *blocks = json_array();
    uint64_t used[3] = {0};
    uint64_t requested = 0;
    json_t *o;

    for (size_t b = g->first; b != 0; b = d->blocks[b].next) {
        used[d->blocks[b].state] += d->blocks[b].size;
        requested +=
            d->blocks[b].state == MADE_LIVE ? d->blocks[b].requested : 0;
        json_array_append_new(blocks, block_json(d, &d->blocks[b]));
    }
    o = json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "device", (int)d->number,
        "address", (json_int_t)g->address, "total_size", (json_int_t)g->size,
        "allocated_size", (json_int_t)used[MADE_LIVE], "active_size",
        (json_int_t)(used[MADE_LIVE] + used[MADE_PENDING]), "requested_size",
        (json_int_t)requested, "stream", streams[g->stream], "segment_type",
        g->small ? "small" : "large");
    if (d->style.release > MADE_2_0) {
        json_object_set_new(o, "segment_pool_id", pool_of(g->pool));
        json_object_set_new(o, "is_expandable",
                            json_boolean(d->style.expandable));
        json_object_set(o, "frames", g->frames);
    }
    if (d->style.release >= MADE_2_11)
        json_object_set_new(o, "registration_counter", json_integer(-1));
    json_object_set_new(o, "blocks", blocks);
    return o;
}

json_t *made_segments(const struct made_device *d)
{
    json_t *segments = json_array();

    for (size_t i = 0; i < d->segment_count; i++) {
        if (!d->segments[i].gone)
            json_array_append_new(segments, segment_json(d, &d->segments[i]));
    }
    return segments;
}
