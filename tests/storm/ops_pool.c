/* ops_pool.c - private pools: begun, lent, captured, restored.  They run alone:
 * which pool serves a stream is one thread's decision for all. */
#include "storm/storm.h"

static int filter(void *ctx, larder_stream stream)
{
    const struct pool *p = ctx;

    return stream < STREAMS && (p->streams >> stream & 1) != 0;
}

static struct pool *draw_pool(struct worker *me)
{
    return &me->w->pools[draw(me, POOLS)];
}

static unsigned streams_begun(const struct world *w)
{
    unsigned streams = 0;

    for (int i = 0; i < POOLS; i++)
        streams |= w->pools[i].is_begun ? w->pools[i].streams : 0;
    return streams;
}

/* Whether the pool exists; its users were counted. */
static bool pool_exists(struct worker *me, struct pool *p)
{
    larder_pool_info info;
    larder_result r;

    larder_pool_info_init(&info);
    r = CALL(me, MAY(UNKNOWN_POOL),
             larder_pool_info_get(me->w->a, p->id, &info));
    if (r == LARDER_ERR_UNKNOWN_POOL && p->users > 0)
        storm_fail("a pool with %d users does not exist", p->users);
    if (r == LARDER_OK &&
        (info.users != p->users || info.is_begun != p->is_begun))
        storm_fail("a pool has %d users and is%s begun, expected %d and%s",
                   info.users, info.is_begun ? "" : " not", p->users,
                   p->is_begun ? "" : " not");
    return r == LARDER_OK;
}

static void begin(struct worker *me, struct pool *p, unsigned streams)
{
    unsigned may = MAY(BUSY); /* lent, and what was borrowed is in use */

    if (p->is_begun || (streams & streams_begun(me->w)) != 0)
        return;
    if (p->users == 0 && pool_exists(me, p)) /* lost its last user */
        may |= MAY(INVALID);
    p->streams = streams;
    if (CALL(me, may, larder_pool_begin(me->w->a, p->id, filter, p)) !=
        LARDER_OK)
        return;
    if (p->users == 0)
        p->has_lent = false;
    p->is_begun = true;
    p->users++;
    me->w->begun++;
}

static void end(struct worker *me, struct pool *p)
{
    if (!p->is_begun ||
        CALL(me, 0, larder_pool_end(me->w->a, p->id)) != LARDER_OK)
        return;
    p->is_begun = false;
    me->w->begun--;
}

void op_pool_begin(struct worker *me)
{
    begin(me, draw_pool(me), 1 + (unsigned)draw(me, (1u << STREAMS) - 1));
}

/* Not the one that a capture began. */
void op_pool_end(struct worker *me)
{
    struct pool *p = draw_pool(me);

    if (me->w->captured < 0)
        end(me, p);
}

void op_pool_release(struct worker *me)
{
    struct pool *p = draw_pool(me);

    if (!p->is_begun && p->users > 0 &&
        CALL(me, 0, larder_pool_release(me->w->a, p->id)) == LARDER_OK)
        p->users--;
}

static size_t live_of(const struct world *w, const struct pool *p,
                      struct place *places)
{
    size_t count = 0;

    for (const struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->state == BLOCK_LIVE && b->pool == p - w->pools &&
            count < LIVE_MAX)
            places[count++] = (struct place){b->addr, b->bytes, b->stream};
    }
    return count;
}

static void pool_look(struct worker *me, struct pool *p)
{
    struct place places[LIVE_MAX];
    larder_addr addrs[LIVE_MAX];
    size_t count = live_of(me->w, p, places);
    int same = 0;

    if (p->has_lent || !pool_exists(me, p))
        return;
    for (size_t i = 0; i < count; i++)
        addrs[i] = places[i].addr;
    if (CALL(me, 0,
             larder_pool_live_is(me->w->a, p->id, addrs, count, &same)) ==
            LARDER_OK &&
        !same)
        storm_fail("what lives in a pool is not its %zu allocations", count);
}

void op_pool_set(struct worker *me)
{
    larder_allocator *a = me->w->a;
    struct pool *p = draw_pool(me);
    unsigned may = p->users > 0 ? 0 : MAY(UNKNOWN_POOL);
    int on = (int)draw(me, 2);
    uint64_t what = draw(me, 4);

    if (what == 0) {
        CALL(me, may, larder_pool_set_limit(a, p->id, on ? MIB(12) : 0));
    } else if (what == 1 && plan_has(&me->w->plan, GROUP_lend)) {
        if (CALL(me, may, larder_pool_set_lending(a, p->id, on)) == LARDER_OK)
            p->has_lent = true;
    } else if (what == 2) {
        CALL(me, may, larder_pool_set_whole(a, p->id, on));
    } else {
        pool_look(me, p);
    }
}

/* A minimum is for a pool that exists; one without users may go meanwhile. */
void op_pool_minimum(struct worker *me)
{
    struct pool *p = draw_pool(me);
    uint64_t bytes = MIB(2) * draw(me, 6);
    unsigned may = MAY(OUT_OF_MEMORY) | (p->users > 0 ? 0 : MAY(UNKNOWN_POOL));

    if (CALL(me, may, larder_pool_set_minimum(me->w->a, p->id, bytes)) ==
            LARDER_OK &&
        !pool_exists(me, p))
        storm_fail("a minimum was set for a pool that does not exist");
}

