/* documents.c - what a snapshot's document becomes when it is read and written
 * again. */
#include "snapshot/documents.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot_write.h"
#include "support/random.h"

/* ---- spices ---------------------------------------------------------------- */

static json_t *any_value(uint64_t *seed)
{
    static const char *const values[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "-9223372036854775808",
        "9223372036854775807",
        "1.5",
        "-2.5e-300",
        "\"\"",
        "\"plain\"",
        "\"\\u00e9 \\u20ac \\ud83d\\ude00 \\\\ \\\" \\n\\t\\u0001/\"",
        "[]",
        "{}",
        "[3, 4]",
        "[1, 2, 3]",
        "[\"alloc\", null, [true, [[]]], {\"a\": {\"b\": [0.25]}}]",
        "{\"name\": \"x\", \"line\": 5, \"deep\": [[[[[1, 2]]]]]}",
        "[{\"k\": 1}, {\"k\": [5, 6]}, {}]",
        "[\"lone\", \"segments\", \"\\u007f\\u0080\\u07ff\\u0800\\uffff\"]",
    };
    json_t *value =
        json_loads(values[random_u32(seed, sizeof values / sizeof *values)],
                   JSON_DECODE_ANY, NULL);

    assert(value != NULL);
    return value;
}

/* A record's key that need not have a value. */
static void lose_value(json_t *o, uint64_t *seed)
{
    static const char *const keys[] = {
        "time_us",        "device_free",  "user_metadata", "compile_context",
        "requested_size", "segment_type", "stream",        "pool_id",
        "is_expandable",  "active_size",  "category"};
    const char *key = keys[random_u32(seed, sizeof keys / sizeof keys[0])];

    if (json_object_get(o, key) != NULL)
        json_object_set_new(o, key, json_null());
}

static void spice_one(json_t *o, uint64_t *seed)
{
    static const char *const names[] = {"x", "x_other", "x\u00fcber", "x.y"};

    if (random_u32(seed, 12) == 0)
        json_object_set_new(o, names[random_u32(seed, 4)], any_value(seed));
    if (random_u32(seed, 12) == 0)
        lose_value(o, seed);
}

static void spice_below(json_t *v, uint64_t *seed)
{
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(v, i, item) spice_below(item, seed);
    if (!json_is_object(v))
        return;
    json_object_foreach(v, key, item) spice_below(item, seed);
    /* The keys of this one are sizes. */
    if (json_object_get(v, "256") == NULL)
        spice_one(v, seed);
}

/* As PyTorch 2.13 adds those of the host. */
static void add_lists(json_t *document, uint64_t *seed)
{
    json_t *events =
        json_array_get(json_object_get(document, "device_traces"), 0);
    json_t *segment = json_array_get(json_object_get(document, "segments"), 0);

    if (random_u32(seed, 3) == 0 && json_array_size(events) > 0)
        json_object_set_new(document, "host_traces",
                            json_pack("[o]", json_deep_copy(events)));
    if (random_u32(seed, 3) == 0 && segment != NULL) {
        json_t *copy = json_deep_copy(segment);

        json_object_set_new(copy, "device", json_integer(-1));
        json_object_set_new(document, "host_segments", json_pack("[o]", copy));
    }
}

void document_spice(json_t *document, uint64_t seed)
{
    uint64_t state = (seed + 7) * UINT64_C(0x9e3779b97f4a7c15);

    spice_below(document, &state);
    add_lists(document, &state);
    if (random_u32(&state, 2) == 0)
        json_object_set_new(document, "larder",
                            json_pack("{s:I, s:s, s:I, s:s}", "lost_events",
                                      (json_int_t)random_u32(&state, 9),
                                      "policy", "larder", "total_bytes",
                                      (json_int_t)1 << 33, "conf", "a:1"));
}

/* ---- what is expected ------------------------------------------------------ */

static bool is_unknown(const char *key)
{
    return key[0] == 'x' || strncmp(key, "host_", 5) == 0;
}

