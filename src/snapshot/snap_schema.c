/* snap_schema.c - recognises dicts by their keys, and makes records of them; of
 * segments and their blocks also as old versions write them. */
#include "snapshot/snap_record.h"
#include "snapshot/snap_rest.h"

/* ---- frames --------------------------------------------------------------- */

static const uint64_t frame_keys =
    SNAP_BIT(KEY_FILENAME) | SNAP_BIT(KEY_LINE) | SNAP_BIT(KEY_NAME) |
    SNAP_BIT(KEY_FX_NODE_OP) | SNAP_BIT(KEY_FX_NODE_NAME) |
    SNAP_BIT(KEY_FX_ORIGINAL_TRACE);

/* 0 if it is unknown: Python writes -1 or None, frames of C++ may have anything
 * that was in memory. */
static uint32_t line_of(const struct snap_record *r)
{
    const struct snap_value *v = snap_record_get(r, KEY_LINE);

    return v != NULL && v->kind == SNAP_INT && v->bits <= UINT32_MAX
               ? (uint32_t)v->bits
               : 0;
}

static uint64_t frame_make(const struct snap_record *r)
{
    struct snapshot_frame f = {.rest = r->rest, .line = line_of(r)};

    snap_take_string(r, KEY_FILENAME, &f.filename);
    snap_take_string(r, KEY_NAME, &f.name);
    snap_take_string(r, KEY_FX_NODE_OP, &f.fx_node_op);
    snap_take_string(r, KEY_FX_NODE_NAME, &f.fx_node_name);
    snap_take_string(r, KEY_FX_ORIGINAL_TRACE, &f.fx_original_trace);
    return snap_intern_frame(r->b, &f);
}

/* ---- events --------------------------------------------------------------- */

static const uint64_t event_keys =
    SNAP_BIT(KEY_ACTION) | SNAP_BIT(KEY_ADDR) | SNAP_BIT(KEY_DEVICE_FREE) |
    SNAP_BIT(KEY_SIZE) | SNAP_BIT(KEY_STREAM) | SNAP_BIT(KEY_TIME_US) |
    SNAP_BIT(KEY_FRAMES) | SNAP_BIT(KEY_DEVICE) | SNAP_BIT(KEY_POOL_ID) |
    SNAP_BIT(KEY_SEGMENT_POOL_ID) | SNAP_BIT(KEY_CATEGORY) |
    SNAP_BIT(KEY_USER_METADATA) | SNAP_BIT(KEY_COMPILE_CONTEXT);

/* An action unknown to this version gets a number of its own. */
static size_t other_action(struct snap_builder *b, const struct snap_value *v)
{
    struct snapshot *s = b->s;
    size_t n = 0;

    while (n < s->other_action_count && s->other_actions[n].name != v->bits)
        n++;
    if (SNAPSHOT_OTHER + n > SNAPSHOT_ACTION_MAX)
        snap_fail_at(b, v->at,
                     "more than %zu kinds of actions; expected alloc, "
                     "free_requested, free_completed and their like",
                     n);
    if (n == s->other_action_count)
        SNAP_ADD(b, s->other_actions, s->other_action_count,
                 b->other_action_capacity,
                 (struct snapshot_unknown){.name = (uint32_t)v->bits});
    s->other_actions[n].count++;
    return n;
}

static uint8_t take_action(const struct snap_record *r)
{
    const struct snap_value *v = r->slot[KEY_ACTION];

    if (v->kind != SNAP_STRING)
        snap_record_wrong(r, KEY_ACTION, "a string");
    if (v->bits >= WORD_ALLOC && v->bits <= WORD_OOM)
        return (uint8_t)(v->bits - WORD_ALLOC);
    return (uint8_t)(SNAPSHOT_OTHER + other_action(r->b, v));
}

