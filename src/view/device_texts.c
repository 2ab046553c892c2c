/* device_texts.c - see device_texts.h. */
#include "view/device_texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/explain.h"
#include "report/json_memory.h"

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

static bool add_failure(json_t *list, const struct run_summary *r,
                        uint32_t event, bool explain, struct tool_error *error)
{
    const struct lifetimes *l = r->lifetimes;
    char *text = NULL;

    if (explain && !report_explain_oom(l, r->categories, event, &text, error))
        return false;
    json_array_append_new(
        list, json_pack("{s:I, s:f, s:s}", "event", (json_int_t)event, "bytes",
                        (double)l->events[event].size, "text",
                        text != NULL ? text : "Not explained: one of many."));
    free(text);
    return true;
}

/* The last is what the verdict is about. */
static bool add_failures(json_t *list, const struct run_summary *r,
                         struct tool_error *error)
{
    const struct lifetimes *l = r->lifetimes;
    uint32_t told = 0;
    bool ok = true;

    for (uint32_t i = 0; ok && i < l->event_count; i++) {
        if (l->events[i].action != SNAPSHOT_OOM)
            continue;
        told++;
        ok = add_failure(list, r, i,
                         told <= REPORT_OOMS_EXPLAINED ||
                             told == r->counts[SNAPSHOT_OOM],
                         error);
    }
    return ok;
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

bool device_texts_add(json_t *device, const struct run_summary *r,
                      const struct report_cure *cure, struct tool_error *error)
{
    const struct lifetimes *l = r->lifetimes;
    struct report_verdict v;
    json_t *ooms = json_array();
    json_t *found = NULL;
    char note[80];
    bool ok = report_verdict_make(r, cure, &v, error);

    if (ok) { /* the report's first three lines */
        json_object_set_new(device, "verdict",
                            json_pack("[s, s, s]", v.what, v.who, v.advice));
        report_verdict_free(&v);
    }
    ok = ok && add_failures(ooms, r, error) &&
         (found = json_findings(r, error)) != NULL;
    json_object_set_new(device, "ooms", ooms);
    json_object_set_new(device, "findings", found);
    json_object_set_new(device, "marks", marks(l));
    json_object_set_new(device, "streams", stream_names(l->snapshot));
    json_object_set_new(device, "categories", category_names());
    json_object_set_new(device, "note",
                        json_string(note_text(l, note, sizeof(note))));
    return ok;
}
