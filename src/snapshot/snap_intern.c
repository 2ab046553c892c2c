/* snap_intern.c - strings, frames, stacks, streams and pools, each stored
 * once. */
#include "snapshot/snap_builder.h"

#include <stdlib.h>
#include <string.h>

/* Number the item that is about to be stored. */
static uint32_t set_add(struct snap_builder *b, struct snap_set *set,
                        uint32_t hash, size_t number)
{
    if (number >= SNAP_NONE - 1 ||
        !snap_table_add(&b->memory, &set->table, hash, (uint32_t)number))
        snap_no_memory(b);
    return (uint32_t)number;
}

/* ---- items of one size ---------------------------------------------------- */

struct items {
    char *at;
    size_t size;
    size_t key; /* so many bytes tell an item from others */
};

static bool same_item(const void *owner, uint32_t number, const void *wanted)
{
    const struct items *i = owner;

    return memcmp(i->at + number * i->size, wanted, i->key) == 0;
}

/* `array` is the address of the pointer to the items. */
static uint32_t intern_item(struct snap_builder *b, struct snap_set *set,
                            void *array, size_t *count, const void *item,
                            size_t size, size_t key)
{
    struct items items = {NULL, size, key};
    uint32_t hash = snap_hash(item, key);
    uint32_t n;

    memcpy(&items.at, array, sizeof items.at);
    n = snap_table_find(&set->table, hash, same_item, &items, item);
    if (n != SNAP_NONE)
        return n;
    snap_room(b, array, &set->capacity, *count + 1, size);
    n = set_add(b, set, hash, *count);
    memcpy(&items.at, array, sizeof items.at);
    memcpy(items.at + *count * size, item, size);
    ++*count;
    return n;
}

uint32_t snap_intern_frame(struct snap_builder *b,
                           const struct snapshot_frame *frame)
{
    return intern_item(b, &b->intern.frames, &b->s->frames, &b->s->frame_count,
                       frame, sizeof *frame, sizeof *frame);
}

uint32_t snap_intern_stream(struct snap_builder *b, uint64_t stream)
{
    struct snapshot *s = b->s;
    uint32_t *last = &b->intern.last_stream;

    if (s->stream_count == 0 || s->streams[*last] != stream)
        *last =
            intern_item(b, &b->intern.streams, &s->streams, &s->stream_count,
                        &stream, sizeof stream, sizeof stream);
    return *last;
}

uint32_t snap_intern_pool(struct snap_builder *b, const struct snap_value *id)
{
    const struct snapshot_pool pool = {id[0].bits, id[1].bits};
    struct snapshot *s = b->s;
    uint32_t *last = &b->intern.last_pool;

    if (s->pool_count == 0 || memcmp(&s->pools[*last], &pool, sizeof pool) != 0)
        *last = intern_item(b, &b->intern.pools, &s->pools, &s->pool_count,
                            &pool, sizeof pool, sizeof pool);
    return *last;
}

void snap_intern_unknown(struct snap_builder *b, uint32_t key)
{
    struct snapshot *s = b->s;
    const struct snapshot_unknown unknown = {.name = key};
    uint32_t n = intern_item(b, &b->intern.unknown_keys, &s->unknown_keys,
                             &s->unknown_key_count, &unknown, sizeof unknown,
                             sizeof key);

    s->unknown_keys[n].count++;
}

/* ---- strings and stacks: sequences of parts ------------------------------- */

struct sequences {
    const uint64_t *begins;
    char *parts;
    size_t size;       /* of a part */
    size_t terminator; /* parts after each sequence */
};

struct wanted {
    const void *parts;
    size_t count;
};

static bool same_sequence(const void *owner, uint32_t number,
                          const void *wanted)
{
    const struct sequences *q = owner;
    const struct wanted *w = wanted;
    uint64_t begin = q->begins[number];

    return q->begins[number + 1] - begin == w->count + q->terminator &&
           memcmp(q->parts + begin * q->size, w->parts, w->count * q->size) ==
               0;
}

/* `parts` is the address of the pointer to them. */
static uint32_t intern_sequence(struct snap_builder *b, struct snap_set *set,
                                uint64_t **begins, void *parts, size_t *count,
                                struct wanted w, size_t size, size_t terminator)
{
    struct sequences q = {*begins, NULL, size, terminator};
    uint32_t hash = snap_hash(w.parts, w.count * size);
    uint64_t used = *begins == NULL ? 0 : (*begins)[*count];
    uint32_t n;

    memcpy(&q.parts, parts, sizeof q.parts);
    n = snap_table_find(&set->table, hash, same_sequence, &q, &w);
    if (n != SNAP_NONE)
        return n;
    SNAP_ROOM(b, *begins, set->capacity, *count + 2);
    snap_room(b, parts, &set->part_capacity, (size_t)used + w.count + 1, size);
    n = set_add(b, set, hash, *count);
    memcpy(&q.parts, parts, sizeof q.parts);
    memcpy(q.parts + used * size, w.parts, w.count * size);
    memset(q.parts + (used + w.count) * size, 0, terminator * size);
    (*begins)[*count] = used;
    (*begins)[++*count] = used + w.count + terminator;
    return n;
}

uint32_t snap_intern_string(struct snap_builder *b, const char *bytes,
                            size_t length)
{
    struct snapshot *s = b->s;

    return intern_sequence(b, &b->intern.strings, &s->string_begins,
                           &s->string_bytes, &s->string_count,
                           (struct wanted){bytes, length}, 1, 1);
}

uint32_t snap_intern_stack(struct snap_builder *b, const uint32_t *frames,
                           size_t count)
{
    struct snapshot *s = b->s;

    return intern_sequence(b, &b->intern.stacks, &s->stack_begins,
                           &s->stack_frames, &s->stack_count,
                           (struct wanted){frames, count}, sizeof *frames, 0);
}

/* ---- begin and end -------------------------------------------------------- */

void snap_intern_init(struct snap_builder *b)
{
    for (uint32_t i = 0; i < SNAP_WORD_COUNT; i++)
        snap_intern_string(b, larder__snapshot_words[i],
                           strlen(larder__snapshot_words[i]));
    snap_intern_stack(b, (const uint32_t[]){0}, 0);
    snap_intern_stream(b, 0);
    snap_intern_pool(b, (const struct snap_value[2]){{0}, {0}});
}

void snap_intern_free(struct snap_builder *b)
{
    struct snap_intern *t = &b->intern;
    struct snap_set *const sets[] = {&t->strings, &t->frames, &t->stacks,
                                     &t->streams, &t->pools,  &t->unknown_keys};

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        free(sets[i]->table.slots);
}