void op_pool_lend(struct worker *me)
{
    struct pool *p = draw_pool(me);
    larder_stream stream = draw_stream(me);
    unsigned may = MAY(BUSY) | (p->users > 0 ? 0 : MAY(UNKNOWN_POOL));

    if (p->is_begun)
        may |= MAY(INVALID);
    if (CALL(me, may, larder_pool_lend(me->w->a, p->id, stream)) == LARDER_OK) {
        p->has_lent = true;
        storm_note(me, "lent to stream %llu", (unsigned long long)stream);
    }
}

void op_pool_recall(struct worker *me)
{
    struct pool *p = draw_pool(me);

    CALL(me, MAY(BUSY) | (p->users > 0 ? 0 : MAY(UNKNOWN_POOL)),
         larder_pool_recall(me->w->a, p->id));
}

/* ---- captures -------------------------------------------------------------------- */

static void capture_begin(struct worker *me)
{
    larder_stream stream = draw_stream(me);

    if (CALL(me, 0, larder_sim_capture_begin(me->w->dev, stream)) != LARDER_OK)
        return;
    if (CALL(me, 0, larder_capture_begin(me->w->a)) != LARDER_OK) {
        CALL(me, 0, larder_sim_capture_end(me->w->dev, stream));
        return;
    }
    me->w->captured = (int)stream;
    if (chance(me, 2))
        begin(me, draw_pool(me), 1u << stream);
}

void op_capture(struct worker *me)
{
    struct world *w = me->w;
    int capturing = 0;

    if (w->captured < 0) {
        capture_begin(me);
        return;
    }
    for (int i = 0; i < POOLS; i++) {
        if (w->pools[i].is_begun && w->pools[i].streams == 1u << w->captured)
            end(me, &w->pools[i]);
    }
    if (larder_device_stream_is_capturing(w->dev, (larder_stream)w->captured,
                                          &capturing) != LARDER_OK ||
        !capturing)
        storm_fail("a captured stream is not capturing");
    while (larder_sim_capture_end(w->dev, (larder_stream)w->captured) !=
               LARDER_OK &&
           !storm_failed())
        storm_fail("larder_sim_capture_end: %s", larder_last_error());
    if (larder_capture_end(w->a) != LARDER_OK)
        storm_fail("larder_capture_end: %s", larder_last_error());
    w->captured = -1;
}

/* ---- checkpoints ------------------------------------------------------------------- */

void op_checkpoint(struct worker *me)
{
    struct checkpoint *c = &me->w->checkpoints[draw(me, CHECKPOINTS)];
    struct pool *p = draw_pool(me);
    larder_checkpoint *handle = NULL;

    if (CALL(me, p->users > 0 ? 0 : MAY(UNKNOWN_POOL),
             larder_checkpoint_take(me->w->a, p->id, &handle)) != LARDER_OK)
        return;
    larder_checkpoint_destroy(c->handle);
    c->handle = handle;
    c->pool = (int)(p - me->w->pools);
    c->count = live_of(me->w, p, c->blocks);
}

/* Under pytorch what a pool lent is the pool's, whoever allocated it. */
static bool is_mixed(const struct world *w, int pool)
{
    return w->pools[pool].has_lent && w->plan.policy != LARDER_POLICY_LARDER;
}

static bool pool_is_exported(const struct world *w, int pool)
{
    for (const struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->state != BLOCK_NONE && b->pool == pool && b->exports > 0)
            return true;
    }
    return false;
}

/* All that lives there is freed, what lived then is live again. */
static void restored(struct worker *me, const struct checkpoint *c,
                     const larder_addr *created, size_t count)
{
    if (count != c->count)
        storm_fail("a checkpoint of %zu allocations made %zu", c->count, count);
    for (size_t i = 0; i < count && !storm_failed(); i++) {
        const struct place *p = NULL;

        for (size_t k = 0; k < c->count; k++) {
            if (c->blocks[k].addr == created[i])
                p = &c->blocks[k];
        }
        if (p == NULL) {
            storm_fail("0x%llx was not live at the checkpoint",
                       (unsigned long long)created[i]);
            return;
        }
        block_add(me, &(struct block){.kind = KIND_PLAIN,
                                      .owner = me->number,
                                      .addr = p->addr,
                                      .bytes = p->bytes,
                                      .stream = p->stream,
                                      .tag = -1,
                                      .pool = c->pool});
    }
}

void op_restore(struct worker *me)
{
    struct world *w = me->w;
    const struct checkpoint *c = &w->checkpoints[draw(me, CHECKPOINTS)];
    larder_addr freed[LIVE_MAX], created[LIVE_MAX];
    size_t freed_count = 0, created_count = 0;

    if (c->handle == NULL || is_mixed(w, c->pool) ||
        pool_is_exported(w, c->pool) ||
        CALL(me, MAY(INVALID) | MAY(UNKNOWN_POOL) | MAY(BUSY),
             larder_checkpoint_restore(w->a, c->handle, freed, LIVE_MAX,
                                       &freed_count, created, LIVE_MAX,
                                       &created_count)) != LARDER_OK)
        return;
    for (struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->state == BLOCK_LIVE && b->pool == c->pool) {
            block_leave(me, b);
            block_left(me, b, true);
            freed_count--;
        }
    }
    if (freed_count != 0)
        storm_fail("a restored pool freed %zu allocations too many",
                   freed_count);
    restored(me, c, created, created_count);
}
