/* fault.c - calls that fail on purpose, and what a call may then return. */
#include "storm/storm.h"

#include "base/host.h"

/* A call of the driver that this operation made before in this run, mostly one
 * that moves memory; or any. */
static larder_call draw_call(struct worker *me)
{
    const unsigned moves =
        1u << LARDER_CALL_mem_alloc | 1u << LARDER_CALL_mem_free |
        1u << LARDER_CALL_page_create | 1u << LARDER_CALL_page_release |
        1u << LARDER_CALL_map | 1u << LARDER_CALL_unmap |
        1u << LARDER_CALL_set_access;
    unsigned seen = atomic_load(&me->w->seen[me->operation]);
    unsigned skipped;

    if ((seen & moves) != 0 && !chance(me, 4))
        seen &= moves;

    if (seen == 0 || chance(me, 6))
        return (larder_call)draw(me, LARDER_CALL_COUNT);
    skipped = (unsigned)draw(me, (unsigned)__builtin_popcount(seen));
    while (skipped-- > 0)
        seen &= seen - 1;
    return (larder_call)__builtin_ctz(seen);
}

void fault_draw(struct worker *me)
{
    const bool is_rare = storm_operations[me->operation].weight <= 25;
    struct fault *f = &me->fault;

    me->has_fault =
        plan_has(&me->w->plan, GROUP_fault) && chance(me, is_rare ? 2 : 6);
    if (!me->has_fault)
        return;
    *f = (struct fault){.is_host = chance(me, 4),
                        .calls = {draw_call(me), LARDER_CALL_COUNT},
                        .times = draw(me, 3)};
    f->with = chance(me, 3) && (f->calls[0] == LARDER_CALL_mem_alloc ||
                                f->calls[0] == LARDER_CALL_page_create)
                  ? LARDER_ERR_OUT_OF_MEMORY
                  : LARDER_ERR_DEVICE;
    /* The second for what undoes the first. */
    if (chance(me, 3))
        f->calls[1] = draw_call(me);
    for (int i = 0; i < 2; i++)
        f->nth[i] = 1 + (chance(me, 4)
                             ? draw(me, 12)
                             : (uint64_t)__builtin_ctzll(draw(me, 256) | 256));
}

static void fault_arm(const struct worker *me)
{
    const struct fault *f = &me->fault;

    if (f->is_host) {
        storm_note(me, "request %d for host memory fails, %d times",
                   (int)f->nth[0], (int)f->times);
        larder__host_fail((unsigned long)f->nth[0], (unsigned long)f->times);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (f->calls[i] == LARDER_CALL_COUNT)
            continue;
        storm_note(me, "call %d of %s fails, %d times", (int)f->nth[i],
                   larder_call_name(f->calls[i]), (int)f->times);
        (void)larder_device_fail(me->w->dev, f->calls[i], f->nth[i], f->times,
                                 i == 0 ? f->with : LARDER_ERR_DEVICE);
    }
}

static void fault_disarm(const struct worker *me)
{
    const struct fault *f = &me->fault;

    if (f->is_host)
        larder__host_fail(0, 0);
    for (int i = 0; i < 2 && !f->is_host; i++) {
        if (f->calls[i] < LARDER_CALL_COUNT)
            (void)larder_device_fail(me->w->dev, f->calls[i], 0, 0, LARDER_OK);
    }
}

static void calls_learn(struct worker *me)
{
    larder_device_counters after = {.size = sizeof after};
    unsigned seen = 0;

    (void)larder_device_get_counters(me->w->dev, &after);
    for (int c = 0; c < LARDER_CALL_COUNT; c++) {
        if (after.calls[c] > me->before.calls[c])
            seen |= 1u << c;
    }
    atomic_fetch_or(&me->w->seen[me->operation], seen);
}

void fault_pause(const struct worker *me)
{
    if (me->has_fault && me->depth > 0)
        fault_disarm(me);
}

void fault_resume(const struct worker *me)
{
    if (me->has_fault && me->depth > 0)
        fault_arm(me);
}

void call_begin(struct worker *me)
{
    if (me->depth++ > 0)
        return;
    if (me->has_fault) {
        fault_arm(me);
    } else if (plan_has(&me->w->plan, GROUP_fault)) {
        me->before.size = sizeof me->before;
        (void)larder_device_get_counters(me->w->dev, &me->before);
    }
}

static unsigned explained(const struct worker *me)
{
    const struct world *w = me->w;
    unsigned may = 0;

    if (me->has_fault ||
        (w->plan.threads > 1 && plan_has(&w->plan, GROUP_fault)))
        may |= MAY(DEVICE) | MAY(NO_HOST_MEMORY) | MAY(OUT_OF_MEMORY) |
               MAY(SYSTEM) | MAY(BUSY);
    if (w->lost[0].bytes != 0) /* calls try to map it again */
        may |= MAY(DEVICE) | MAY(OUT_OF_MEMORY);
    if (w->begun > 0 || w->captured >= 0)
        may |= MAY(CAPTURING);
    if (w->is_blocked && w->captured >= 0)
        may |= MAY(DEVICE);
    return may;
}

larder_result call_end(struct worker *me, larder_result r, unsigned may,
                       const char *call)
{
    if (--me->depth > 0)
        ; /* within a callback */
    else if (me->has_fault)
        fault_disarm(me);
    else if (plan_has(&me->w->plan, GROUP_fault))
        calls_learn(me);
    if (storm_trace)
        storm_note(me, "%s -> %s%s%s", call, larder_result_name(r),
                   r == LARDER_OK ? "" : ": ",
                   r == LARDER_OK ? "" : larder_last_error());
    if (r == LARDER_OK)
        return r;
    world_note_lost(me);
    if (me->has_fault) {
        atomic_store(&me->w->settling, true);
        if (r == LARDER_ERR_DEVICE && me->w->captured >= 0)
            atomic_store(&me->w->is_blocked, true);
    }
    if (((may | explained(me)) & (1u << r)) == 0)
        storm_fail("%s gave %s: %s", call, larder_result_name(r),
                   larder_last_error());
    return r;
}
