/* ops_callback.c - callbacks of requests, which call the library themselves. */
#include "storm/storm.h"

static _Thread_local struct worker *self;

void callbacks_begin(struct worker *me)
{
    self = me;
}

/* What a callback that reclaims must not do, or what the model does not follow. */
static bool allocates(const struct operation *op)
{
    return op->take == op_allocate || op->take == op_allocate_hinted ||
           op->take == op_tag_allocate || op->take == op_pinned_allocate ||
           op->take == op_migrate || op->take == op_reserve ||
           op->take == op_misuse || op->take == op_region_create ||
           op->take == op_region_commit;
}

static bool is_possible(const struct worker *me, const struct operation *op,
                        bool may_allocate)
{
    return (!op->runs_alone || me->w->plan.threads == 1) &&
           (!me->has_begun_tag ||
            (op->take != op_tag_allocate && op->take != op_misuse)) &&
           (may_allocate || !allocates(op));
}

static void act(struct worker *me, bool may_allocate)
{
    const struct operation *op = draw_operation(me);

    if (!is_possible(me, op, may_allocate))
        return;
    storm_note(me, "  called back: %s", op->name);
    op->take(me);
}

/* Not when what a callback does calls it again. */
static void act_a_little(bool may_allocate)
{
    struct worker *me = self;

    if (me == NULL || me->is_called || storm_failed() || chance(me, 3))
        return;
    me->is_called = true;
    fault_pause(me);
    for (uint64_t i = 1 + draw(me, 6); i > 0 && !storm_failed(); i--)
        act(me, may_allocate);
    fault_resume(me);
    me->is_called = false;
}

static int reclaim(void *ctx)
{
    (void)ctx;
    act_a_little(false);
    return self != NULL && chance(self, 2);
}

static void oom_seen(void *ctx, const larder_oom_info *info)
{
    (void)ctx;
    if (info->message == NULL || info->message[0] == '\0')
        storm_fail("an out-of-memory observer got no message");
    act_a_little(true);
}

void op_listen(struct worker *me)
{
    struct world *w = me->w;

    if (w->is_listening)
        return;
    w->is_listening = true;
    CALL(me, 0, larder_add_reclaim(w->a, reclaim, NULL));
    CALL(me, 0, larder_add_oom_observer(w->a, oom_seen, NULL));
    if (w->pinned != NULL)
        CALL(me, 0, larder_add_reclaim(w->pinned, reclaim, NULL));
}
