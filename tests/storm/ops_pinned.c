/* ops_pinned.c - page-locked host memory: freed, the host may have it again
 * once every recorded stream is done. */
#include "storm/storm.h"

#include <sched.h>

void op_pinned_allocate(struct worker *me)
{
    uint64_t bytes = draw_bytes(me);
    struct block *b;
    void *ptr = NULL;

    if (me->w->live >= LIVE_MAX ||
        CALL(me, MAY(OUT_OF_MEMORY),
             larder_pinned_alloc(me->w->pinned, bytes, &ptr)) != LARDER_OK)
        return;
    b = block_add(me, &(struct block){.kind = KIND_PINNED,
                                      .owner = me->number,
                                      .addr = (uintptr_t)ptr,
                                      .bytes = bytes,
                                      .stream = LARDER_PINNED_STREAM,
                                      .tag = -1,
                                      .pool = -1});
    if (b->addr % 256 != 0)
        storm_fail("pinned memory at %p is not aligned to 256", ptr);
    b->value = 0;
}

void op_pinned_free(struct worker *me)
{
    struct block *b = block_pick(me, KIND_PINNED);

    if (b == NULL)
        return;
    block_leave(me, b);
    block_left(
        me, b,
        CALL(me, 0,
             larder_pinned_free(me->w->pinned, (void *)(uintptr_t)b->addr)) ==
            LARDER_OK);
}

void op_pinned_look(struct worker *me)
{
    larder_pinned_stats st;

    larder_pinned_stats_init(&st);
    if (CALL(me, 0, larder_pinned_stats_get(me->w->pinned, &st)) == LARDER_OK &&
        st.active_bytes.current > st.allocated_bytes.current)
        storm_fail("more pinned memory is in use than there is");
    if (chance(me, 3))
        CALL(me, 0, larder_empty_cache(me->w->pinned));
    else
        CALL(me, 0, larder_trim(me->w->pinned, draw(me, MIB(8)), NULL));
}

/* Copied to the device, filled there, copied back. */
void op_host_memory(struct worker *me)
{
    larder_device *dev = me->w->dev;
    struct block *b = block_pick(me, KIND_PLAIN);
    void *host = NULL;

    if (b == NULL || b->exports > 0 || !block_is_usable(me->w, b) ||
        me->w->captured >= 0 ||
        CALL(me, 0, larder_device_host_alloc(dev, 4096, &host)) != LARDER_OK)
        return;
    memset(host, 0x5a, 4096);
    if (CALL(me, 0, larder_device_fill(dev, b->addr, 0x11, 8, b->stream)) ==
            LARDER_OK &&
        CALL(me, 0,
             larder_device_copy(dev, (uintptr_t)host, b->addr, 8,
                                LARDER_COPY_TO_HOST, b->stream)) == LARDER_OK) {
        stream_complete(me, b->stream);
        if (*(uint64_t *)host != UINT64_C(0x1111111111111111))
            storm_fail("a copy after a fill finds other bytes");
    }
    kernel_write(me, b, b->stream);
    /* Another thread may have it fail until that thread's own call ends. */
    while (larder_device_host_free(dev, host) != LARDER_OK)
        sched_yield();
}

static void add_line(void *ctx, const larder_account_line *line)
{
    uint64_t *held = ctx;

    if (line->kind != LARDER_OWNER_PINNED)
        *held += line->held_bytes;
}

static const char *const settings[] = {
    "pinned_limit:8MiB",
    "pinned_limit:1024g",
    "pinned_max_cached_size_mb:1",
    "pinned_max_cached_size_mb:1024",
    "pinned_max_round_threshold_mb:1",
    "pinned_max_round_threshold_mb:1024",
    "reclaim_budget_ms:0",
    "reclaim_budget_ms:unlimited",
    "history:100",
    "history:0",
};

/* The functions of larder.h work on pinned memory too. */
void op_pinned_other(struct worker *me)
{
    larder_allocator *a = me->w->pinned;
    size_t i = draw(me, sizeof settings / sizeof settings[0]);
    larder_snapshot_options opt;
    uint64_t held = 0;

    larder_snapshot_options_init(&opt);
    switch (draw(me, 7)) {
    case 0:
        CALL(me, 0, larder_account(a, add_line, &held));
        break;
    case 1:
        CALL(me, MAY(OUT_OF_MEMORY),
             larder_cache_set_minimum(a, MIB(1) * draw(me, 6)));
        break;
    case 2:
        CALL(me, 0, larder_cache_set_limit(a, MIB(2) * draw(me, 6)));
        break;
    case 3:
        if (plan_has(&me->w->plan, GROUP_reserve))
            CALL(me, MAY(OUT_OF_MEMORY), larder_reserve(a, KIB(700)));
        break;
    case 4:
        CALL(me, 0, larder_snapshot_write(a, "/dev/null", &opt));
        break;
    default:
        storm_note(me, "%s", settings[i]);
        CALL(me, MAY(CONF) | MAY(OUT_OF_MEMORY),
             larder_configure(a, settings[i]));
    }
}
