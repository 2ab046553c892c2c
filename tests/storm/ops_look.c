/* ops_look.c - calls that change nothing, and calls that are refused. */
#include "storm/storm.h"

void op_statistics(struct worker *me)
{
    larder_allocator *a = me->w->a;
    static _Thread_local char table[16384];
    larder_stats st;
    size_t needed = 0;
    uint64_t largest = 0;

    larder_stats_init(&st);
    if (CALL(me, 0, larder_stats_get(a, &st)) == LARDER_OK &&
        (st.allocation.all.current < 0 ||
         (st.allocated_bytes.all.current > st.reserved_bytes.all.current &&
          !plan_has(&me->w->plan, GROUP_tag) && /* asleep, they hold none */
          !plan_has(&me->w->plan, GROUP_region)) ||
         st.reserved_bytes.all.current > st.reserved_bytes.all.peak))
        storm_fail("statistics: %lld live, %lld of %lld bytes, peak %lld",
                   (long long)st.allocation.all.current,
                   (long long)st.allocated_bytes.all.current,
                   (long long)st.reserved_bytes.all.current,
                   (long long)st.reserved_bytes.all.peak);
    CALL(me, 0,
         larder_memory_summary(a, (int)draw(me, 2), table, sizeof table,
                               &needed));
    CALL(me, 0, larder_largest_cached(a, &largest));
    if (chance(me, 3))
        CALL(me, 0, larder_stats_reset_peak(a));
    if (chance(me, 3))
        CALL(me, 0, larder_stats_reset_accumulated(a));
}

static void add_line(void *ctx, const larder_account_line *line)
{
    uint64_t *held = ctx;

    if (line->kind != LARDER_OWNER_PINNED)
        *held += line->held_bytes;
    if (larder_owner_name(line->kind)[0] == '?')
        storm_fail("an owner has no name");
}

void op_account(struct worker *me)
{
    uint64_t held = 0;

    if (CALL(me, 0, larder_account(me->w->a, add_line, &held)) == LARDER_OK &&
        held != me->w->plan.device_bytes)
        storm_fail("the account adds up to %llu of %llu bytes",
                   (unsigned long long)held,
                   (unsigned long long)me->w->plan.device_bytes);
}

struct total {
    uint64_t segments;
    uint64_t blocks;
};

static int add_segment(void *ctx, const larder_segment_info *segment)
{
    struct total *total = ctx;

    total->segments += segment->bytes;
    return 0;
}

static int add_block(void *ctx, const larder_segment_info *segment,
                     const larder_block_info *block)
{
    struct total *total = ctx;

    (void)segment;
    total->blocks += block->bytes;
    return 0;
}

void op_walk(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PLAIN);
    struct total total = {0, 0};
    larder_addr base = 0;
    uint64_t bytes = 0;

    if (CALL(me, 0, larder_walk(me->w->a, add_segment, add_block, &total)) ==
            LARDER_OK &&
        total.segments != total.blocks)
        storm_fail("segments of %llu bytes have blocks of %llu",
                   (unsigned long long)total.segments,
                   (unsigned long long)total.blocks);
    if (b != NULL &&
        CALL(me, MAY(UNSUPPORTED),
             larder_base_allocation(me->w->a, b->addr, &base, &bytes)) ==
            LARDER_OK &&
        (base > b->addr || base + bytes < b->addr + b->bytes))
        storm_fail("0x%llx is not in its own segment",
                   (unsigned long long)b->addr);
}

void op_device_look(struct worker *me)
{
    larder_device *dev = me->w->dev;
    larder_device_counters counters = {.size = sizeof counters};
    larder_device_props props = {.size = sizeof props};
    larder_sim_usage use = {.size = sizeof use};
    larder_prices prices;
    larder_addr first = 0, second = 0;
    uint64_t event = 0, unused = 0, total = 0;

    larder_prices_init(&prices);
    CALL(me, 0, larder_device_set_prices(dev, &prices));
    CALL(me, 0, larder_device_get_counters(dev, &counters));
    if (chance(me, 8))
        CALL(me, 0, larder_device_reset_counters(dev));
    CALL(me, 0, larder_device_get_props(dev, &props));
    CALL(me, 0, larder_sim_regions(dev, &first, &second));
    if (CALL(me, 0, larder_device_mem_info(dev, &unused, &total)) ==
            LARDER_OK &&
        (unused > total || total != me->w->plan.device_bytes))
        storm_fail("%llu of %llu bytes are free", (unsigned long long)unused,
                   (unsigned long long)total);
    if (CALL(me, 0, larder_sim_get_usage(dev, &use)) == LARDER_OK &&
        use.used_bytes > use.capacity_bytes)
        storm_fail("the device has more than it has room for");
    if (me->w->captured >= 0 ||
        CALL(me, 0, larder_device_event_create(dev, &event)) != LARDER_OK)
        return;
    CALL(me, 0, larder_device_event_record(dev, event, draw_stream(me)));
    CALL(me, MAY(NOT_READY), larder_device_event_query(dev, event));
    CALL(me, 0, larder_device_event_sync(dev, event));
    while (larder_device_event_destroy(dev, event) != LARDER_OK)
        ;
}

