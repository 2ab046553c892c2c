/* snap_finish.c - converts the outermost dict's lists of records to the arrays
 * of the snapshot. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_builder.h"
#include "snapshot/snap_rest.h"

static bool wrong(struct snap_builder *b, const struct snap_value *v,
                  const char *name, const char *expected)
{
    return snap_fail_at(b, v->at, "\"%s\" is %s; expected %s", name,
                        snap_kind_name(b, v), expected);
}

/* Records in unknown lists are stored after the regular ones: `all` becomes the
 * number of records in the list `v`. */
static void set_rest_apart(struct snap_builder *b, const struct snap_value *v,
                           enum snap_kind kind, size_t *all)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);

    if (!b->has_more)
        return;
    if (v->kind == SNAP_EMPTY_LIST)
        *all = 0;
    else if (o != NULL && o->range == kind && o->first == 0 && o->count < *all)
        *all = o->count;
}

/* Whether a list contains all records of a kind, in order. */
static bool whole_range(struct snap_builder *b, const struct snap_value *v,
                        enum snap_kind kind, size_t all)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);

    if (v->kind == SNAP_EMPTY_LIST)
        return all == 0;
    return o != NULL && o->range == kind && o->first == 0 && o->count == all;
}

/* ---- segments and annotations --------------------------------------------- */

static bool finish_segments(struct snap_builder *b, const struct snap_value *v)
{
    size_t blocks = 0;

    set_rest_apart(b, v, SNAP_SEGMENT, &b->s->segment_count);
    if (!whole_range(b, v, SNAP_SEGMENT, b->s->segment_count))
        return wrong(b, v, "segments",
                     "a list of segments, each with its blocks");
    for (size_t i = 0; i < b->s->segment_count; i++) {
        if (b->s->segments[i].device == SNAPSHOT_ON_HOST)
            return wrong(b, v, "segments",
                         "a list of those of devices, from 0");
        blocks += b->s->segments[i].block_count;
    }
    if (b->has_more && blocks < b->s->block_count)
        b->s->block_count = blocks;
    if (blocks != b->s->block_count)
        return snap_fail_at(b, v->at,
                            "a block is in no segment; expected each in one");
    return true;
}

static bool finish_annotations(struct snap_builder *b,
                               const struct snap_value *v)
{
    if (!whole_range(b, v, SNAP_ANNOTATION, b->s->annotation_count))
        return wrong(b, v, "external_annotations", "a list of all annotations");
    b->s->has_external_annotations = true;
    return true;
}

/* ---- traces --------------------------------------------------------------- */

static bool snap_finish_add_device(struct snap_builder *b,
                                   const struct snap_value *v, size_t *seen)
{
    struct snapshot *s = b->s;
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    size_t count = 0;

    if (s->device_count == SNAPSHOT_ON_HOST)
        return snap_fail_at(b, v->at, "more than 65535 devices");
    if (v->kind != SNAP_EMPTY_LIST) {
        if (o == NULL || o->range != SNAP_EVENT || o->first != *seen)
            return wrong(b, v, "device_traces",
                         "a list of events for each device");
        count = o->count;
    }
    if (!snap_reserve(&b->memory, &s->devices, &b->device_capacity,
                      s->device_count + 1, sizeof *s->devices))
        return snap_no_memory(b);
    for (size_t i = *seen; i < *seen + count; i++)
        s->events[i].device = (uint16_t)s->device_count;
    s->devices[s->device_count++] =
        (struct snapshot_device){.first = *seen, .count = count};
    *seen += count;
    return true;
}

static bool finish_traces(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    size_t seen = 0;

    if (v->kind != SNAP_EMPTY_LIST) {
        if (o == NULL || o->range != SNAP_UNSET)
            return wrong(b, v, "device_traces", "a list of lists of events");
        for (size_t i = 0; i < o->count; i++) {
            if (!snap_finish_add_device(b, &o->items[i], &seen))
                return false;
        }
    }
    if (b->has_more && seen < b->s->event_count)
        b->s->event_count = seen;
    if (seen != b->s->event_count)
        return snap_fail_at(b, v->at,
                            "an event is in no list of a device; expected "
                            "each in one");
    b->s->has_device_traces = true;
    return true;
}

