/* tune_input.c - the inputs to be fitted: traces, and the devices of snapshots
 * that have a history. */
#include "tune/tune_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"
#include "snapshot/snapshot_conf.h"
#include "trace/array_room.h"
#include "trace/trace_source.h"

struct adding {
    struct tune_inputs *out;
    const char *path;
    const struct tune_base *base;
    struct tool_error *error;
};

static bool tune_input_no_memory(struct tool_error *error)
{
    return tool_fail(error, "out of host memory");
}

/* Two 64-bit hashes (FNV-1a, over words and over rotated words). */
static void hash_trace(const struct trace *t, uint64_t out[2])
{
    const uint64_t prime = UINT64_C(1099511628211);
    const uint64_t *words = (const uint64_t *)(const void *)t->ops;
    size_t count = t->op_count * (sizeof *t->ops / sizeof *words);

    out[0] = UINT64_C(14695981039346656037);
    out[1] = ~out[0];
    for (size_t i = 0; i < count; i++) {
        out[0] = (out[0] ^ words[i]) * prime;
        out[0] ^= out[0] >> 32;
        out[1] = (out[1] ^ (words[i] << 31 | words[i] >> 33)) * prime;
        out[1] ^= out[1] >> 29;
    }
}

static struct tune_input *tune_input_grow(struct adding *a)
{
    struct tune_inputs *in = a->out;

    if (!ARRAY_ROOM(in->items, in->capacity, in->count + 1))
        return NULL;
    memset(&in->items[in->count], 0, sizeof in->items[in->count]);
    return &in->items[in->count++];
}

/* Takes ownership of `conf`, which is malloc'd; the trace in *i is already
 * set. */
static bool tune_input_finish(struct adding *a, struct tune_input *i, bool many)
{
    char name[32] = "";

    if (many)
        snprintf(name, sizeof name, ":%zu", i->device);
    i->path = a->path;
    i->name = malloc(strlen(a->path) + strlen(name) + 1);
    if (i->name == NULL || i->conf == NULL)
        return tune_input_no_memory(a->error);
    strcat(strcpy(i->name, a->path), name);
    if (a->base->policy != LARDER_POLICY_DEFAULT)
        i->policy = a->base->policy;
    hash_trace(&i->trace, i->content);
    return true;
}

/* ---- snapshots ---------------------------------------------------------- */

/* The job as it was recorded, or as the caller says.  `recorded` is taken. */
static bool choose_settings(const struct adding *a, const struct snapshot *s,
                            char *recorded, struct tune_input *i)
{
    i->policy = snapshot_policy(s);
    i->conf = recorded;
    if (a->base->conf == NULL)
        return true;
    free(recorded);
    i->conf = strdup(a->base->conf);
    return i->conf != NULL || tune_input_no_memory(a->error);
}

static bool tune_input_add_device(struct adding *a, const struct snapshot *s,
                                  size_t device, bool many)
{
    struct tune_input *i = tune_input_grow(a);
    struct snap_trace_notes notes;
    struct story story;
    char *conf;
    bool ok;

    if (i == NULL)
        return tune_input_no_memory(a->error);
    i->is_snapshot = true;
    i->device = device;
    conf = replay_recorded_conf(s, NULL, a->base->conf, a->error);
    if (conf == NULL || !story_make(s, device, &story, a->error)) {
        free(conf);
        return false;
    }
    ok = recorded_card_find(story.lifetimes, conf, &i->card, a->error) &&
         (a->base->look == NULL ||
          a->base->look(story.lifetimes, &i->scope, a->error)) &&
         snap_trace_make(&story, &i->trace, &notes, a->error);
    story_free(&story);
    return choose_settings(a, s, conf, i) && ok &&
           tune_input_finish(a, i, many);
}

static bool add_devices(struct adding *a, const struct snapshot *s)
{
    size_t count = 0;

    for (size_t i = 0; i < s->device_count; i++)
        count += snapshot_has_history(s, i);
    if (count == 0)
        return tool_fail(a->error,
                         "no history: neither allocations nor frees were "
                         "recorded, and nothing can be said of other "
                         "settings; " REPLAY_HOW_TO_RECORD);
    for (size_t i = 0; i < s->device_count; i++) {
        if (snapshot_has_history(s, i) &&
            !tune_input_add_device(a, s, i, count > 1))
            return false;
    }
    return true;
}

static bool add_snapshot(struct adding *a, struct replay_input *in)
{
    struct tool_error *error = a->error;
    struct tool_error why;
    struct snapshot *s;
    bool ok;

    if (!snapshot_read_source(in->source, a->path, NULL, &s, error))
        return false;
    a->error = &why;
    ok = add_devices(a, s);
    a->error = error;
    snapshot_free(s);
    return ok || tool_fail(error, "%s: %s", a->path, why.text);
}

/* ---- traces ------------------------------------------------------------- */

static bool add_trace(struct adding *a, struct replay_input *in)
{
    struct tune_input *i = tune_input_grow(a);

    if (i == NULL) {
        trace_source_close(in->source);
        return tune_input_no_memory(a->error);
    }
    if (!trace_read_source(in->source, a->path, &i->trace, a->error))
        return false;
    if (i->trace.id_count == 0)
        return tool_fail(a->error, "%s: no allocations; expected some",
                         a->path);
    i->policy = LARDER_POLICY_PYTORCH;
    i->conf = strdup(a->base->conf != NULL ? a->base->conf : "");
    return tune_input_finish(a, i, false);
}

bool tune_inputs_add(struct tune_inputs *out, const char *path,
                     const struct tune_base *base, struct tool_error *error)
{
    struct adding a = {out, path, base, error};
    struct replay_input in;

    if (!replay_input_open(path, &in, error))
        return false;
    return in.is_snapshot ? add_snapshot(&a, &in) : add_trace(&a, &in);
}

bool tune_inputs_add_device(struct tune_inputs *out, const struct snapshot *s,
                            size_t device, const char *path,
                            const struct tune_base *base,
                            struct tool_error *error)
{
    struct adding a = {out, path, base, error};

    return tune_input_add_device(&a, s, device, false);
}

void tune_inputs_free(struct tune_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        trace_free(&in->items[i].trace);
        free(in->items[i].name);
        free(in->items[i].conf);
    }
    free(in->items);
    memset(in, 0, sizeof *in);
}
