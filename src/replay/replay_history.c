/* replay_history.c - the allocator's own history of the cold pass, as
 * snapshots. */
#include <larder/history.h>

#include "replay/replay_session.h"

static bool is_wanted(const struct replay_options *o)
{
    return o->history_events != 0 || o->snapshot != NULL ||
           o->oom_snapshot != NULL || o->take_snapshot != NULL;
}

bool replay_history_begin(struct replay_session *s, struct tool_error *error)
{
    larder_history_options opt;

    if (!is_wanted(s->work->options))
        return true;
    larder_history_options_init(&opt);
    opt.max_events = s->work->options->history_events;
    opt.counted = true; /* a trace has no times */
    if (larder_history_start(s->allocator, &opt) != LARDER_OK)
        return tool_fail(error, "history: %s", larder_last_error());
    return true;
}

/* The label becomes a mark, and the annotation of the events that follow. */
void replay_history_mark(struct replay_session *s, const struct trace_op *op)
{
    const char *label = trace_label(s->trace, op);

    if (!is_wanted(s->work->options))
        return;
    larder_annotate(label);
    /* Cannot fail: the text is not NULL. */
    (void)larder_history_mark(s->allocator, label);
}

bool replay_history_write(struct replay_session *s, const char *path,
                          struct tool_error *error)
{
    if (path == NULL)
        return true;
    if (larder_snapshot_write(s->allocator, path, NULL) != LARDER_OK)
        return tool_fail(error, "snapshot: %s", larder_last_error());
    return true;
}

bool replay_history_hand_over(struct replay_session *s,
                              struct tool_error *error)
{
    const struct replay_options *o = s->work->options;

    if (o->take_snapshot != NULL &&
        larder_snapshot_write_to(s->allocator, o->take_snapshot,
                                 o->take_snapshot_ctx, NULL) != LARDER_OK)
        return tool_fail(error, "snapshot: %s", larder_last_error());
    return true;
}

/* The timed passes run without a history. */
void replay_history_end(struct replay_session *s)
{
    if (!is_wanted(s->work->options))
        return;
    larder_annotate(NULL);
    (void)larder_history_stop(s->allocator); /* fails only without a history */
}
