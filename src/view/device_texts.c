/* device_texts.c - see device_texts.h. */
#include "view/device_texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/explain.h"
#include "json/json_memory.h"

static json_t *stream_names(const struct snapshot *s)
{
    json_t *names = json_array();
    size_t i;

    for (i = 0; i < s->stream_count; i++) {
        char text[32];

        snprintf(text, sizeof(text), s->streams[i] < 65536 ? "%llu" : "0x%llx",
                 (unsigned long long)s->streams[i]);
        json_array_append_new(names, json_string(text));
    }
    return names;
}

static json_t *category_names(void)
{
    json_t *names = json_array();
    int i;

    for (i = 0; i < REPORT_CATEGORIES; i++)
        json_array_append_new(
            names, json_string(report_category_name((enum report_category)i)));
    return names;
}

/* The last is what the verdict is about. */
static json_t *failures_json(const struct run_summary *r,
                             const struct report_failure *failures,
                             size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct report_failure *f = &failures[i];

        json_array_append_new(
            list,
            json_pack("{s:I, s:f, s:s}", "event", (json_int_t)f->event, "bytes",
                      (double)r->lifetimes->events[f->event].size, "text",
                      f->text != NULL ? f->text
                                      : "Not explained: one of many."));
    }
    return list;
}

static json_t *marks(const struct lifetimes *l)
{
    const struct snapshot *s = l->snapshot;
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < s->annotation_count; i++) {
        const struct snapshot_annotation *a = &s->annotations[i];

        if (a->device != l->device ||
            strcmp(snapshot_string(s, a->stage), "END") == 0)
            continue;
        json_array_append_new(
            list, json_pack("{s:I, s:s}", "event",
                            (json_int_t)lifetimes_event_at(l, a->time_us),
                            "label", snapshot_string(s, a->name)));
    }
    return list;
}

static char *note_text(const struct lifetimes *l, char *text, size_t cap)
{
    uint64_t odd = l->overwritten + l->unmatched;

    text[0] = '\0';
    if (l->event_count == 0)
        snprintf(text, cap, "no events were recorded: the last state only");
    else if (odd > 0)
        snprintf(text, cap, "%" PRIu64 " events do not fit the others", odd);
    return text;
}

void device_texts_add(struct hoard *h, json_t *device,
                      const struct run_summary *r,
                      const struct report_cure *cure)
{
    const struct lifetimes *l = r->lifetimes;
    /* The report's first three lines. */
    const struct report_verdict v = report_verdict_make(h, r, cure);
    size_t failed, told;
    const struct report_failure *failures =
        report_failures(h, r, true, &failed);
    const struct report_finding *found = report_findings(h, r, &told);
    char note[80];

    json_object_set_new(device, "verdict",
                        json_pack("[s, s, s]", v.what, v.who, v.advice));
    json_object_set_new(device, "ooms", failures_json(r, failures, failed));
    json_object_set_new(device, "findings", report_findings_json(found, told));
    json_object_set_new(device, "marks", marks(l));
    json_object_set_new(device, "streams", stream_names(l->snapshot));
    json_object_set_new(device, "categories", category_names());
    json_object_set_new(device, "note",
                        json_string(note_text(l, note, sizeof(note))));
}
