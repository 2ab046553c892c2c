/* blob.h - the numbers of a page: columns one after another, each number in
 * bytes of seven bits, lowest first, whose eighth bit says that more follow;
 * finally written as base64.
 *
 * A page with a million events must be small enough to send, so repetition is
 * encoded compactly: times and event numbers as differences, addresses and
 * sizes as indices of a table of distinct values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "trace/arena.h"

struct blob {
    struct arena *arena; /* temporary memory, and to fail */
    unsigned char *bytes;
    size_t size;
    size_t capacity;
};

/* How a column is encoded, for the page (decode.js). */
enum blob_coding {
    BLOB_PLAIN,  /* the numbers themselves */
    BLOB_SIGNED, /* 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
    BLOB_DELTA,  /* signed differences; values below 2^53 */
    BLOB_TABLE   /* indices of a table, which follows (plain) */
};

/* Element i of a column; signed values as two's complement. */
typedef uint64_t blob_value(const void *data, size_t i);

/* Define NAME(), the value of EXPRESSION for element i of a column of the TYPE
 * *d. */
#define BLOB_VALUE(name, type, expression)                                     \
    static uint64_t name(const void *data, size_t i)                           \
    {                                                                          \
        const type *d = data;                                                  \
                                                                               \
        return (expression);                                                   \
    }

void blob_free(struct blob *b);

/* Append `count` elements, described in table[name] as [type, coding, offset,
 * count, entries of the table]. `type` is the page's array type: "u8", "u32",
 * "i32" or "f64". */
void blob_column(struct blob *b, json_t *table, const char *name,
                 const char *type, enum blob_coding coding, size_t count,
                 blob_value *value, const void *data);

/* False: writing failed. */
bool blob_write_base64(const struct blob *b, FILE *out);