static bool is_count(const struct snap_value *v)
{
    return v->kind == SNAP_UINT ||
           (v->kind == SNAP_INT && (int64_t)v->bits >= 0);
}

/* ---- settings ------------------------------------------------------------- */

static bool set_bool(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v, bool *has, bool *out)
{
    if (v->kind != SNAP_BOOL)
        return wrong(b, v, larder__snapshot_words[key], "a bool");
    *has = true;
    *out = v->bits != 0;
    return true;
}

static bool set_integer(struct snap_builder *b, uint64_t key,
                        const struct snap_value *v, bool *has, int64_t *out)
{
    if (v->kind != SNAP_INT)
        return wrong(b, v, larder__snapshot_words[key],
                     "an integer below 2^63");
    *has = true;
    *out = (int64_t)v->bits;
    return true;
}

static bool set_real(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v, bool *has, double *out)
{
    if (v->kind == SNAP_REAL)
        memcpy(out, &v->bits, sizeof *out);
    else if (v->kind == SNAP_INT)
        *out = (double)(int64_t)v->bits;
    else
        return wrong(b, v, larder__snapshot_words[key], "a number");
    *has = true;
    return true;
}

static bool set_roundup(struct snap_builder *b, const struct snap_value *v)
{
    struct snapshot_settings *t = &b->s->settings;
    const struct snap_object *o = snap_object_of(b, v, SNAP_DICT);
    const char *expected = "a dict of sizes in MiB and numbers of divisions";

    if (o == NULL || o->count / 2 > SNAPSHOT_ROUNDUP_MAX)
        return wrong(b, v, larder__snapshot_words[KEY_ROUNDUP], expected);
    for (size_t i = 0; i < o->count; i += 2) {
        const struct snap_value *key = &o->items[i];
        const struct snap_value *value = &o->items[i + 1];
        char *end;

        if (key->kind != SNAP_STRING || value->kind != SNAP_INT)
            return wrong(b, v, larder__snapshot_words[KEY_ROUNDUP], expected);
        t->roundup[i / 2].size_mib =
            strtoull(snapshot_string(b->s, (uint32_t)key->bits), &end, 10);
        if (*end != '\0')
            return wrong(b, v, larder__snapshot_words[KEY_ROUNDUP], expected);
        t->roundup[i / 2].divisions = (int64_t)value->bits;
    }
    t->has_roundup = true;
    t->roundup_count = o->count / 2;
    return true;
}

static bool set_conf(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v)
{
    if (v->kind == SNAP_NULL)
        return true;
    if (v->kind != SNAP_STRING)
        return wrong(b, v, larder__snapshot_words[key], "a string");
    b->s->settings.confs[key - KEY_CUDA_CONF] = (uint32_t)v->bits + 1;
    /* There may be several of these keys: a value that is not empty wins. */
    if (v->bits != WORD_EMPTY)
        b->s->settings.conf = (uint32_t)v->bits;
    return true;
}

/* Count and keep an unknown key. */
static bool take_unknown(struct snap_builder *b, const struct snap_value *key,
                         const struct snap_value *v)
{
    uint32_t n =
        key->kind == SNAP_STRING ? (uint32_t)key->bits : (uint32_t)WORD_EMPTY;

    if (!snap_intern_unknown(&b->intern, n))
        return snap_no_memory(b);
    return snap_rest_add(b, SNAP_REST_ROOT, key, v);
}

