/* replay_json.c - the result of a replay as a line of JSON. */
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "json/json_memory.h"
#include "replay/replay.h"

/* A negative number means unknown. */
static json_t *real_or_null(double x)
{
    return x >= 0 ? json_real(x) : json_null();
}

/* A figure of r, under its name. */
#define ADD(name)                                                              \
    json_object_set_new(o, #name, json_integer(json_whole(r->name)))

static void add_counts(json_t *o, const struct replay_result *r)
{
    ADD(oom_count);
    ADD(peak_requested_bytes);
    ADD(peak_allocated_bytes);
    ADD(peak_reserved_bytes);
    json_object_set_new(o, "peak_fragmentation",
                        real_or_null(r->peak_fragmentation));
    ADD(driver_allocs);
    ADD(driver_frees);
    ADD(pages_created);
    ADD(pages_mapped);
    ADD(pages_unmapped);
    ADD(stream_syncs);
    ADD(driver_calls);
    ADD(driver_time_ns);
    if (r->ns_per_op >= 0) {
        ADD(later_driver_calls);
        ADD(later_driver_time_ns);
    }
}

static void add_notes(json_t *o, const struct snap_trace_notes *r)
{
    ADD(rolled_back);
    ADD(unmatched_frees);
    ADD(overwritten);
    ADD(zero_sizes);
    ADD(deferred);
    ADD(empty_caches);
    ADD(pools);
    ADD(pool_allocs);
    ADD(unpooled);
    ADD(recorded_ooms);
}

#undef ADD

static json_t *address_json(uint64_t address)
{
    char text[32];

    snprintf(text, sizeof text, "0x%" PRIx64, address);
    return json_string(text);
}

static json_t *words_or_null(const char *text)
{
    return text[0] != '\0' ? utf8_json(text) : json_null();
}

/* Addresses are written as text: they may exceed the range of JSON numbers. */
static json_t *difference_json(const struct recorded_result *r)
{
    const struct recorded_difference *d = &r->first;

    if (r->same == r->placements)
        return json_null();
    return json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:I, s:o}", "event", json_whole(d->event),
        "bytes", json_whole(d->bytes), "expected", address_json(d->expected),
        "got", d->got != 0 ? address_json(d->got) : json_null(), "segment",
        address_json(d->segment), "segment_bytes", json_whole(d->segment_bytes),
        "frame", words_or_null(d->frame));
}

static json_t *recorded_json(const struct recorded_result *r)
{
    if (!r->compared)
        return json_pack("{s:o}", "recorded_not_compared",
                         words_or_null(r->reason));
    return json_pack(
        "{s:I, s:I, s:o, s:I, s:b, s:o, s:b, s:o}", "recorded_placements",
        json_whole(r->placements), "recorded_same", json_whole(r->same),
        "recorded_first_difference", difference_json(r),
        "recorded_segment_events", json_whole(r->segment_events),
        "recorded_segments_same", (int)r->segments_same,
        "recorded_segments_difference", words_or_null(r->segment_words),
        "recorded_end_same", (int)r->end_same, "recorded_end_difference",
        words_or_null(r->end_words));
}

/* PyTorch's settings with which the request would have fitted. */
static json_t *cures_json(const struct replay_refused *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->cure_count; i++) {
        char conf[REPLAY_CONF_MAX];

        if (r->cures[i].policy == LARDER_POLICY_PYTORCH)
            json_array_append_new(list, json_string(replay_setting_conf(
                                            &r->cures[i], NULL, conf)));
    }
    return list;
}

static bool larder_fits(const struct replay_refused *r)
{
    for (size_t i = 0; i < r->cure_count; i++) {
        if (r->cures[i].policy == LARDER_POLICY_LARDER)
            return true;
    }
    return false;
}

static json_t *refused_json(const struct replay_refused *r)
{
    if (!r->card.found)
        return json_null();
    return json_pack(
        "{s:I, s:I, s:b, s:I, s:I, s:o, s:b, s:o, s:b}", "bytes",
        json_whole(r->card.asked), "event", json_whole(r->card.event), "fits",
        (int)r->fits, "short_bytes", json_whole(r->short_bytes), "device_bytes",
        json_whole(r->device_bytes), "min_capacity_bytes",
        json_nonzero(r->min_bytes), "by_beginning", (int)r->by_beginning,
        "cures", cures_json(r), "larder_fits", (int)larder_fits(r));
}

static void add_snapshot(json_t *o, const struct replay_snapshot *s)
{
    json_t *recorded;

    add_notes(o, &s->notes);
    json_object_set_new(o, "recorded_oom", refused_json(&s->refused));
    if (!s->recorded_settings)
        return;
    recorded = recorded_json(&s->recorded);
    json_object_update(o, recorded);
    json_decref(recorded);
}

char *replay_result_json(const struct replay_result *r, const char *path,
                         const struct replay_options *options)
{
    const char *conf = options->conf != NULL ? options->conf : "";
    larder_policy policy = options->policy; /* named as what it stands for */
    json_t *o;

    if (options->release != NULL)
        policy = LARDER_POLICY_PYTORCH;
    if (r->snapshot != NULL && r->snapshot->recorded_settings) {
        conf = r->snapshot->conf;
        policy = LARDER_POLICY_PYTORCH;
    }
    json_memory_watch();
    o = json_pack("{s:o}", "trace", utf8_json(path));
    if (r->snapshot != NULL)
        json_object_set_new(o, "device",
                            json_integer(json_whole(r->snapshot->device)));
    json_object_set_new(o, "policy", json_string(larder_policy_name(policy)));
    json_object_set_new(o, "conf", utf8_json(conf));
    if (options->release != NULL)
        json_object_set_new(o, "pytorch", utf8_json(options->release));
    json_object_set_new(o, "ops", json_integer(json_whole(r->ops)));
    json_object_set_new(o, "oom_op", json_nonzero(r->oom_op));
    add_counts(o, r);
    json_object_set_new(o, "ns_per_op", real_or_null(r->ns_per_op));
    if (options->min_capacity)
        json_object_set_new(o, "min_capacity_bytes",
                            json_nonzero(r->min_capacity_bytes));
    if (r->snapshot != NULL)
        add_snapshot(o, r->snapshot);
    return json_memory_line(o);
}
