/* ops_region.c - regions.  Each thread has one, and a block of the model for
 * each page that is committed. */
#include "storm/storm.h"

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

static struct region *own(struct worker *me)
{
    return &me->w->regions[me->number];
}

/* A run of pages of the region. */
struct run {
    int first;
    int count;
};

static struct run draw_run(struct worker *me)
{
    int first = (int)draw(me, REGION_PAGES);

    return (struct run){first, 1 + (int)draw(me, 1 + draw(me, 4)) %
                                       (REGION_PAGES - first)};
}

static larder_region_info info_of(const struct region *g)
{
    larder_region_info info = {.size = sizeof info};

    if (larder_region_get_info(g->handle, &info) != LARDER_OK)
        storm_fail("larder_region_get_info: %s", larder_last_error());
    return info;
}

/* What the region says of itself, after every call. */
static void region_check(const struct region *g)
{
    larder_region_info info = info_of(g);
    uint64_t committed = 0;

    for (int i = 0; i < REGION_PAGES; i++)
        committed += g->pages[i] != NULL ? PAGE : 0;
    if (info.committed_bytes != committed ||
        (info.is_paused != 0) != g->is_paused || info.addr != g->addr ||
        info.bytes != REGION_PAGES * PAGE)
        storm_fail(
            "a region has %llu of %llu bytes at 0x%llx committed%s, "
            "expected %llu at 0x%llx%s",
            (unsigned long long)info.committed_bytes,
            (unsigned long long)info.bytes, (unsigned long long)info.addr,
            info.is_paused ? ", paused" : "", (unsigned long long)committed,
            (unsigned long long)g->addr, g->is_paused ? ", paused" : "");
    if (!info.is_paused && info.held_bytes != info.committed_bytes +
                                                  info.pending_bytes +
                                                  info.idle_bytes)
        storm_fail("a region holds %llu bytes: %llu committed, %llu pending, "
                   "%llu idle",
                   (unsigned long long)info.held_bytes,
                   (unsigned long long)info.committed_bytes,
                   (unsigned long long)info.pending_bytes,
                   (unsigned long long)info.idle_bytes);
}

/* Where undoing a failed call fails too, the region is paused. */
static void note_failed_undo(const struct worker *me, struct region *g)
{
    if (!g->is_paused && plan_has(&me->w->plan, GROUP_fault))
        g->is_paused = info_of(g).is_paused != 0;
}

void op_region_create(struct worker *me)
{
    struct region *g = own(me);
    larder_region_options opt;
    unsigned may = MAY(OUT_OF_MEMORY);

    if (g->handle != NULL)
        return;
    if (me->w->plan.policy != LARDER_POLICY_LARDER ||
        strstr(me->w->plan.spec, "vmm=off") != NULL)
        may |= MAY(UNSUPPORTED);
    larder_region_options_init(&opt);
    snprintf(g->name, sizeof g->name, "r%d", (int)(g - me->w->regions));
    opt.name = g->name;
    opt.stream = draw_stream(me);
    opt.handle_bytes = PAGE * draw(me, 3);
    if (plan_has(&me->w->plan, GROUP_minimum))
        opt.minimum_bytes = PAGE * draw(me, 4);
    if (CALL(me, may,
             larder_region_create(me->w->a, REGION_PAGES * PAGE, &opt,
                                  &g->handle)) != LARDER_OK)
        return;
    g->addr = info_of(g).addr;
    g->stream = opt.stream;
    g->is_paused = false;
    memset(g->pages, 0, sizeof g->pages);
    region_check(g);
}

static void pages_leave(struct worker *me, struct region *g, struct run run)
{
    for (int i = run.first; i < run.first + run.count; i++) {
        if (g->pages[i] != NULL)
            block_leave(me, g->pages[i]);
    }
}

static void pages_left(struct worker *me, struct region *g, struct run run,
                       bool are_freed)
{
    for (int i = run.first; i < run.first + run.count; i++) {
        if (g->pages[i] != NULL)
            block_left(me, g->pages[i], are_freed);
        if (are_freed)
            g->pages[i] = NULL;
    }
}

void op_region_destroy(struct worker *me)
{
    struct region *g = own(me);
    const struct run all = {0, REGION_PAGES};

    if (g->handle == NULL)
        return;
    pages_leave(me, g, all);
    if (CALL(me, MAY(BUSY) | (g->is_paused ? MAY(PAUSED) : 0),
             larder_region_destroy(g->handle)) == LARDER_OK) {
        pages_left(me, g, all, true);
        *g = (struct region){0};
        return;
    }
    pages_left(me, g, all, false);
    note_failed_undo(me, g);
    region_check(g);
}

void op_region_commit(struct worker *me)
{
    struct region *g = own(me);
    struct run run = draw_run(me);

    if (g->handle == NULL || me->w->live > LIVE_MAX + REGION_PAGES)
        return;
    if (g->is_paused && chance(me, 2))
        op_region_resume(me);
    storm_note(me, "commit %d + %d", run.first, run.count);
    if (CALL(me,
             MAY(OUT_OF_MEMORY) | MAY(BUSY) | (g->is_paused ? MAY(PAUSED) : 0),
             larder_region_commit(g->handle, (uint64_t)run.first * PAGE,
                                  (uint64_t)run.count * PAGE)) == LARDER_OK) {
        for (int i = run.first; i < run.first + run.count; i++) {
            if (g->pages[i] == NULL)
                g->pages[i] = block_add(
                    me, &(struct block){.kind = KIND_REGION,
                                        .owner = me->number,
                                        .addr = g->addr + (uint64_t)i * PAGE,
                                        .bytes = PAGE,
                                        .stream = g->stream,
                                        .tag = -1,
                                        .pool = -1});
        }
    }
    region_check(g);
}

