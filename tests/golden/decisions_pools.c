/* decisions_pools.c - operations of random programs on private pools, captures and
 * checkpoints. */
#include "golden/decisions.h"

/* ---- pools --------------------------------------------------------------- */

static int accepts(void *ctx, larder_stream stream)
{
    const struct pool *p = ctx;

    return stream < STREAMS && (p->streams >> stream & 1) != 0;
}

static struct pool *draw_pool(struct world *w)
{
    return &w->pools[draw(w, POOLS)];
}

static unsigned number_of(const struct world *w, const struct pool *p)
{
    return (unsigned)(p - w->pools);
}

static void begin(struct world *w, struct pool *p, unsigned streams)
{
    step_says(w, "begin pool %u for %x", number_of(w, p), streams);
    p->streams = p->is_begun ? p->streams : streams;
    if (!CALL(w, larder_pool_begin(w->rig.a, p->id,
                                   streams == 31 ? NULL : accepts, p)))
        return;
    p->is_begun = true;
    p->users++;
}

static void end(struct world *w, struct pool *p)
{
    step_says(w, "end pool %u", number_of(w, p));
    if (CALL(w, larder_pool_end(w->rig.a, p->id)))
        p->is_begun = false;
}

void op_pool_begin(struct world *w)
{
    struct pool *p = draw_pool(w);

    begin(w, p, 1 + (unsigned)draw(w, (1u << STREAMS) - 1));
}

void op_pool_end(struct world *w)
{
    end(w, draw_pool(w));
}

void op_pool_release(struct world *w)
{
    struct pool *p = draw_pool(w);

    if (p->is_begun)
        return;
    step_says(w, "release pool %u", number_of(w, p));
    p->users -= CALL(w, larder_pool_release(w->rig.a, p->id));
}

void op_pool_whole(struct world *w)
{
    struct pool *p = draw_pool(w);

    step_says(w, "whole pool %u", number_of(w, p));
    CALL(w, larder_pool_set_whole(w->rig.a, p->id, (int)draw(w, 2)));
}

void op_pool_lending(struct world *w)
{
    struct pool *p = draw_pool(w);
    int on = (int)draw(w, 2);

    step_says(w, "lending %d of pool %u", on, number_of(w, p));
    CALL(w, larder_pool_set_lending(w->rig.a, p->id, on));
}

void op_pool_lend(struct world *w)
{
    struct pool *p = draw_pool(w);
    larder_stream stream = draw_stream(w);

    step_says(w, "lend pool %u to %llu", number_of(w, p),
              (unsigned long long)stream);
    CALL(w, larder_pool_lend(w->rig.a, p->id, stream));
}

void op_pool_recall(struct world *w)
{
    struct pool *p = draw_pool(w);

    step_says(w, "recall pool %u", number_of(w, p));
    CALL(w, larder_pool_recall(w->rig.a, p->id));
}

/* ---- captures ------------------------------------------------------------ */

static void capture_begin(struct world *w)
{
    larder_stream stream = draw_stream(w);

    step_says(w, "capture %llu", (unsigned long long)stream);
    if (!CALL(w, larder_sim_capture_begin(w->rig.dev, stream)))
        return;
    if (!CALL(w, larder_capture_begin(w->rig.a))) {
        assert_ok(larder_sim_capture_end(w->rig.dev, stream));
        return;
    }
    w->captured = (int)stream;
    if (chance(w, 2))
        begin(w, draw_pool(w), 1u << stream);
}

void capture_end(struct world *w)
{
    step_says(w, "capture ends");
    CALL(w, larder_sim_capture_end(w->rig.dev, (larder_stream)w->captured));
    CALL(w, larder_capture_end(w->rig.a));
    w->captured = -1;
}

void op_capture(struct world *w)
{
    if (w->captured < 0)
        capture_begin(w);
    else
        capture_end(w);
}

/* ---- checkpoints --------------------------------------------------------- */

void op_checkpoint(struct world *w)
{
    larder_checkpoint **cp = &w->checkpoints[draw(w, CHECKPOINTS)];
    struct pool *p = draw_pool(w);
    larder_checkpoint *taken = NULL;

    step_says(w, "checkpoint pool %u", number_of(w, p));
    if (!CALL(w, larder_checkpoint_take(w->rig.a, p->id, &taken)))
        return;
    larder_checkpoint_destroy(*cp);
    *cp = taken;
}

static void restored(struct world *w, const larder_addr *created, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = draw_empty(w);

        mix(w, DIGEST_placed, place_of(w, created[i]));
        if (slot->addr != 0)
            continue;
        *slot = (struct slot){created[i], KIB(64)};
        w->live_bytes += slot->bytes;
    }
}

void op_restore(struct world *w)
{
    larder_checkpoint *cp = w->checkpoints[draw(w, CHECKPOINTS)];
    larder_addr freed[SLOTS], created[SLOTS];
    size_t freed_count = 0, created_count = 0;

    if (cp == NULL)
        return;
    step_says(w, "restore");
    if (!CALL(w, larder_checkpoint_restore(w->rig.a, cp, freed, SLOTS,
                                           &freed_count, created, SLOTS,
                                           &created_count)))
        return;
    assert_true(freed_count <= SLOTS && created_count <= SLOTS);
    for (size_t i = 0; i < freed_count; i++)
        slot_gone(w, freed[i]);
    restored(w, created, created_count);
}

/* ---- the end ------------------------------------------------------------- */

void pools_end(struct world *w)
{
    for (struct pool *p = w->pools; p < w->pools + POOLS; p++) {
        if (p->is_begun)
            end(w, p);
        (void)larder_pool_recall(w->rig.a, p->id);
        while (p->users > 0 && !p->is_begun &&
               larder_pool_release(w->rig.a, p->id) == LARDER_OK)
            p->users--;
    }
    for (int i = 0; i < CHECKPOINTS; i++)
        larder_checkpoint_destroy(w->checkpoints[i]);
}
