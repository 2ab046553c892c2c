/* ranks_json.c - the ranks of one job as JSON. */
#include <jansson.h>

#include "json/json_memory.h"
#include "report/ranks.h"

static json_t *rank_json(const struct report_rank *rank)
{
    json_t *top = json_array();

    for (size_t i = 0; i < rank->holder_count; i++) {
        const struct report_holder *h = &rank->holders[i];

        json_array_append_new(
            top, json_pack("{s:I, s:I, s:s}", "bytes", json_whole(h->bytes),
                           "count", json_whole(h->count), "frame", h->frame));
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:s?, s:s?, s:o}", "file",
                     utf8_json(rank->file), "device", json_whole(rank->device),
                     "events", json_whole(rank->events), "peak_allocated_bytes",
                     json_whole(rank->peak_allocated), "peak_reserved_bytes",
                     json_whole(rank->peak_reserved), "asked_bytes",
                     json_whole(rank->asked), "cause", rank->cause, "requester",
                     rank->requester[0] != '\0' ? rank->requester : NULL, "top",
                     top);
}

static json_t *spread_json(struct report_spread s)
{
    return json_pack("{s:I, s:I, s:I}", "min", json_whole(s.min), "median",
                     json_whole(s.median), "max", json_whole(s.max));
}

static json_t *outliers_json(const struct report_ranks *ranks)
{
    struct report_middle middle = report_ranks_middle(ranks);
    json_t *list = json_array();
    struct report_outlier o;

    for (size_t i = 0; i < ranks->count; i++) {
        if (!report_ranks_outlier(ranks, &middle, i, &o))
            continue;
        json_array_append_new(
            list,
            json_pack("{s:I, s:I, s:s?, s:I}", "rank", json_whole(i),
                      "over_bytes",
                      o.over ? json_whole(o.by) : -json_whole(o.by), "frame",
                      o.frame, "frame_bytes", json_whole(o.frame_by)));
    }
    return list;
}

static json_t *common_json(const struct report_ranks *ranks)
{
    struct report_common cause = report_ranks_cause(ranks);
    struct report_common holder = report_ranks_holder(ranks);
    const struct report_rank *one = &ranks->items[cause.rank];
    const struct report_rank *other = &ranks->items[holder.rank];
    bool named = cause.count > 0 && one->requester[0] != '\0';

    return json_pack("{s:s?, s:s?, s:I, s:s?, s:I}", "cause",
                     cause.count > 0 ? one->cause : NULL, "requester",
                     named ? one->requester : NULL, "cause_ranks",
                     json_whole(cause.count), "frame",
                     holder.count > 0 ? other->holders[0].frame : NULL,
                     "frame_ranks", json_whole(holder.count));
}

bool report_ranks_write_json(FILE *out, const struct report_ranks *ranks,
                             struct tool_error *error)
{
    json_t *list;
    json_t *total;

    json_memory_watch();
    list = json_array();
    for (size_t i = 0; i < ranks->count; i++)
        json_array_append_new(list, rank_json(&ranks->items[i]));
    total =
        json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "ranks", list,
                  "failed", json_whole(report_ranks_failed(ranks)), "worst",
                  json_whole(report_ranks_worst(ranks)), "allocated_bytes",
                  spread_json(report_ranks_allocated(ranks)), "reserved_bytes",
                  spread_json(report_ranks_reserved(ranks)), "outliers",
                  outliers_json(ranks), "common", common_json(ranks));
    return json_memory_write(total, out, "the ranks", error);
}
