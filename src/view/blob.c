/* blob.c - columns and their base64. */
#include "view/blob.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_TRIPLES = 1024 };

void blob_free(struct blob *b)
{
    free(b->bytes);
    *b = (struct blob){0};
}

static size_t element_bytes(const char *type)
{
    static const struct {
        const char *type;
        size_t bytes;
    } sizes[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}, {"i32", 4}, {"f64", 8}};
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (strcmp(sizes[i].type, type) == 0)
            return sizes[i].bytes;
    }
    return 8;
}

static bool make_room(struct blob *b, size_t bytes)
{
    size_t wider = b->capacity > 0 ? b->capacity : 65536;
    unsigned char *moved;

    while (wider - b->size < bytes)
        wider *= 2;
    if (wider == b->capacity)
        return true;
    moved = realloc(b->bytes, wider);
    if (moved == NULL)
        return false;
    b->bytes = moved;
    b->capacity = wider;
    return true;
}

void *blob_column(struct blob *b, json_t *table, const char *name,
                  const char *type, size_t count)
{
    size_t each = element_bytes(type);
    size_t offset = b->size;
    size_t bytes;

    if (b->failed || count > SIZE_MAX / 16) {
        b->failed = true;
        return NULL;
    }
    bytes = (count * each + 7) / 8 * 8;
    if (!make_room(b, bytes) ||
        json_object_set_new(table, name,
                            json_pack("[sII]", type, (json_int_t)offset,
                                      (json_int_t)count)) != 0) {
        b->failed = true;
        return NULL;
    }
    memset(b->bytes + offset, 0, bytes);
    b->size += bytes;
    return b->bytes + offset;
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
