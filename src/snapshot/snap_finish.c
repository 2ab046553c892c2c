/* snap_finish.c - converts the outermost dict's lists of records to the arrays
 * of the snapshot. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_builder.h"
#include "snapshot/snap_rest.h"
#include "snapshot/snap_settings.h"

TOOL_NO_RETURN static void wrong(struct snap_builder *b,
                                 const struct snap_value *v, const char *name,
                                 const char *expected)
{
    snap_fail_at(b, v->at, "\"%s\" is %s; expected %s", name,
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

static void finish_segments(struct snap_builder *b, const struct snap_value *v)
{
    size_t blocks = 0;

    set_rest_apart(b, v, SNAP_SEGMENT, &b->s->segment_count);
    if (!whole_range(b, v, SNAP_SEGMENT, b->s->segment_count))
        wrong(b, v, "segments", "a list of segments, each with its blocks");
    for (size_t i = 0; i < b->s->segment_count; i++) {
        if (b->s->segments[i].device == SNAPSHOT_ON_HOST)
            wrong(b, v, "segments", "a list of those of devices, from 0");
        blocks += b->s->segments[i].block_count;
    }
    if (b->has_more && blocks < b->s->block_count)
        b->s->block_count = blocks;
    if (blocks != b->s->block_count)
        snap_fail_at(b, v->at,
                     "a block is in no segment; expected each in one");
}

static void finish_annotations(struct snap_builder *b,
                               const struct snap_value *v)
{
    if (!whole_range(b, v, SNAP_ANNOTATION, b->s->annotation_count))
        wrong(b, v, "external_annotations", "a list of all annotations");
    b->s->has_external_annotations = true;
}

/* ---- traces --------------------------------------------------------------- */

static void add_device(struct snap_builder *b, const struct snap_value *v,
                       size_t *seen)
{
    struct snapshot *s = b->s;
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    size_t count = 0;

    if (s->device_count == SNAPSHOT_ON_HOST)
        snap_fail_at(b, v->at, "more than 65535 devices");
    if (v->kind != SNAP_EMPTY_LIST) {
        if (o == NULL || o->range != SNAP_EVENT || o->first != *seen)
            wrong(b, v, "device_traces", "a list of events for each device");
        count = o->count;
    }
    for (size_t i = *seen; i < *seen + count; i++)
        s->events[i].device = (uint16_t)s->device_count;
    SNAP_ADD(b, s->devices, s->device_count, b->device_capacity,
             ((struct snapshot_device){.first = *seen, .count = count}));
    *seen += count;
}

static void finish_traces(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_LIST);
    size_t seen = 0;

    if (v->kind != SNAP_EMPTY_LIST) {
        if (o == NULL || o->range != SNAP_UNSET)
            wrong(b, v, "device_traces", "a list of lists of events");
        for (size_t i = 0; i < o->count; i++)
            add_device(b, &o->items[i], &seen);
    }
    if (b->has_more && seen < b->s->event_count)
        b->s->event_count = seen;
    if (seen != b->s->event_count)
        snap_fail_at(b, v->at,
                     "an event is in no list of a device; expected "
                     "each in one");
    b->s->has_device_traces = true;
}

/* ---- settings ------------------------------------------------------------- */

TOOL_NO_RETURN static void wrong_key(struct snap_builder *b, uint64_t key,
                                     const struct snap_value *v,
                                     const char *expected)
{
    wrong(b, v, larder__snapshot_words[key], expected);
}

/* The bits of a value of this kind. */
static uint64_t take(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v, enum snap_kind kind,
                     const char *expected)
{
    if (v->kind != kind)
        wrong_key(b, key, v, expected);
    return v->bits;
}

static bool take_bool(struct snap_builder *b, uint64_t key,
                      const struct snap_value *v)
{
    return take(b, key, v, SNAP_BOOL, "a bool") != 0;
}

static int64_t take_signed(struct snap_builder *b, uint64_t key,
                           const struct snap_value *v)
{
    return (int64_t)take(b, key, v, SNAP_INT, "an integer below 2^63");
}

static double take_real(struct snap_builder *b, uint64_t key,
                        const struct snap_value *v)
{
    double real;

    if (v->kind == SNAP_INT)
        return (double)(int64_t)v->bits;
    take(b, key, v, SNAP_REAL, "a number");
    memcpy(&real, &v->bits, sizeof real);
    return real;
}