static uint64_t event_make(const struct snap_record *r)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_event e = {0};

    e.has =
        snap_record_has(r, SNAP_BIT(KEY_ADDR) | SNAP_BIT(KEY_DEVICE_FREE),
                        SNAPSHOT_HAS_ADDRESS) |
        snap_record_has(r,
                        SNAP_BIT(KEY_POOL_ID) | SNAP_BIT(KEY_SEGMENT_POOL_ID),
                        SNAPSHOT_HAS_POOL) |
        snap_record_has(r, SNAP_BIT(KEY_FRAMES), SNAPSHOT_HAS_FRAMES) |
        snap_record_has(r, SNAP_BIT(KEY_COMPILE_CONTEXT),
                        SNAPSHOT_HAS_CONTEXT) |
        snap_record_has(r, SNAP_BIT(KEY_USER_METADATA) | SNAP_BIT(KEY_CATEGORY),
                        SNAPSHOT_HAS_METADATA);
    if (snap_take_time(r, &e.time_us))
        e.has |= SNAPSHOT_HAS_TIME;
    /* The list that the event is in says it too. */
    if (snap_take_device(r, &e.device))
        e.has |= SNAPSHOT_HAS_DEVICE;
    e.action = take_action(r);
    snap_take_address(r, KEY_DEVICE_FREE, &e.address);
    snap_take_address(r, KEY_ADDR, &e.address);
    snap_take_size(r, KEY_SIZE, &e.size);
    snap_take_stream(r, &e.stream);
    snap_take_stack(r, &e.stack);
    snap_take_pool(r, KEY_SEGMENT_POOL_ID, &e.pool);
    snap_take_pool(r, KEY_POOL_ID, &e.pool);
    snap_take_string(r, KEY_CATEGORY, &e.user_metadata);
    snap_take_string(r, KEY_USER_METADATA, &e.user_metadata);
    snap_take_string(r, KEY_COMPILE_CONTEXT, &e.compile_context);
    return SNAP_ADD(b, s->events, s->event_count, b->event_capacity, e);
}

/* ---- blocks and their history --------------------------------------------- */

static const uint64_t history_keys =
    SNAP_BIT(KEY_ADDR) | SNAP_BIT(KEY_REAL_SIZE) | SNAP_BIT(KEY_FRAMES);

static uint64_t history_make(const struct snap_record *r)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_history h = {0};

    snap_take_address(r, KEY_ADDR, &h.address);
    snap_take_size(r, KEY_REAL_SIZE, &h.real_size);
    snap_take_stack(r, &h.stack);
    if (s->history_count >= UINT32_MAX)
        snap_no_memory(b);
    return SNAP_ADD(b, s->histories, s->history_count, b->history_capacity, h);
}

static const uint64_t block_keys =
    SNAP_BIT(KEY_ADDRESS) | SNAP_BIT(KEY_SIZE) | SNAP_BIT(KEY_REQUESTED_SIZE) |
    SNAP_BIT(KEY_STATE) | SNAP_BIT(KEY_FRAMES) | SNAP_BIT(KEY_HISTORY) |
    SNAP_BIT(KEY_USER_METADATA) | SNAP_BIT(KEY_CATEGORY);

static uint8_t take_state(const struct snap_record *r)
{
    const struct snap_value *v = r->slot[KEY_STATE];

    if (v->kind != SNAP_STRING)
        snap_record_wrong(r, KEY_STATE, "a string");
    if (v->bits >= WORD_ACTIVE_ALLOCATED && v->bits <= WORD_INACTIVE)
        return (uint8_t)(v->bits - WORD_ACTIVE_ALLOCATED);
    if (v->bits != WORD_AWAITING_FREE)
        snap_fail_at(r->b, v->at,
                     "\"state\" of a block is unknown; expected "
                     "active_allocated, active_pending_free or inactive");
    return SNAPSHOT_ACTIVE_PENDING_FREE;
}

static uint64_t block_make(const struct snap_record *r)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_block k = {0};
    uint64_t first = 0;
    size_t count;

    k.has =
        snap_record_has(r, SNAP_BIT(KEY_ADDRESS), SNAPSHOT_HAS_ADDRESS) |
        snap_record_has(r, SNAP_BIT(KEY_FRAMES), SNAPSHOT_HAS_FRAMES) |
        snap_record_has(r, SNAP_BIT(KEY_HISTORY), SNAPSHOT_HAS_HISTORY) |
        snap_record_has(r, SNAP_BIT(KEY_USER_METADATA) | SNAP_BIT(KEY_CATEGORY),
                        SNAPSHOT_HAS_METADATA);
    if (snap_take_total(r, KEY_REQUESTED_SIZE, &k.requested_size))
        k.has |= SNAPSHOT_HAS_REQUESTED;
    snap_record_need(r, KEY_SIZE);
    snap_take_address(r, KEY_ADDRESS, &k.address);
    snap_take_size(r, KEY_SIZE, &k.size);
    k.state = take_state(r);
    snap_take_stack(r, &k.stack);
    snap_take_string(r, KEY_CATEGORY, &k.user_metadata);
    snap_take_string(r, KEY_USER_METADATA, &k.user_metadata);
    snap_take_range(r, KEY_HISTORY, SNAP_HISTORY, &first, &count);
    k.history = (uint32_t)first;
    k.history_count = (uint32_t)count;
    if ((k.has & SNAPSHOT_HAS_FRAMES) == 0 && count > 0)
        k.stack = s->histories[first].stack;
    return SNAP_ADD(b, s->blocks, s->block_count, b->block_capacity, k);
}

