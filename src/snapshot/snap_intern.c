/* snap_intern.c - strings, frames, stacks, streams and pools, each stored
 * once. */
#include "snapshot/snap_intern.h"

#include <string.h>

#include "base/snapshot_words.h"

struct bytes {
    const void *at;
    size_t count;
};

/* ---- strings -------------------------------------------------------------- */

static bool same_string(const void *owner, uint32_t number, const void *wanted)
{
    const struct snapshot *s = owner;
    const struct bytes *b = wanted;

    return snapshot_string_length(s, number) == b->count &&
           memcmp(snapshot_string(s, number), b->at, b->count) == 0;
}

static bool string_room(struct snap_intern *t, size_t length)
{
    struct snapshot *s = t->s;
    uint64_t used =
        s->string_begins == NULL ? 0 : s->string_begins[s->string_count];

    if (s->string_count >= SNAP_NONE - 1 ||
        !snap_reserve(t->memory, &s->string_begins, &t->string_capacity,
                      s->string_count + 2, sizeof *s->string_begins) ||
        !snap_reserve(t->memory, &s->string_bytes, &t->string_byte_capacity,
                      (size_t)used + length + 1, 1))
        return false;
    s->string_begins[s->string_count] = used;
    return true;
}

uint32_t snap_intern_string(struct snap_intern *t, const char *bytes,
                            size_t length)
{
    struct snapshot *s = t->s;
    struct bytes b = {bytes, length};
    uint32_t hash = snap_hash(bytes, length);
    uint32_t n = snap_table_find(&t->strings, hash, same_string, s, &b);
    uint64_t begin;

    if (n != SNAP_NONE)
        return n;
    n = (uint32_t)s->string_count;
    if (!string_room(t, length) ||
        !snap_table_add(t->memory, &t->strings, hash, n))
        return SNAP_NONE;
    begin = s->string_begins[n];
    memcpy(s->string_bytes + begin, bytes, length);
    s->string_bytes[begin + length] = '\0';
    s->string_begins[n + 1] = begin + length + 1;
    s->string_count++;
    return n;
}

/* ---- frames and stacks ---------------------------------------------------- */

static bool same_frame(const void *owner, uint32_t number, const void *wanted)
{
    const struct snapshot *s = owner;

    return memcmp(&s->frames[number], wanted, sizeof *s->frames) == 0;
}

uint32_t snap_intern_frame(struct snap_intern *t,
                           const struct snapshot_frame *frame)
{
    struct snapshot *s = t->s;
    uint32_t hash = snap_hash(frame, sizeof *frame);
    uint32_t n = snap_table_find(&t->frames, hash, same_frame, s, frame);

    if (n != SNAP_NONE)
        return n;
    n = (uint32_t)s->frame_count;
    if (s->frame_count >= SNAP_NONE - 1 ||
        !snap_reserve(t->memory, &s->frames, &t->frame_capacity,
                      s->frame_count + 1, sizeof *s->frames) ||
        !snap_table_add(t->memory, &t->frames, hash, n))
        return SNAP_NONE;
    s->frames[s->frame_count++] = *frame;
    return n;
}

static bool same_stack(const void *owner, uint32_t number, const void *wanted)
{
    const struct bytes *b = wanted;
    size_t count;
    const uint32_t *frames = snapshot_stack(owner, number, &count);

    return count == b->count &&
           memcmp(frames, b->at, count * sizeof *frames) == 0;
}

static bool stack_room(struct snap_intern *t, size_t count)
{
    struct snapshot *s = t->s;
    uint64_t used =
        s->stack_begins == NULL ? 0 : s->stack_begins[s->stack_count];

    if (s->stack_count >= SNAP_NONE - 1 ||
        !snap_reserve(t->memory, &s->stack_begins, &t->stack_capacity,
                      s->stack_count + 2, sizeof *s->stack_begins) ||
        !snap_reserve(t->memory, &s->stack_frames, &t->stack_frame_capacity,
                      (size_t)used + count + 1, sizeof *s->stack_frames))
        return false;
    s->stack_begins[s->stack_count] = used;
    return true;
}

uint32_t snap_intern_stack(struct snap_intern *t, const uint32_t *frames,
                           size_t count)
{
    struct snapshot *s = t->s;
    struct bytes b = {frames, count};
    uint32_t hash = snap_hash(frames, count * sizeof *frames);
    uint32_t n = snap_table_find(&t->stacks, hash, same_stack, s, &b);
    uint64_t begin;

    if (n != SNAP_NONE)
        return n;
    n = (uint32_t)s->stack_count;
    if (!stack_room(t, count) ||
        !snap_table_add(t->memory, &t->stacks, hash, n))
        return SNAP_NONE;
    begin = s->stack_begins[n];
    memcpy(s->stack_frames + begin, frames, count * sizeof *frames);
    s->stack_begins[n + 1] = begin + count;
    s->stack_count++;
    return n;
}

/* ---- streams, pools, keys ------------------------------------------------- */

static bool same_stream(const void *owner, uint32_t number, const void *wanted)
{
    const struct snapshot *s = owner;

    return memcmp(&s->streams[number], wanted, sizeof *s->streams) == 0;
}

