/* blob.c - columns and their base64. */
#include "view/blob.h"

#include <stdlib.h>

#include "snapshot/address_map.h"
#include "trace/array_room.h"

enum {
    LINE_TRIPLES = 1024,
    VARINT_MAX = 10 /* bytes of a 64-bit number */
};

void blob_free(struct blob *b)
{
    free(b->bytes);
    *b = (struct blob){0};
}

static void blob_put(struct blob *b, uint64_t number)
{
    arena_need(b->arena,
               ARRAY_ROOM(b->bytes, b->capacity, b->size + VARINT_MAX));
    while (number > 127) {
        b->bytes[b->size++] = (unsigned char)(number | 128);
        number >>= 7;
    }
    b->bytes[b->size++] = (unsigned char)number;
}

/* Map small numbers of either sign to small ones. */
static uint64_t zigzag(uint64_t number)
{
    return number << 1 ^ (0 - (number >> 63));
}

/* ---- deduplicated columns -------------------------------------------------- */

struct value_table {
    uint64_t *values; /* in order of first occurrence */
    size_t count;
    size_t capacity;
    struct address_map numbers; /* by value */
};

static void end_table(void *table)
{
    struct value_table *t = table;

    free(t->values);
    address_map_free(&t->numbers);
}

/* The number of a value, a new one if necessary. */
static uint32_t table_number(struct arena *arena, struct value_table *t,
                             uint64_t value)
{
    uint32_t number = address_map_get(&t->numbers, value);

    if (number != ADDRESS_MAP_NONE)
        return number;
    number = (uint32_t)t->count;
    arena_need(arena, ARRAY_ROOM(t->values, t->capacity, t->count + 1) &&
                          address_map_put(&t->numbers, value, number));
    t->values[t->count++] = value;
    return number;
}

static size_t put_with_table(struct blob *b, size_t count, blob_value *value,
                             const void *data)
{
    const struct arena_piece *last = b->arena->last;
    struct value_table *t = arena_take_with(b->arena, sizeof *t, end_table);
    size_t entries;
    size_t i;

    for (i = 0; i < count; i++)
        blob_put(b, table_number(b->arena, t, value(data, i)));
    for (i = 0; i < t->count; i++)
        blob_put(b, t->values[i]);
    entries = t->count;
    arena_free_since(b->arena, last);
    return entries;
}

/* ---- columns --------------------------------------------------------------- */

static void put_differences(struct blob *b, size_t count, blob_value *value,
                            const void *data)
{
    uint64_t before = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        uint64_t now = value(data, i);

        blob_put(b, zigzag(now - before));
        before = now;
    }
}

void blob_column(struct blob *b, json_t *table, const char *name,
                 const char *type, enum blob_coding coding, size_t count,
                 blob_value *value, const void *data)
{
    size_t offset = b->size;
    size_t entries = 0;
    size_t i;

    if (coding == BLOB_TABLE) {
        entries = put_with_table(b, count, value, data);
    } else if (coding == BLOB_DELTA) {
        put_differences(b, count, value, data);
    } else {
        for (i = 0; i < count; i++)
            blob_put(b, coding == BLOB_SIGNED ? zigzag(value(data, i))
                                              : value(data, i));
    }
    json_object_set_new(table, name,
                        json_pack("[siIII]", type, (int)coding,
                                  (json_int_t)offset, (json_int_t)count,
                                  (json_int_t)entries));
}

static void encode(const unsigned char *from, size_t count, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)from[0] << 16;

    if (count > 1)
        bits |= (uint32_t)from[1] << 8;
    if (count > 2)
        bits |= from[2];
    to[0] = digits[bits >> 18];
    to[1] = digits[bits >> 12 & 63];
    to[2] = count > 1 ? digits[bits >> 6 & 63] : '=';
    to[3] = count > 2 ? digits[bits & 63] : '=';
}

bool blob_write_base64(const struct blob *b, FILE *out)
{
    char line[LINE_TRIPLES * 4] = {0};
    size_t filled = 0;
    size_t at;

    for (at = 0; at < b->size; at += 3) {
        encode(b->bytes + at, b->size - at < 3 ? b->size - at : 3,
               line + filled);
        filled += 4;
        if (filled == sizeof(line)) {
            if (fwrite(line, 1, filled, out) != filled)
                return false;
            filled = 0;
        }
    }
    return filled == 0 || fwrite(line, 1, filled, out) == filled;
}
