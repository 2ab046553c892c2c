/* ops_history.c - what is recorded, and written. */
#include "storm/storm.h"

static size_t stack_of(void *ctx, uint64_t *frames, size_t capacity)
{
    (void)ctx;
    for (size_t i = 0; i < 3 && i < capacity; i++)
        frames[i] = 1 + i;
    return capacity < 3 ? capacity : 3;
}

static int frame_of(void *ctx, uint64_t frame, larder_frame *out)
{
    (void)ctx;
    snprintf(out->name, sizeof out->name, "frame %d", (int)frame);
    return 1;
}

static int count_event(void *ctx, const larder_event *event)
{
    uint64_t *count = ctx;

    (void)event;
    ++*count;
    return 0;
}

static void history_look(struct worker *me)
{
    larder_history_info info = {.size = sizeof info};
    uint64_t count = 0;

    if (CALL(me, 0, larder_history_get(me->w->a, &info)) == LARDER_OK &&
        CALL(me, 0, larder_history_walk(me->w->a, count_event, &count)) ==
            LARDER_OK &&
        count > info.max_events)
        storm_fail("%llu events in a ring of %llu", (unsigned long long)count,
                   (unsigned long long)info.max_events);
}

void op_history(struct worker *me)
{
    larder_allocator *a = me->w->a;
    larder_history_options opt;

    larder_history_options_init(&opt);
    opt.max_events = 64 << draw(me, 6);
    opt.stacks = chance(me, 2) ? LARDER_STACKS_CALLBACK : LARDER_STACKS_OFF;
    opt.stack_bytes = KIB(64);
    opt.stack_fn = stack_of;
    switch (draw(me, 4)) {
    case 0:
        CALL(me, 0, larder_history_start(a, &opt));
        CALL(me, 0, larder_set_frame_resolver(a, frame_of, NULL));
        break;
    case 1:
        CALL(me, 0, larder_history_stop(a));
        break;
    case 2:
        CALL(me, 0, larder_history_clear(a));
        break;
    default:
        history_look(me);
    }
}

void op_annotate(struct worker *me)
{
    static const char *const texts[] = {"forward", "backward", "step"};

    switch (draw(me, 4)) {
    case 0:
        larder_annotate(texts[draw(me, 3)]);
        break;
    case 1:
        larder_annotate_push(texts[draw(me, 3)]);
        break;
    case 2:
        larder_annotate_pop();
        break;
    default:
        CALL(me, 0, larder_history_mark(me->w->a, "a mark"));
    }
}

static int count_bytes(void *ctx, const void *bytes, size_t count)
{
    size_t *all = ctx;

    (void)bytes;
    *all += count;
    return 0;
}

void op_snapshot(struct worker *me)
{
    larder_snapshot_options opt;
    size_t bytes = 0;

    larder_snapshot_options_init(&opt);
    opt.format = chance(me, 2) ? LARDER_SNAPSHOT_JSON : LARDER_SNAPSHOT_PICKLE;
    opt.no_history = (int)draw(me, 2);
    if (CALL(me, 0,
             larder_snapshot_write_to(me->w->a, count_bytes, &bytes, &opt)) ==
            LARDER_OK &&
        bytes == 0)
        storm_fail("a snapshot has no bytes");
    if (chance(me, 8))
        CALL(me, 0, larder_snapshot_write(me->w->a, "/dev/null", &opt));
}