static bool set_one(struct snap_builder *b, const struct snap_value *name,
                    const struct snap_value *v)
{
    uint64_t key = name->kind == SNAP_STRING ? name->bits : WORD_EMPTY;
    struct snapshot_settings *t = &b->s->settings;

    switch (key) {
    case KEY_CUDA_CONF:
    case KEY_CONF:
    case KEY_HIP_CONF:
        return set_conf(b, key, v);
    case KEY_MAX_SPLIT:
        return set_integer(b, key, v, &t->has_max_split_size,
                           &t->max_split_size);
    case KEY_GC_THRESHOLD:
        return set_real(b, key, v, &t->has_garbage_collection_threshold,
                        &t->garbage_collection_threshold);
    case KEY_PINNED_THREADS:
        return set_integer(b, key, v, &t->has_pinned_num_register_threads,
                           &t->pinned_num_register_threads);
    case KEY_EXPANDABLE:
        return set_bool(b, key, v, &t->has_expandable_segments,
                        &t->expandable_segments);
    case KEY_RELEASE_LOCK:
        return set_bool(b, key, v, &t->has_release_lock_on_cudamalloc,
                        &t->release_lock_on_cudamalloc);
    case KEY_PINNED_REGISTER:
        return set_bool(b, key, v, &t->has_pinned_use_cuda_host_register,
                        &t->pinned_use_cuda_host_register);
    case KEY_CAPTURE_REUSE:
        return set_bool(b, key, v, &t->has_graph_capture_record_stream_reuse,
                        &t->graph_capture_record_stream_reuse);
    case KEY_ROUNDUP:
        return set_roundup(b, v);
    default:
        return take_unknown(b, name, v);
    }
}

static bool finish_settings(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_DICT);

    if (o == NULL)
        return wrong(b, v, "allocator_settings", "a dict");
    b->s->settings.present = true;
    for (size_t i = 0; i < o->count; i += 2) {
        if (!set_one(b, &o->items[i], &o->items[i + 1]))
            return false;
    }
    return snap_rest_end(b, &b->s->settings.rest);
}

/* ---- Larder's own keys ----------------------------------------------------- */

static bool set_count(struct snap_builder *b, uint64_t key,
                      const struct snap_value *v, uint64_t *out)
{
    if (!is_count(v))
        return wrong(b, v, larder__snapshot_words[key],
                     "an integer of 0 or more");
    *out = v->bits;
    return true;
}

static bool set_text(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v, uint32_t *out)
{
    if (v->kind != SNAP_STRING)
        return wrong(b, v, larder__snapshot_words[key], "a string");
    *out = (uint32_t)v->bits + 1;
    return true;
}

static bool set_own(struct snap_builder *b, uint64_t key,
                    const struct snap_value *v)
{
    struct snapshot_own *own = &b->s->own;

    switch (key) {
    case KEY_LOST_EVENTS:
        return set_count(b, key, v, &b->s->lost_events);
    case KEY_OWN_POLICY:
        return set_text(b, key, v, &own->policy);
    case KEY_OWN_CONF:
        return set_text(b, key, v, &own->conf);
    case KEY_TOTAL_BYTES:
        return set_count(b, key, v, &own->total_bytes);
    default:
        return true;
    }
}

static bool finish_larder(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_DICT);

    if (o == NULL)
        return wrong(b, v, "larder", "a dict");
    for (size_t i = 0; i < o->count; i += 2) {
        if (o->items[i].kind == SNAP_STRING &&
            !set_own(b, o->items[i].bits, &o->items[i + 1]))
            return false;
    }
    return true;
}

/* ---- the outermost dict --------------------------------------------------- */

static bool finish_key(struct snap_builder *b, uint64_t key,
                       const struct snap_value *v)
{
    switch (key) {
    case KEY_ALLOCATOR_SETTINGS:
        return v->kind == SNAP_NULL || finish_settings(b, v);
    case KEY_EXTERNAL_ANNOTATIONS:
        return v->kind == SNAP_NULL || finish_annotations(b, v);
    case KEY_DEVICE_TRACES:
        return v->kind == SNAP_NULL || finish_traces(b, v);
    default: /* KEY_SEGMENTS */
        return finish_segments(b, v);
    }
}

/* Whether a value is a list of segments or events, or of lists of them. */
static bool holds_records(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);

    if (o == NULL)
        return false;
    if (o->range == SNAP_SEGMENT || o->range == SNAP_EVENT)
        return true;
    return o->range == SNAP_UNSET && o->count > 0 && o->items != NULL &&
           (o = snap_object_of(b, &o->items[0], SNAP_LIST)) != NULL &&
           o->range == SNAP_EVENT;
}