static void set_roundup(struct snap_builder *b, uint64_t key,
                        const struct snap_value *v)
{
    struct snapshot_settings *t = &b->s->settings;
    const struct snap_object *o = snap_object_of(b, v, SNAP_DICT);
    const char *expected = "a dict of sizes in MiB and numbers of divisions";

    if (o == NULL || o->count / 2 > SNAPSHOT_ROUNDUP_MAX)
        wrong_key(b, key, v, expected);
    for (size_t i = 0; i < o->count; i += 2) {
        const struct snap_value *size = &o->items[i];
        const struct snap_value *divisions = &o->items[i + 1];
        char *end;

        if (size->kind != SNAP_STRING || divisions->kind != SNAP_INT)
            wrong_key(b, key, v, expected);
        t->roundup[i / 2].size_mib =
            strtoull(snapshot_string(b->s, (uint32_t)size->bits), &end, 10);
        if (*end != '\0')
            wrong_key(b, key, v, expected);
        t->roundup[i / 2].divisions = (int64_t)divisions->bits;
    }
    t->has_roundup = true;
    t->roundup_count = o->count / 2;
}

static void set_conf(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v)
{
    struct snapshot_settings *t = &b->s->settings;
    uint32_t text;

    if (v->kind == SNAP_NULL)
        return;
    text = (uint32_t)take(b, key, v, SNAP_STRING, "a string");
    t->confs[key - KEY_CUDA_CONF] = text + 1;
    /* There may be several of these keys: a value that is not empty wins. */
    if (text != WORD_EMPTY)
        t->conf = text;
}

static uint64_t key_of(const struct snap_value *name)
{
    return name->kind == SNAP_STRING ? name->bits : WORD_EMPTY;
}

/* Count and keep an unknown key. */
static void take_unknown(struct snap_builder *b, const struct snap_value *key,
                         const struct snap_value *v)
{
    snap_intern_unknown(b, (uint32_t)key_of(key));
    snap_rest_add(b, SNAP_REST_ROOT, key, v);
}

static void set_one(struct snap_builder *b, const struct snap_value *name,
                    const struct snap_value *v)
{
    uint64_t key = key_of(name);
    struct snapshot_settings *t = &b->s->settings;

    switch (key) {
    case KEY_CUDA_CONF:
    case KEY_CONF:
    case KEY_HIP_CONF:
        set_conf(b, key, v);
        break;
#define X(type, number, name)                                                  \
    case number:                                                               \
        t->name = take_##type(b, key, v);                                      \
        t->has_##name = true;                                                  \
        break;
        SNAP_SETTINGS(X)
#undef X
    case KEY_ROUNDUP:
        set_roundup(b, key, v);
        break;
    default:
        take_unknown(b, name, v);
    }
}

static const struct snap_object *need_dict(struct snap_builder *b, uint64_t key,
                                           const struct snap_value *v)
{
    const struct snap_object *o = snap_object_of(b, v, SNAP_DICT);

    if (o == NULL)
        wrong_key(b, key, v, "a dict");
    return o;
}

static void finish_settings(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = need_dict(b, KEY_ALLOCATOR_SETTINGS, v);

    b->s->settings.present = true;
    for (size_t i = 0; i < o->count; i += 2)
        set_one(b, &o->items[i], &o->items[i + 1]);
    b->s->settings.rest = snap_rest_end(b);
}

/* ---- Larder's own keys ----------------------------------------------------- */

static void set_count(struct snap_builder *b, uint64_t key,
                      const struct snap_value *v, uint64_t *out)
{
    if (!snap_is_count(v))
        wrong_key(b, key, v, "an integer of 0 or more");
    *out = v->bits;
}

static void set_text(struct snap_builder *b, uint64_t key,
                     const struct snap_value *v, uint32_t *out)
{
    *out = (uint32_t)take(b, key, v, SNAP_STRING, "a string") + 1;
}

static void finish_larder(struct snap_builder *b, const struct snap_value *v)
{
    const struct snap_object *o = need_dict(b, KEY_LARDER, v);
    struct snapshot_own *own = &b->s->own;

    for (size_t i = 0; i < o->count; i += 2) {
        uint64_t key = key_of(&o->items[i]);
        const struct snap_value *value = &o->items[i + 1];

        if (key == KEY_LOST_EVENTS)
            set_count(b, key, value, &b->s->lost_events);
        else if (key == KEY_TOTAL_BYTES)
            set_count(b, key, value, &own->total_bytes);
        else if (key == KEY_OWN_POLICY)
            set_text(b, key, value, &own->policy);
        else if (key == KEY_OWN_CONF)
            set_text(b, key, value, &own->conf);
    }
}