static void count_one(json_t *counts, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(counts, key));

    json_object_set_new(counts, key, json_integer(count + 1));
}

/* Nothing is known in the value of an unknown key, but for lists of records. */
static void count_unknown(const json_t *v, json_t *counts)
{
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(v, i, item) count_unknown(item, counts);
    json_object_foreach((json_t *)(uintptr_t)v, key, item)
    {
        if (is_unknown(key))
            count_one(counts, key);
        if (key[0] != 'x')
            count_unknown(item, counts);
    }
}

json_t *document_unknown(const json_t *document)
{
    json_t *counts = json_object();

    count_unknown(document, counts);
    return counts;
}

/* Keys that are written as 0 if they have no value. */
static bool is_zero(const json_t *o, const char *key)
{
    return strcmp(key, "stream") == 0 || strcmp(key, "active_size") == 0 ||
           (strcmp(key, "time_us") == 0 && json_object_get(o, "stage") != NULL);
}

static void expect_pair(json_t *to, const json_t *from, const char *key,
                        const json_t *value)
{
    if (key[0] == 'x' || strcmp(key, "larder") == 0)
        json_object_set(to, key, (json_t *)(uintptr_t)value);
    else if (json_is_null(value) && is_zero(from, key))
        json_object_set_new(to, key, json_integer(0));
    else if (json_is_null(value))
        return;
    else if (strcmp(key, "category") == 0)
        json_object_set(to, "user_metadata", (json_t *)(uintptr_t)value);
    else if (json_is_string(value) &&
             strcmp(json_string_value(value), "active_awaiting_free") == 0)
        json_object_set_new(to, key, json_string("active_pending_free"));
    else
        json_object_set_new(to, key, document_expected(value));
}

json_t *document_expected(const json_t *v)
{
    const char *key;
    json_t *item;
    json_t *out;
    size_t i;

    if (json_is_array(v)) {
        out = json_array();
        json_array_foreach(v, i, item)
            json_array_append_new(out, document_expected(item));
        return out;
    }
    if (!json_is_object(v))
        return json_incref((json_t *)(uintptr_t)v);
    out = json_object();
    json_object_foreach((json_t *)(uintptr_t)v, key, item)
        expect_pair(out, v, key, item);
    return out;
}

/* ---- what is written ------------------------------------------------------- */

static json_t *stack_of(const json_t *frames, const json_t *numbers)
{
    json_t *stack = json_array();
    json_t *n;
    size_t i;

    json_array_foreach(numbers, i, n)
    {
        json_t *frame = json_array_get(frames, (size_t)json_integer_value(n));

        assert(frame != NULL);
        json_array_append(stack, frame);
    }
    return stack;
}

static void resolve(json_t *v, const json_t *frames, const json_t *stacks)
{
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(v, i, item) resolve(item, frames, stacks);
    json_object_foreach(v, key, item)
    {
        if (key[0] != 'x' && strcmp(key, "frames") != 0)
            resolve(item, frames, stacks);
    }
    item = json_object_get(v, "frames");
    if (json_is_integer(item))
        json_object_set_new(
            v, "frames",
            stack_of(frames,
                     json_array_get(stacks, (size_t)json_integer_value(item))));
}

json_t *document_written(const struct snapshot *s)
{
    struct tool_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *document;
    json_t *frames;
    json_t *stacks;

    assert(out != NULL);
    if (!snapshot_write_json(s, out, &error))
        fprintf(stderr, "%s\n", error.text);
    fclose(out);
    document = json_loadb(text, size, 0, NULL);
    assert(document != NULL);
    free(text);
    frames = json_incref(json_object_get(document, "frames"));
    stacks = json_incref(json_object_get(document, "stacks"));
    json_object_del(document, "frames");
    json_object_del(document, "stacks");
    resolve(document, frames, stacks);
    json_decref(frames);
    json_decref(stacks);
    return document;
}
