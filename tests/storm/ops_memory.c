/* ops_memory.c - memory allocated, used, freed and released. */
#include "storm/storm.h"

uint64_t draw_bytes(struct worker *me)
{
    static const uint64_t most[] = {KIB(1),   KIB(16), KIB(256),
                                    KIB(700), MIB(3),  MIB(14)};

    return 8 + draw(me, most[draw(me, 6)]);
}

static bool is_full(const struct worker *me)
{
    return me->w->live >= LIVE_MAX;
}

/* Under the policy larder 256, else 512 but for red zones. */
static void address_check(const struct worker *me, larder_addr addr)
{
    uint64_t align = me->w->plan.policy == LARDER_POLICY_LARDER ? 256 : 512;

    if (addr % align != 0)
        storm_fail("0x%llx is not aligned to %llu", (unsigned long long)addr,
                   (unsigned long long)align);
}

static int pool_of_stream(const struct worker *me, larder_stream stream)
{
    for (int i = 0; i < POOLS; i++) {
        if (me->w->pools[i].is_begun && (me->w->pools[i].streams >> stream & 1))
            return i;
    }
    return -1;
}

static void allocated(struct worker *me, larder_addr addr, uint64_t bytes,
                      larder_stream stream, int tag)
{
    const int pool = pool_of_stream(me, stream);

    storm_note(me, "0x%llx: %llu bytes, stream %llu, tag %d, pool %d",
               (unsigned long long)addr, (unsigned long long)bytes,
               (unsigned long long)stream, tag, pool);
    address_check(me, addr);
    block_add(me, &(struct block){.kind = KIND_PLAIN,
                                  .owner = me->number,
                                  .addr = addr,
                                  .bytes = bytes,
                                  .stream = stream,
                                  .tag = pool >= 0 ? -1 : tag,
                                  .pool = pool});
}

/* In a callback of a request for a tag, the tag is begun. */
static int tag_now(const struct worker *me)
{
    return me->has_begun_tag ? me->number : -1;
}

static unsigned may_now(const struct worker *me)
{
    return MAY(OUT_OF_MEMORY) | (me->has_begun_tag ? MAY(PAUSED) : 0);
}

void op_allocate(struct worker *me)
{
    larder_stream stream = draw_stream(me);
    uint64_t bytes = draw_bytes(me);
    larder_addr addr = 0;

    if (!is_full(me) &&
        CALL(me, may_now(me), larder_alloc(me->w->a, bytes, stream, &addr)) ==
            LARDER_OK)
        allocated(me, addr, bytes, stream, tag_now(me));
}

void op_allocate_hinted(struct worker *me)
{
    larder_hint hint = chance(me, 2) ? LARDER_HINT_LONG : LARDER_HINT_SHORT;
    larder_stream stream = draw_stream(me);
    uint64_t bytes = draw_bytes(me);
    larder_addr addr = 0;

    if (!is_full(me) && CALL(me, may_now(me),
                             larder_alloc_hinted(me->w->a, bytes, stream, hint,
                                                 &addr)) == LARDER_OK)
        allocated(me, addr, bytes, stream, tag_now(me));
}

/* Each thread has a tag. */
void op_tag_allocate(struct worker *me)
{
    struct tag *tag = &me->w->tags[me->number];
    char name[16];
    larder_stream stream = draw_stream(me);
    uint64_t bytes = draw_bytes(me);
    larder_addr addr = 0;
    unsigned may;
    larder_result r;

    if (is_full(me))
        return;
    if (tag->is_paused && chance(me, 2))
        op_tag_resume(me);
    snprintf(name, sizeof name, "tag %d", me->number);
    if (CALL(me, 0, larder_tag_begin(me->w->a, name)) != LARDER_OK)
        return;
    tag->exists = true;
    me->has_begun_tag = true;
    may = MAY(OUT_OF_MEMORY);
    if (tag->is_paused || me->w->is_listening) /* a callback may pause it */
        may |= MAY(PAUSED);
    r = CALL(me, may, larder_alloc(me->w->a, bytes, stream, &addr));
    if (r == LARDER_OK)
        allocated(me, addr, bytes, stream, me->number);
    if (r == LARDER_OK && tag->is_paused && pool_of_stream(me, stream) < 0)
        storm_fail("a paused tag got memory");
    CALL(me, 0, larder_tag_end(me->w->a));
    me->has_begun_tag = false;
}

void op_free(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PLAIN);

    /* Queued for the last moment: it runs when its memory has another use. */
    if (b == NULL)
        return;
    if (chance(me, 2) && b->exports == 0 && block_is_usable(me->w, b))
        kernel_write(me, b, b->stream);
    storm_note(me, "free 0x%llx", (unsigned long long)b->addr);
    block_leave(me, b);
    block_left(me, b, CALL(me, 0, larder_free(me->w->a, b->addr)) == LARDER_OK);
}

