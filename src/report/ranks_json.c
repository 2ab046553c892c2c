/* ranks_json.c - the ranks of one job as JSON, written and read. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json/json_memory.h"
#include "report/ranks.h"
#include "snapshot/plain_text.h"

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

/* ---- reading what was written, perhaps elsewhere ------------------------- */

static const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

/* False: no whole number from 0 on. */
static bool take_number(const json_t *o, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(o, key);

    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static void take_text(const char *text, char *out, size_t room)
{
    if (text != NULL)
        snprintf(out, room, "%s", text);
    plain_text(out);
}

static bool take_holders(const json_t *top, struct report_rank *rank)
{
    size_t i;
    json_t *o;

    json_array_foreach(top, i, o)
    {
        struct report_holder *h = &rank->holders[i];

        if (i == RANK_HOLDERS)
            break;
        if (text_of(o, "frame") == NULL ||
            !take_number(o, "bytes", &h->bytes) ||
            !take_number(o, "count", &h->count))
            return false;
        take_text(text_of(o, "frame"), h->frame, sizeof h->frame);
        rank->holder_count++;
    }
    return json_is_array(top);
}

/* All but the name of the file. */
static bool take_rank(const json_t *o, struct report_rank *rank)
{
    const char *cause = text_of(o, "cause");
    uint64_t device;

    if (!take_number(o, "device", &device) || device > UINT16_MAX ||
        !take_number(o, "events", &rank->events) ||
        !take_number(o, "peak_allocated_bytes", &rank->peak_allocated) ||
        !take_number(o, "peak_reserved_bytes", &rank->peak_reserved) ||
        !take_number(o, "asked_bytes", &rank->asked))
        return false;
    rank->device = (size_t)device;
    rank->cause = cause != NULL ? report_rank_cause(cause) : NULL;
    if ((rank->asked > 0) != (rank->cause != NULL))
        return false;
    take_text(text_of(o, "requester"), rank->requester, sizeof rank->requester);
    return take_holders(json_object_get(o, "top"), rank);
}

static bool take_all(const char *path, const json_t *list,
                     struct report_ranks *out, struct tool_error *error)
{
    size_t i;
    json_t *o;

    json_array_foreach(list, i, o)
    {
        const char *file = text_of(o, "file");
        struct report_rank *rank;

        if (file == NULL)
            return tool_fail(error, "%s: rank %zu has no file", path, i);
        rank = report_ranks_new(out, file, error);
        if (rank == NULL)
            return false;
        if (!take_rank(o, rank))
            return tool_fail(error,
                             "%s: rank %zu is not what larder report --ranks "
                             "--json writes",
                             path, i);
    }
    return true;
}

static bool begins_as_ranks(const char *path)
{
    static const char beginning[] = "{\"ranks\": [";
    char read[sizeof beginning];
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return false;
    read[fread(read, 1, sizeof beginning - 1, f)] = '\0';
    fclose(f);
    /* With or without the blank, as Python's json writes it. */
    return strncmp(read, beginning, sizeof beginning - 1) == 0 ||
           strncmp(read, "{\"ranks\":[", sizeof beginning - 2) == 0;
}

bool report_ranks_read(struct report_ranks *out, const char *path,
                       bool *are_ranks, struct tool_error *error)
{
    json_error_t why;
    json_t *total;
    bool ok;

    *are_ranks = begins_as_ranks(path);
    if (!*are_ranks)
        return true;
    total = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (total == NULL)
        return tool_fail(error, "%s:%d: %s", path, why.line, why.text);
    ok = take_all(path, json_object_get(total, "ranks"), out, error);
    json_decref(total);
    return ok;
}
