/* snap_segment.c - segments and their blocks, also as old versions write
 * them. */
#include "snapshot/snap_record.h"

/* ---- blocks and their history --------------------------------------------- */

const uint64_t snap_history_keys =
    SNAP_BIT(KEY_ADDR) | SNAP_BIT(KEY_REAL_SIZE) | SNAP_BIT(KEY_FRAMES);

bool snap_history_make(struct snap_record *r, uint64_t *out)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_history h = {0};

    r->what = "a history entry";
    if (!snap_take_address(r, KEY_ADDR, &h.address) ||
        !snap_take_size(r, KEY_REAL_SIZE, &h.real_size) ||
        !snap_take_stack(r, &h.stack))
        return false;
    if (s->history_count >= UINT32_MAX ||
        !snap_reserve(&b->memory, &s->histories, &b->history_capacity,
                      s->history_count + 1, sizeof h))
        return snap_no_memory(b);
    s->histories[s->history_count] = h;
    *out = s->history_count++;
    return true;
}

const uint64_t snap_block_keys =
    SNAP_BIT(KEY_ADDRESS) | SNAP_BIT(KEY_SIZE) | SNAP_BIT(KEY_REQUESTED_SIZE) |
    SNAP_BIT(KEY_STATE) | SNAP_BIT(KEY_FRAMES) | SNAP_BIT(KEY_HISTORY) |
    SNAP_BIT(KEY_USER_METADATA) | SNAP_BIT(KEY_CATEGORY);

static bool take_state(const struct snap_record *r, uint8_t *out)
{
    const struct snap_value *v = r->slot[KEY_STATE];

    if (v->kind == SNAP_STRING && v->bits >= WORD_ACTIVE_ALLOCATED &&
        v->bits <= WORD_INACTIVE)
        *out = (uint8_t)(v->bits - WORD_ACTIVE_ALLOCATED);
    else if (v->kind == SNAP_STRING && v->bits == WORD_AWAITING_FREE)
        *out = SNAPSHOT_ACTIVE_PENDING_FREE;
    else if (v->kind == SNAP_STRING)
        return snap_fail_at(r->b, v->at,
                            "\"state\" of a block is unknown; expected "
                            "active_allocated, active_pending_free or "
                            "inactive");
    else
        return snap_record_wrong(r, KEY_STATE, "a string");
    return true;
}

static uint8_t block_has(const struct snap_record *r)
{
    uint8_t has = 0;

    if (snap_record_get(r, KEY_ADDRESS) != NULL)
        has |= SNAPSHOT_HAS_ADDRESS;
    if (snap_record_get(r, KEY_FRAMES) != NULL)
        has |= SNAPSHOT_HAS_FRAMES;
    if (snap_record_get(r, KEY_HISTORY) != NULL)
        has |= SNAPSHOT_HAS_HISTORY;
    if (snap_record_get(r, KEY_USER_METADATA) != NULL ||
        snap_record_get(r, KEY_CATEGORY) != NULL)
        has |= SNAPSHOT_HAS_METADATA;
    return has;
}

static bool block_fill(const struct snap_record *r, struct snapshot_block *k)
{
    uint64_t first = 0;
    size_t count;

    k->has = block_has(r);
    if (snap_take_total(r, KEY_REQUESTED_SIZE, &k->requested_size))
        k->has |= SNAPSHOT_HAS_REQUESTED;
    if (snap_record_get(r, KEY_SIZE) == NULL)
        return snap_record_missing(r, KEY_SIZE);
    if (!snap_take_address(r, KEY_ADDRESS, &k->address) ||
        !snap_take_size(r, KEY_SIZE, &k->size) || !take_state(r, &k->state) ||
        !snap_take_stack(r, &k->stack) ||
        !snap_take_string(r, KEY_CATEGORY, &k->user_metadata) ||
        !snap_take_string(r, KEY_USER_METADATA, &k->user_metadata) ||
        !snap_take_range(r, KEY_HISTORY, SNAP_HISTORY, &first, &count))
        return false;
    k->history = (uint32_t)first;
    k->history_count = (uint32_t)count;
    if ((k->has & SNAPSHOT_HAS_FRAMES) == 0 && count > 0)
        k->stack = r->b->s->histories[first].stack;
    return true;
}

bool snap_block_make(struct snap_record *r, uint64_t *out)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_block k = {0};

    r->what = "a block";
    if (!block_fill(r, &k))
        return false;
    if (!snap_reserve(&b->memory, &s->blocks, &b->block_capacity,
                      s->block_count + 1, sizeof k))
        return snap_no_memory(b);
    s->blocks[s->block_count] = k;
    *out = s->block_count++;
    return true;
}

