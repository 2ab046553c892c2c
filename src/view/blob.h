/* blob.h - the numbers of a page: columns one after the other, each beginning
 * at a multiple of eight bytes, written as base64 in the end. */
#ifndef LARDER_VIEW_BLOB_H
#define LARDER_VIEW_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

struct blob {
    unsigned char *bytes;
    size_t size;
    size_t capacity;
    bool failed; /* host memory ran out: the rest is without effect */
};

void blob_free(struct blob *b);

/* Room for `count` elements of a type ("u8", "u16", "u32", "i32", "f64"),
 * described in table[name] as [type, offset, count].  NULL when there is no
 * memory; the room is valid until the next call. */
void *blob_column(struct blob *b, json_t *table, const char *name,
                  const char *type, size_t count);

/* False: writing failed. */
bool blob_write_base64(const struct blob *b, FILE *out);

#endif
