/* snap_segment.c - segments and their blocks, also as old versions write
 * them. */
#include "snapshot/snap_record.h"

/* ---- blocks and their history --------------------------------------------- */

const uint64_t snap_history_keys =
    SNAP_BIT(KEY_ADDR) | SNAP_BIT(KEY_REAL_SIZE) | SNAP_BIT(KEY_FRAMES);

uint64_t snap_history_make(const struct snap_record *r)
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

const uint64_t snap_block_keys =
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

uint64_t snap_block_make(const struct snap_record *r)
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

const uint64_t snap_segment_keys =
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

uint64_t snap_segment_make(const struct snap_record *r)
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