/* ---- segments ------------------------------------------------------------- */

static const uint64_t segment_keys =
    SNAP_BIT(KEY_DEVICE) | SNAP_BIT(KEY_ADDRESS) | SNAP_BIT(KEY_TOTAL_SIZE) |
    SNAP_BIT(KEY_ALLOCATED_SIZE) | SNAP_BIT(KEY_ACTIVE_SIZE) |
    SNAP_BIT(KEY_REQUESTED_SIZE) | SNAP_BIT(KEY_STREAM) |
    SNAP_BIT(KEY_SEGMENT_TYPE) | SNAP_BIT(KEY_SEGMENT_POOL_ID) |
    SNAP_BIT(KEY_IS_EXPANDABLE) | SNAP_BIT(KEY_FRAMES) | SNAP_BIT(KEY_BLOCKS) |
    SNAP_BIT(KEY_REGISTRATION_COUNTER);

static uint8_t take_type(const struct snap_record *r)
{
    uint32_t word = WORD_EMPTY;

    snap_take_string(r, KEY_SEGMENT_TYPE, &word);
    if (word == WORD_SMALL)
        return SNAPSHOT_SMALL;
    return word == WORD_LARGE ? SNAPSHOT_LARGE : SNAPSHOT_TYPE_UNKNOWN;
}

/* Blocks of old versions have no address: they are adjacent. */
static void segment_place_blocks(struct snapshot *s,
                                 const struct snapshot_segment *g)
{
    uint64_t address = g->address;

    for (size_t i = g->block; i < g->block + g->block_count; i++) {
        if ((s->blocks[i].has & SNAPSHOT_HAS_ADDRESS) == 0)
            s->blocks[i].address = address;
        address += s->blocks[i].size;
    }
}

static uint64_t segment_make(const struct snap_record *r)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_segment g = {0};
    uint64_t first = 0;

    g.has =
        snap_record_has(r, SNAP_BIT(KEY_REGISTRATION_COUNTER),
                        SNAPSHOT_HAS_COUNTER) |
        snap_record_has(r, SNAP_BIT(KEY_SEGMENT_POOL_ID), SNAPSHOT_HAS_POOL) |
        snap_record_has(r, SNAP_BIT(KEY_FRAMES), SNAPSHOT_HAS_FRAMES) |
        snap_record_has(r, SNAP_BIT(KEY_DEVICE), SNAPSHOT_HAS_DEVICE) |
        snap_record_has(r, SNAP_BIT(KEY_IS_EXPANDABLE),
                        SNAPSHOT_HAS_EXPANDABLE);
    /* The blocks say all of these. */
    (void)snap_take_total(r, KEY_ALLOCATED_SIZE, &g.allocated_size);
    (void)snap_take_total(r, KEY_ACTIVE_SIZE, &g.active_size);
    if (snap_take_total(r, KEY_REQUESTED_SIZE, &g.requested_size))
        g.has |= SNAPSHOT_HAS_REQUESTED;
    snap_record_need(r, KEY_ADDRESS);
    snap_record_need(r, KEY_TOTAL_SIZE);
    snap_take_address(r, KEY_ADDRESS, &g.address);
    snap_take_size(r, KEY_TOTAL_SIZE, &g.total_size);
    snap_take_address(r, KEY_REGISTRATION_COUNTER, &g.registration_counter);
    snap_take_stream(r, &g.stream);
    snap_need_device(r, &g.device);
    g.type = take_type(r);
    snap_take_pool(r, KEY_SEGMENT_POOL_ID, &g.pool);
    snap_take_bool(r, KEY_IS_EXPANDABLE, &g.expandable);
    snap_take_stack(r, &g.stack);
    snap_take_range(r, KEY_BLOCKS, SNAP_BLOCK, &first, &g.block_count);
    g.block = (size_t)first;
    segment_place_blocks(s, &g);
    return SNAP_ADD(b, s->segments, s->segment_count, b->segment_capacity, g);
}

/* ---- annotations ---------------------------------------------------------- */

static const uint64_t annotation_keys =
    SNAP_BIT(KEY_STAGE) | SNAP_BIT(KEY_NAME) | SNAP_BIT(KEY_DEVICE) |
    SNAP_BIT(KEY_TIME_US);