/* ---- segments ------------------------------------------------------------- */

const uint64_t snap_segment_keys =
    SNAP_BIT(KEY_DEVICE) | SNAP_BIT(KEY_ADDRESS) | SNAP_BIT(KEY_TOTAL_SIZE) |
    SNAP_BIT(KEY_ALLOCATED_SIZE) | SNAP_BIT(KEY_ACTIVE_SIZE) |
    SNAP_BIT(KEY_REQUESTED_SIZE) | SNAP_BIT(KEY_STREAM) |
    SNAP_BIT(KEY_SEGMENT_TYPE) | SNAP_BIT(KEY_SEGMENT_POOL_ID) |
    SNAP_BIT(KEY_IS_EXPANDABLE) | SNAP_BIT(KEY_FRAMES) | SNAP_BIT(KEY_BLOCKS) |
    SNAP_BIT(KEY_REGISTRATION_COUNTER);

static bool take_type(const struct snap_record *r, uint8_t *out)
{
    uint32_t word = WORD_EMPTY;

    if (!snap_take_string(r, KEY_SEGMENT_TYPE, &word))
        return false;
    *out = word == WORD_SMALL   ? SNAPSHOT_SMALL
           : word == WORD_LARGE ? SNAPSHOT_LARGE
                                : SNAPSHOT_TYPE_UNKNOWN;
    return true;
}

static uint8_t segment_has(const struct snap_record *r)
{
    uint8_t has = 0;

    if (snap_record_get(r, KEY_REGISTRATION_COUNTER) != NULL)
        has |= SNAPSHOT_HAS_COUNTER;
    if (snap_record_get(r, KEY_SEGMENT_POOL_ID) != NULL)
        has |= SNAPSHOT_HAS_POOL;
    if (snap_record_get(r, KEY_FRAMES) != NULL)
        has |= SNAPSHOT_HAS_FRAMES;
    if (snap_record_get(r, KEY_DEVICE) != NULL)
        has |= SNAPSHOT_HAS_DEVICE;
    if (snap_record_get(r, KEY_IS_EXPANDABLE) != NULL)
        has |= SNAPSHOT_HAS_EXPANDABLE;
    return has;
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

static bool segment_fill(const struct snap_record *r,
                         struct snapshot_segment *g)
{
    uint64_t first = 0;

    g->has = segment_has(r);
    /* The blocks say all of these. */
    (void)snap_take_total(r, KEY_ALLOCATED_SIZE, &g->allocated_size);
    (void)snap_take_total(r, KEY_ACTIVE_SIZE, &g->active_size);
    if (snap_take_total(r, KEY_REQUESTED_SIZE, &g->requested_size))
        g->has |= SNAPSHOT_HAS_REQUESTED;
    if (snap_record_get(r, KEY_ADDRESS) == NULL)
        return snap_record_missing(r, KEY_ADDRESS);
    if (snap_record_get(r, KEY_TOTAL_SIZE) == NULL)
        return snap_record_missing(r, KEY_TOTAL_SIZE);
    if (!snap_take_address(r, KEY_ADDRESS, &g->address) ||
        !snap_take_size(r, KEY_TOTAL_SIZE, &g->total_size) ||
        !snap_take_address(r, KEY_REGISTRATION_COUNTER,
                           &g->registration_counter) ||
        !snap_take_stream(r, &g->stream) || !snap_need_device(r, &g->device) ||
        !take_type(r, &g->type) ||
        !snap_take_pool(r, KEY_SEGMENT_POOL_ID, &g->pool) ||
        !snap_take_bool(r, KEY_IS_EXPANDABLE, &g->expandable) ||
        !snap_take_stack(r, &g->stack) ||
        !snap_take_range(r, KEY_BLOCKS, SNAP_BLOCK, &first, &g->block_count))
        return false;
    g->block = (size_t)first;
    return true;
}

bool snap_segment_make(struct snap_record *r, uint64_t *out)
{
    struct snap_builder *b = r->b;
    struct snapshot *s = b->s;
    struct snapshot_segment g = {0};

    r->what = "a segment";
    if (!segment_fill(r, &g))
        return false;
    segment_place_blocks(s, &g);
    if (!snap_reserve(&b->memory, &s->segments, &b->segment_capacity,
                      s->segment_count + 1, sizeof g))
        return snap_no_memory(b);
    s->segments[s->segment_count] = g;
    *out = s->segment_count++;
    return true;
}
