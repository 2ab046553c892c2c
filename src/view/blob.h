/* blob.h - the numbers of a page: columns one after the other, each number
 * seven bits to a byte, least first, the eighth bit saying that more follow;
 * written as base64 in the end.
 *
 * A million events are to make a page that can be sent to somebody, so what
 * repeats is kept small: times and event numbers as differences, addresses
 * and sizes as numbers of a table of those that differ. */
#ifndef LARDER_VIEW_BLOB_H
#define LARDER_VIEW_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

struct blob {
    unsigned char *bytes;
    size_t size;
    size_t capacity;
    bool failed; /* host memory ran out: the rest is without effect */
};

/* How the page reads a column (decode.js). */
enum blob_coding {
    BLOB_PLAIN,  /* the numbers themselves */
    BLOB_SIGNED, /* 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
    BLOB_DELTA,  /* what each adds to the one before, signed; below 2^53 */
    BLOB_TABLE   /* positions in a table, which follows: plain */
};

/* Element i of a column; signed ones as two's complement. */
typedef uint64_t blob_value(const void *data, size_t i);

void blob_free(struct blob *b);

/* Adds `count` elements, described in table[name] as [type, coding, offset,
 * count, entries of the table].  `type` is what the page holds them as: "u8",
 * "u32", "i32" or "f64". */
void blob_column(struct blob *b, json_t *table, const char *name,
                 const char *type, enum blob_coding coding, size_t count,
                 blob_value *value, const void *data);

/* False: writing failed. */
bool blob_write_base64(const struct blob *b, FILE *out);

#endif