/* A key that is not known from PyTorch's snapshots.  In JSON without stacks the
 * lists of stacks are empty, and are ignored. */
static bool finish_other(struct snap_builder *b, const struct snap_value *key,
                         const struct snap_value *v)
{
    if (key->kind == SNAP_STRING && key->bits == KEY_LARDER)
        return (v->kind == SNAP_NULL || finish_larder(b, v)) &&
               snap_rest_add(b, SNAP_REST_ROOT, key, v);
    if (key->kind == SNAP_STRING && v->kind == SNAP_EMPTY_LIST &&
        (key->bits == KEY_FRAMES || key->bits == KEY_STACKS))
        return true;
    b->has_more |= holds_records(b, v);
    return take_unknown(b, key, v);
}

/* The value of each key; the last one counts if a key is repeated. */
enum { ROOT_KEYS = KEY_EXTERNAL_ANNOTATIONS - KEY_SEGMENTS + 1 };

static bool finish_dict(struct snap_builder *b, const struct snap_value *root,
                        const struct snap_object *o)
{
    const struct snap_value *found[ROOT_KEYS] = {NULL};
    const struct snap_value *frames = NULL;
    const struct snap_value *stacks = NULL;

    for (size_t i = 0; i < o->count; i += 2) {
        const struct snap_value *key = &o->items[i];
        uint64_t n = key->kind == SNAP_STRING ? key->bits : WORD_EMPTY;

        if (n >= KEY_SEGMENTS && n <= KEY_EXTERNAL_ANNOTATIONS)
            found[n - KEY_SEGMENTS] = &o->items[i + 1];
        else if (b->stack_numbers && n == KEY_FRAMES)
            frames = &o->items[i + 1];
        else if (b->stack_numbers && n == KEY_STACKS)
            stacks = &o->items[i + 1];
        else if (!finish_other(b, key, &o->items[i + 1]))
            return false;
    }
    if (!snap_rest_end(b, &b->s->rest))
        return false;
    if (found[0] == NULL)
        return snap_fail_at(b, root->at,
                            "a dict without the key \"segments\"; expected a "
                            "memory snapshot");
    for (uint64_t n = 0; n < ROOT_KEYS; n++) {
        if (found[n] != NULL && !finish_key(b, KEY_SEGMENTS + n, found[n]))
            return false;
    }
    return !b->stack_numbers || snap_resolve_stacks(b, root, frames, stacks);
}

/* Check that nothing was read outside of the regular lists. */
static bool nothing_astray(struct snap_builder *b, const struct snap_value *v)
{
    const struct snapshot *s = b->s;

    if ((s->event_count > 0 && !s->has_device_traces) ||
        (s->annotation_count > 0 && !s->has_external_annotations))
        return snap_fail_at(b, v->at,
                            "events or annotations outside device_traces and "
                            "external_annotations");
    return true;
}

bool snap_finish(struct snap_builder *b)
{
    struct snap_value *v;
    const struct snap_object *o;

    if (b->depth != 1)
        return snap_fail(b, "%zu values where the file ends; expected one",
                         b->depth);
    v = &b->stack[0];
    if (v->kind == SNAP_OBJECT && !snap_settle(b, v))
        return false;
    b->s->event_end = b->s->event_count;
    b->s->segment_end = b->s->segment_count;
    b->s->block_end = b->s->block_count;
    o = snap_object_of(b, v, SNAP_DICT);
    if (o != NULL)
        return finish_dict(b, v, o) && nothing_astray(b, v);
    if (b->stack_numbers)
        return snap_fail_at(b, v->at,
                            "stacks are referenced by number, but are not in "
                            "the file; expected a dict with \"stacks\"");
    /* The result of memory_snapshot(). */
    if (whole_range(b, v, SNAP_SEGMENT, b->s->segment_count))
        return finish_segments(b, v) && nothing_astray(b, v);
    return snap_fail_at(b, v->at,
                        "the file is %s; expected a dict with the key "
                        "\"segments\"",
                        snap_kind_name(b, v));
}