static uint64_t annotation_make(const struct snap_record *r)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_annotation a = {0};

    snap_take_string(r, KEY_STAGE, &a.stage);
    snap_take_string(r, KEY_NAME, &a.name);
    snap_need_device(r, &a.device);
    (void)snap_take_time(r, &a.time_us);
    return SNAP_ADD(b, s->annotations, s->annotation_count,
                    b->annotation_capacity, a);
}

/* ---- classifying an object ------------------------------------------------ */

static void record_index(struct snap_record *r, const struct snap_value *pairs,
                         size_t count)
{
    uint64_t mask = 0;
    uint64_t none = 0;
    bool others = false;

    for (size_t i = 0; i < count; i += 2) {
        if (pairs[i].kind == SNAP_STRING &&
            pairs[i].bits < SNAP_RECORD_KEY_END) {
            uint64_t bit = SNAP_BIT(pairs[i].bits);

            r->slot[pairs[i].bits] = &pairs[i + 1];
            mask |= bit;
            none = pairs[i + 1].kind == SNAP_NULL ? none | bit : none & ~bit;
        } else {
            others = true;
        }
    }
    r->mask = mask;
    r->present = mask & ~none;
    r->others = others;
}

/* In this order: the first kind whose key is present. */
static const struct kind {
    uint64_t told_by;
    const uint64_t *keys;
    uint64_t (*make)(const struct snap_record *r);
    const char *name;
    enum snap_kind kind;
    enum snapshot_record record; /* SNAPSHOT_RECORDS: stored elsewhere */
} kinds[] = {
    {SNAP_BIT(KEY_ACTION), &event_keys, event_make, "an event", SNAP_EVENT,
     SNAPSHOT_OF_EVENT},
    {SNAP_BIT(KEY_FILENAME), &frame_keys, frame_make, "a frame", SNAP_FRAME,
     SNAPSHOT_RECORDS},
    {SNAP_BIT(KEY_STATE), &block_keys, block_make, "a block", SNAP_BLOCK,
     SNAPSHOT_OF_BLOCK},
    {SNAP_BIT(KEY_BLOCKS) | SNAP_BIT(KEY_TOTAL_SIZE), &segment_keys,
     segment_make, "a segment", SNAP_SEGMENT, SNAPSHOT_OF_SEGMENT},
    {SNAP_BIT(KEY_REAL_SIZE), &history_keys, history_make, "a history entry",
     SNAP_HISTORY, SNAPSHOT_OF_HISTORY},
    {SNAP_BIT(KEY_STAGE), &annotation_keys, annotation_make, "an annotation",
     SNAP_ANNOTATION, SNAPSHOT_OF_ANNOTATION},
};

/* Count and keep the keys that the record has no field for. */
static void take_unknown(struct snap_record *r, uint64_t known,
                         const struct snap_value *pairs, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        uint32_t key = pairs[i].kind == SNAP_STRING ? (uint32_t)pairs[i].bits
                                                    : (uint32_t)WORD_EMPTY;

        if (key < SNAP_RECORD_KEY_END && (known & SNAP_BIT(key)) != 0)
            continue;
        snap_intern_unknown(r->b, key);
        snap_rest_add(r->b, SNAP_REST_RECORD, &pairs[i], &pairs[i + 1]);
    }
    r->rest = snap_rest_end(r->b);
}

/* Free the lists that the record has taken, or has no field for. */
static void free_values(struct snap_builder *b, const struct snap_value *pairs,
                        size_t count)
{
    const struct snap_value opaque = {.kind = SNAP_OPAQUE};

    for (size_t i = 1; i < count; i += 2) {
        if (pairs[i].kind == SNAP_OBJECT)
            snap_object_free(b, &pairs[i], &opaque);
    }
}

void snap_record_make(struct snap_builder *b, const struct snap_value *pairs,
                      size_t count, struct snap_value *out)
{
    const struct kind *k = kinds;
    const struct kind *end = kinds + sizeof kinds / sizeof *kinds;
    struct snap_record r;

    r.b = b;
    r.rest = 0;
    record_index(&r, pairs, count);
    while (k < end && (r.mask & k->told_by) == 0)
        k++;
    if (k == end)
        return;
    r.what = k->name;
    if (r.others || (r.mask & ~*k->keys) != 0)
        take_unknown(&r, *k->keys, pairs, count);
    out->bits = k->make(&r);
    if (k->record < SNAPSHOT_RECORDS)
        snap_rest_of_record(b, k->record, out->bits, r.rest);
    free_values(b, pairs, count);
    out->kind = (uint8_t)k->kind;
}