void op_rewrite(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PLAIN);

    if (b == NULL || b->exports > 0 || !block_is_usable(me->w, b))
        return;
    kernel_write(me, b, b->stream);
    kernel_look(me, b, b->stream);
}

void op_look_at(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PLAIN | KIND_REGION);

    if (b != NULL && block_is_usable(me->w, b))
        kernel_look(me, b, b->stream);
}

/* A capture's end orders its work, and meanwhile PyTorch records nothing. */
static bool can_record(const struct worker *me, larder_stream stream)
{
    const struct world *w = me->w;

    return (int)stream != w->captured &&
           ((w->begun == 0 && w->captured < 0) ||
            w->plan.policy == LARDER_POLICY_LARDER);
}

void op_use_elsewhere(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PLAIN | KIND_PINNED);
    larder_stream stream = draw_stream(me);
    larder_result r;

    if (b == NULL || !block_is_usable(me->w, b) || !can_record(me, stream) ||
        (b->kind == KIND_PLAIN && (int)b->stream == me->w->captured))
        return;
    if (b->kind == KIND_PINNED)
        r = CALL(me, 0,
                 larder_pinned_record_stream(
                     me->w->pinned, (void *)(uintptr_t)b->addr, stream));
    else
        r = CALL(me, 0, larder_record_stream(me->w->a, b->addr, stream));
    if (r != LARDER_OK)
        return;
    storm_note(me, "0x%llx on stream %llu", (unsigned long long)b->addr,
               (unsigned long long)stream);
    b->recorded |= 1u << stream;
    for (larder_stream s = 0; s < STREAMS; s++) {
        if (s != stream && (s == b->stream || (b->recorded >> s & 1)))
            stream_follow(me, s, stream);
    }
    kernel_look(me, b, stream);
    if (chance(me, 2) && b->exports == 0) {
        kernel_write(me, b, stream);
        if (b->kind != KIND_PINNED && stream != b->stream)
            stream_follow(me, stream, b->stream);
    } else if (b->kind != KIND_PINNED && stream != b->stream) {
        stream_follow(me, stream, b->stream);
    }
    if (me->w->plan.is_manual && b->kind != KIND_PINNED)
        stream_complete(me, b->stream);
}

void op_complete(struct worker *me)
{
    stream_complete(me, draw_stream(me));
}

void op_wait(struct worker *me)
{
    larder_stream stream = draw_stream(me);

    if (me->w->captured < 0)
        CALL(me, 0, larder_device_stream_sync(me->w->dev, stream));
}

void op_give(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PLAIN);

    if (b != NULL && b->tag < 0)
        block_give(me, b, (int)draw(me, (uint64_t)me->w->plan.threads));
}

void op_audit(struct worker *me)
{
    world_audit(me);
}

void op_settle(struct worker *me)
{
    world_settle(me);
    world_audit(me);
}

/* ---- released and acquired ----------------------------------------------------- */

void op_empty_cache(struct worker *me)
{
    CALL(me, 0, larder_empty_cache(me->w->a));
}

void op_trim(struct worker *me)
{
    uint64_t released = 0;
    uint64_t target = draw(me, MIB(40));

    CALL(me, 0, larder_trim(me->w->a, target, &released));
    if (released > me->w->plan.device_bytes)
        storm_fail("larder_trim() released %llu bytes",
                   (unsigned long long)released);
}

void op_reserve(struct worker *me)
{
    uint64_t bytes = MIB(2) << draw(me, 3);

    CALL(me, MAY(OUT_OF_MEMORY), larder_reserve(me->w->a, bytes));
}

/* No other thread queues work meanwhile. */
void op_migrate(struct worker *me)
{
    uint64_t count = 1 + draw(me, 4);

    if (CALL(me, 0, larder_migrate_begin(me->w->a)) != LARDER_OK)
        return;
    for (uint64_t i = 0; i < count && !storm_failed(); i++)
        op_allocate(me);
    CALL(me, 0, larder_migrate_end(me->w->a));
}

/* A thread alone holds its own work back; of several each would have to ask the
 * others. */
static larder_result guard_hold(void *ctx)
{
    const struct world *w = ctx;

    return w->plan.threads == 1 ? LARDER_OK : LARDER_ERR_BUSY;
}

static void guard_release(void *ctx)
{
    (void)ctx;
}

void op_guard(struct worker *me)
{
    if (draw(me, 2) == 0)
        CALL(me, 0,
             larder_migrate_guard(me->w->a, guard_hold, guard_release, me->w));
    else
        CALL(me, 0, larder_migrate_guard(me->w->a, NULL, NULL, NULL));
}
