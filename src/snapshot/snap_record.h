/* snap_record.h - a dict on its way to be a record: its values by key, each
 * checked for its type. */
#ifndef LARDER_SNAPSHOT_SNAP_RECORD_H
#define LARDER_SNAPSHOT_SNAP_RECORD_H

#include "snapshot/snap_builder.h"

/* A dict whose keys are looked up: slot[key] is valid where the mask has the
 * key's bit.  Of a repeated key the last counts, as in Python. */
struct snap_record {
    struct snap_builder *b;
    const char *what; /* for errors */
    const struct snap_value *slot[SNAP_RECORD_KEY_END];
    uint64_t mask;
    bool others;   /* has keys beyond the mask */
    uint32_t rest; /* string (snap_rest.h): keys nobody knows */
};

/* The value of a key; NULL if it is absent or None. */
static inline const struct snap_value *snap_record_get(
    const struct snap_record *r, enum snap_word key)
{
    if ((r->mask & SNAP_BIT(key)) == 0 || r->slot[key]->kind == SNAP_NULL)
        return NULL;
    return r->slot[key];
}

/* Errors: the value is of another type; the key is not there.  Worth
 * false. */
bool snap_record_wrong(const struct snap_record *r, enum snap_word key,
                       const char *expected);
bool snap_record_missing(const struct snap_record *r, enum snap_word key);

/* The values of keys.  Those that are absent, or None, leave *out alone. */

bool snap_take_size(const struct snap_record *r, enum snap_word key,
                    uint64_t *out);
bool snap_take_address(const struct snap_record *r, enum snap_word key,
                       uint64_t *out);
bool snap_take_time(const struct snap_record *r, int64_t *out);
bool snap_take_device(const struct snap_record *r, uint16_t *out);
bool snap_take_string(const struct snap_record *r, enum snap_word key,
                      uint32_t *out);
bool snap_take_bool(const struct snap_record *r, enum snap_word key, bool *out);
bool snap_take_stream(const struct snap_record *r, uint32_t *out);
bool snap_take_stack(const struct snap_record *r, uint32_t *out);
bool snap_take_pool(const struct snap_record *r, enum snap_word key,
                    uint32_t *out);
bool snap_take_range(const struct snap_record *r, enum snap_word key,
                     enum snap_kind kind, uint64_t *first, size_t *count);

/* Make one; *out is its number.  And the keys it has (snap_segment.c). */
extern const uint64_t snap_history_keys;
extern const uint64_t snap_block_keys;
extern const uint64_t snap_segment_keys;
bool snap_history_make(struct snap_record *r, uint64_t *out);
bool snap_block_make(struct snap_record *r, uint64_t *out);
bool snap_segment_make(struct snap_record *r, uint64_t *out);

#endif