/* Names and numbers. */
void op_words(struct worker *me)
{
    larder_policy policy = LARDER_POLICY_DEFAULT;
    const char *words = NULL, *restored = NULL;
    uint64_t bytes = 0;

    if (larder_policy_parse(larder_policy_name(me->w->plan.policy), &policy) !=
            LARDER_OK ||
        policy != me->w->plan.policy)
        storm_fail("a policy is not the one of its name");
    if (larder_parse_size("1.5KiB", &bytes) != LARDER_OK || bytes != 1536)
        storm_fail("1.5KiB are %llu bytes", (unsigned long long)bytes);
    if (strcmp(larder_version(), LARDER_VERSION_STRING) != 0 ||
        strcmp(larder_result_name(LARDER_OK), "LARDER_OK") != 0 ||
        larder_result_text(LARDER_ERR_BUSY)[0] == '\0' ||
        strcmp(larder_call_name(LARDER_CALL_map), "map") != 0 ||
        strcmp(larder_device_name(me->w->dev), "sim") != 0 ||
        larder_action_name((larder_action)draw(me, 4)) == NULL)
        storm_fail("a name is not what it was");
    (void)larder_pytorch_change(draw(me, 12), draw(me, 4), &words, &restored);
    if (larder_conf_key(0) == NULL || larder_sim_card(0) == NULL)
        storm_fail("there are no settings, or no cards");
    if (larder_conf_segment("", MIB(1), &bytes, NULL) != LARDER_OK ||
        bytes != MIB(2))
        storm_fail("a request of 1 MiB takes %llu bytes",
                   (unsigned long long)bytes);
}

/* ---- refused ----------------------------------------------------------------------- */

static void expect(larder_result got, larder_result a, larder_result b,
                   const char *call)
{
    if (got != a && got != b)
        storm_fail("%s gave %s", call, larder_result_name(got));
}
#define EXPECT(call, one, other)                                               \
    expect((call), LARDER_ERR_##one, LARDER_ERR_##other, #call)

static bool begins_live(const struct world *w, larder_addr addr)
{
    for (const struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->addr == addr &&
            (b->state == BLOCK_LIVE || b->state == BLOCK_HELD))
            return true;
    }
    return false;
}

/* Freed twice, freed in the middle, recorded after the end; and calls for what
 * does not exist.  Alone, as a thread of the program could have allocated
 * there. */
void op_misuse(struct worker *me)
{
    larder_allocator *a = me->w->a;
    const struct block *b = &me->w->blocks[draw(me, 64)];
    const larder_pool_id nobody = {99, 99};
    larder_addr addr = b->addr + (chance(me, 2) ? 0 : 256 * draw(me, 16));

    if (b->kind == KIND_PINNED || (b->kind != KIND_PLAIN && addr == 0))
        return;
    if (addr != 0 && !begins_live(me->w, addr)) {
        EXPECT(larder_free(a, addr), DOUBLE_FREE, UNKNOWN_ADDRESS);
        EXPECT(larder_record_stream(a, addr, 1), DOUBLE_FREE, UNKNOWN_ADDRESS);
    }
    EXPECT(larder_alloc(a, 512, LARDER_SIM_STREAMS, &addr), UNKNOWN_STREAM,
           UNKNOWN_STREAM);
    EXPECT(larder_alloc(a, UINT64_MAX, 1, &addr), OUT_OF_MEMORY, OUT_OF_MEMORY);
    EXPECT(larder_pool_end(a, nobody), UNKNOWN_POOL, UNKNOWN_POOL);
    EXPECT(larder_pool_set_minimum(a, nobody, 1), UNKNOWN_POOL, UNKNOWN_POOL);
    EXPECT(larder_reserve(a, 0), INVALID, INVALID);
    EXPECT(larder_set_memory_fraction(a, 1.5), INVALID, INVALID);
    EXPECT(larder_resume(a, "nobody's"), INVALID, INVALID);
    EXPECT(larder_device_close(me->w->dev), BUSY, BUSY);
}