/* ---- the outermost dict --------------------------------------------------- */

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
static void finish_other(struct snap_builder *b, const struct snap_value *key,
                         const struct snap_value *v)
{
    uint64_t n = key_of(key);

    if (n == KEY_LARDER) {
        if (v->kind != SNAP_NULL)
            finish_larder(b, v);
        snap_rest_add(b, SNAP_REST_ROOT, key, v);
    } else if (v->kind != SNAP_EMPTY_LIST ||
               (n != KEY_FRAMES && n != KEY_STACKS)) {
        b->has_more |= holds_records(b, v);
        take_unknown(b, key, v);
    }
}

/* The value of each key; the last one counts if a key is repeated. */
enum { ROOT_KEYS = KEY_EXTERNAL_ANNOTATIONS - KEY_SEGMENTS + 1 };

static void finish_dict(struct snap_builder *b, const struct snap_value *root,
                        const struct snap_object *o)
{
    static void (*const finish[ROOT_KEYS])(struct snap_builder *,
                                           const struct snap_value *) = {
        [KEY_DEVICE_TRACES - KEY_SEGMENTS] = finish_traces,
        [KEY_ALLOCATOR_SETTINGS - KEY_SEGMENTS] = finish_settings,
        [KEY_EXTERNAL_ANNOTATIONS - KEY_SEGMENTS] = finish_annotations,
    };
    const struct snap_value *found[ROOT_KEYS] = {NULL};
    const struct snap_value *frames = NULL;
    const struct snap_value *stacks = NULL;

    for (size_t i = 0; i < o->count; i += 2) {
        uint64_t n = key_of(&o->items[i]);

        if (n >= KEY_SEGMENTS && n <= KEY_EXTERNAL_ANNOTATIONS)
            found[n - KEY_SEGMENTS] = &o->items[i + 1];
        else if (b->stack_numbers && n == KEY_FRAMES)
            frames = &o->items[i + 1];
        else if (b->stack_numbers && n == KEY_STACKS)
            stacks = &o->items[i + 1];
        else
            finish_other(b, &o->items[i], &o->items[i + 1]);
    }
    b->s->rest = snap_rest_end(b);
    if (found[0] == NULL)
        snap_fail_at(b, root->at,
                     "a dict without the key \"segments\"; expected a "
                     "memory snapshot");
    finish_segments(b, found[0]);
    for (size_t n = 1; n < ROOT_KEYS; n++) {
        if (found[n] != NULL && found[n]->kind != SNAP_NULL)
            finish[n](b, found[n]);
    }
    if (b->stack_numbers)
        snap_resolve_stacks(b, root, frames, stacks);
}

void snap_finish(struct snap_builder *b)
{
    struct snapshot *s = b->s;
    struct snap_value *v = b->stack;
    const struct snap_object *o;

    if (b->depth != 1)
        snap_fail(b, "%zu values where the file ends; expected one", b->depth);
    if (v->kind == SNAP_OBJECT)
        snap_settle(b, v);
    s->event_end = s->event_count;
    s->segment_end = s->segment_count;
    s->block_end = s->block_count;
    o = snap_object_of(b, v, SNAP_DICT);
    if (o != NULL)
        finish_dict(b, v, o);
    else if (b->stack_numbers)
        snap_fail_at(
            b, v->at,
            "stacks are referenced by number, but are not in the file; "
            "expected a dict with \"stacks\"");
    else if (whole_range(b, v, SNAP_SEGMENT, s->segment_count))
        finish_segments(b, v); /* the result of memory_snapshot() */
    else
        snap_fail_at(b, v->at,
                     "the file is %s; expected a dict with the key "
                     "\"segments\"",
                     snap_kind_name(b, v));
    if ((s->event_count > 0 && !s->has_device_traces) ||
        (s->annotation_count > 0 && !s->has_external_annotations))
        snap_fail_at(b, v->at,
                     "events or annotations outside device_traces and "
                     "external_annotations");
}