uint32_t snap_intern_stream(struct snap_intern *t, uint64_t stream)
{
    struct snapshot *s = t->s;
    uint32_t hash, n;

    if (s->stream_count > 0 && s->streams[t->last_stream] == stream)
        return t->last_stream;
    hash = snap_hash(&stream, sizeof stream);
    n = snap_table_find(&t->streams, hash, same_stream, s, &stream);
    if (n == SNAP_NONE) {
        n = (uint32_t)s->stream_count;
        if (s->stream_count >= SNAP_NONE - 1 ||
            !snap_reserve(t->memory, &s->streams, &t->stream_capacity,
                          s->stream_count + 1, sizeof *s->streams) ||
            !snap_table_add(t->memory, &t->streams, hash, n))
            return SNAP_NONE;
        s->streams[s->stream_count++] = stream;
    }
    t->last_stream = n;
    return n;
}

static bool same_pool(const void *owner, uint32_t number, const void *wanted)
{
    const struct snapshot *s = owner;

    return memcmp(&s->pools[number], wanted, sizeof *s->pools) == 0;
}

uint32_t snap_intern_pool(struct snap_intern *t, struct snapshot_pool pool)
{
    struct snapshot *s = t->s;
    uint32_t hash, n;

    if (s->pool_count > 0 &&
        memcmp(&s->pools[t->last_pool], &pool, sizeof pool) == 0)
        return t->last_pool;
    hash = snap_hash(&pool, sizeof pool);
    n = snap_table_find(&t->pools, hash, same_pool, s, &pool);
    if (n == SNAP_NONE) {
        n = (uint32_t)s->pool_count;
        if (s->pool_count >= SNAP_NONE - 1 ||
            !snap_reserve(t->memory, &s->pools, &t->pool_capacity,
                          s->pool_count + 1, sizeof *s->pools) ||
            !snap_table_add(t->memory, &t->pools, hash, n))
            return SNAP_NONE;
        s->pools[s->pool_count++] = pool;
    }
    t->last_pool = n;
    return n;
}

static bool same_unknown(const void *owner, uint32_t number, const void *wanted)
{
    const struct snapshot *s = owner;

    return memcmp(&s->unknown_keys[number].name, wanted,
                  sizeof s->unknown_keys->name) == 0;
}

bool snap_intern_unknown(struct snap_intern *t, uint32_t key)
{
    struct snapshot *s = t->s;
    uint32_t hash = snap_hash(&key, sizeof key);
    uint32_t n = snap_table_find(&t->unknown_keys, hash, same_unknown, s, &key);

    if (n == SNAP_NONE) {
        n = (uint32_t)s->unknown_key_count;
        if (!snap_reserve(t->memory, &s->unknown_keys, &t->unknown_key_capacity,
                          s->unknown_key_count + 1, sizeof *s->unknown_keys) ||
            !snap_table_add(t->memory, &t->unknown_keys, hash, n))
            return false;
        s->unknown_keys[s->unknown_key_count++] =
            (struct snapshot_unknown){.name = key};
    }
    s->unknown_keys[n].count++;
    return true;
}

/* ---- begin and end -------------------------------------------------------- */

bool snap_intern_init(struct snap_intern *t, struct snapshot *s,
                      struct snap_memory *memory)
{
    *t = (struct snap_intern){.s = s, .memory = memory};
    for (uint32_t i = 0; i < SNAP_WORD_COUNT; i++) {
        if (snap_intern_string(t, larder__snapshot_words[i],
                               strlen(larder__snapshot_words[i])) != i)
            return false;
    }
    return snap_intern_stack(t, (const uint32_t[]){0}, 0) == 0 &&
           snap_intern_stream(t, 0) == 0 &&
           snap_intern_pool(t, (struct snapshot_pool){0, 0}) == 0;
}

void snap_intern_free(struct snap_intern *t)
{
    struct snapshot *s = t->s;

    snap_table_free(t->memory, &t->strings);
    snap_table_free(t->memory, &t->frames);
    snap_table_free(t->memory, &t->stacks);
    snap_table_free(t->memory, &t->streams);
    snap_table_free(t->memory, &t->pools);
    snap_table_free(t->memory, &t->unknown_keys);
    snap_trim(t->memory, &s->string_bytes, &t->string_byte_capacity,
              s->string_count == 0 ? 0
                                   : (size_t)s->string_begins[s->string_count],
              1);
    snap_trim(t->memory, &s->string_begins, &t->string_capacity,
              s->string_count + 1, sizeof *s->string_begins);
    snap_trim(t->memory, &s->stack_frames, &t->stack_frame_capacity,
              s->stack_count == 0 ? 0 : (size_t)s->stack_begins[s->stack_count],
              sizeof *s->stack_frames);
    snap_trim(t->memory, &s->stack_begins, &t->stack_capacity,
              s->stack_count + 1, sizeof *s->stack_begins);
    snap_trim(t->memory, &s->frames, &t->frame_capacity, s->frame_count,
              sizeof *s->frames);
}