void op_region_decommit(struct worker *me)
{
    struct region *g = own(me);
    struct run run = draw_run(me);

    if (g->handle == NULL)
        return;
    for (int i = run.first; i < run.first + run.count; i++) {
        if (g->pages[i] != NULL && chance(me, 2) && g->pages[i]->exports == 0 &&
            block_is_usable(me->w, g->pages[i]))
            kernel_write(me, g->pages[i], g->stream);
    }
    storm_note(me, "decommit %d + %d", run.first, run.count);
    pages_leave(me, g, run);
    if (CALL(me, MAY(BUSY) | (g->is_paused ? MAY(PAUSED) : 0),
             larder_region_decommit(g->handle, (uint64_t)run.first * PAGE,
                                    (uint64_t)run.count * PAGE)) == LARDER_OK)
        pages_left(me, g, run, true);
    else
        pages_left(me, g, run, false);
    region_check(g);
}

/* On another stream, which is recorded. */
void op_region_use(struct worker *me)
{
    struct region *g = own(me);
    struct run run = draw_run(me);
    larder_stream stream = draw_stream(me);

    if (g->handle == NULL || g->is_paused || (int)stream == me->w->captured ||
        (int)g->stream == me->w->captured || stream == g->stream ||
        CALL(me, 0,
             larder_region_record_stream(g->handle, (uint64_t)run.first * PAGE,
                                         (uint64_t)run.count * PAGE, stream)) !=
            LARDER_OK)
        return;
    for (int i = run.first; i < run.first + run.count; i++) {
        struct block *b = g->pages[i];

        if (b == NULL || !block_is_usable(me->w, b))
            continue;
        b->recorded |= 1u << stream;
        for (larder_stream s = 0; s < STREAMS; s++) {
            if (s != stream && (s == b->stream || (b->recorded >> s & 1)))
                stream_follow(me, s, stream);
        }
        kernel_look(me, b, stream);
        if (b->exports == 0)
            kernel_write(me, b, stream);
        stream_follow(me, stream, g->stream);
    }
    if (me->w->plan.is_manual)
        stream_complete(me, g->stream);
}

void op_region_pause(struct worker *me)
{
    struct region *g = own(me);
    const bool drops = chance(me, 3);
    larder_result r;

    if (g->handle == NULL)
        return;
    if (g->is_paused && !chance(me, 8)) {
        op_region_resume(me);
        return;
    }
    r = CALL(me, MAY(BUSY) | (g->is_paused ? MAY(PAUSED) : 0),
             larder_region_pause(g->handle, drops ? LARDER_PAUSE_DROP
                                                  : LARDER_PAUSE_KEEP));
    if (r == LARDER_OK && g->is_paused)
        storm_fail("a paused region was paused again");
    if (r != LARDER_OK)
        note_failed_undo(me, g);
    if (r == LARDER_OK)
        g->is_paused = true;
    for (int i = 0; i < REGION_PAGES && r == LARDER_OK; i++) {
        if (g->pages[i] != NULL && !block_is_idle(g->pages[i]))
            storm_fail("a region was paused while kernels were queued for it");
        if (g->pages[i] != NULL && drops)
            g->pages[i]->value = 0;
    }
    region_check(g);
}

void op_region_resume(struct worker *me)
{
    struct region *g = own(me);

    if (g->handle == NULL)
        return;
    if (CALL(me, g->is_paused ? MAY(OUT_OF_MEMORY) | MAY(BUSY) : MAY(INVALID),
             larder_region_resume(g->handle)) == LARDER_OK) {
        if (!g->is_paused)
            storm_fail("a region that was awake was resumed");
        g->is_paused = false;
    }
    region_check(g);
}

void op_region_trim(struct worker *me)
{
    struct region *g = own(me);
    uint64_t released = 0;

    if (g->handle == NULL)
        return;
    CALL(me, g->is_paused ? MAY(PAUSED) : 0,
         larder_region_trim(g->handle, &released));
    region_check(g);
}

void op_region_bounds(struct worker *me)
{
    struct region *g = own(me);
    struct run run = draw_run(me);
    uint64_t bytes = PAGE * draw(me, 12);
    uint64_t at_hand = 0;

    if (g->handle == NULL)
        return;
    if (plan_has(&me->w->plan, GROUP_minimum))
        CALL(me, MAY(OUT_OF_MEMORY),
             larder_region_set_minimum(g->handle, bytes / 2));
    if (plan_has(&me->w->plan, GROUP_limit))
        CALL(me, 0, larder_region_set_limit(g->handle, bytes));
    if (CALL(me, 0,
             larder_region_at_hand(g->handle, (uint64_t)run.first * PAGE,
                                   (uint64_t)run.count * PAGE, &at_hand)) ==
            LARDER_OK &&
        at_hand > (uint64_t)run.count * PAGE)
        storm_fail("%llu bytes of %d pages are at hand",
                   (unsigned long long)at_hand, run.count);
}
