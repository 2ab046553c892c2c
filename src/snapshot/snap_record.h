/* snap_record.h - a dict that is being converted to a record: its values by
 * key, with checks of their types. */
#pragma once

#include "snapshot/snap_builder.h"

/* A dict with its known keys: slot[key] is valid if the mask contains the key's
 * bit.  The last one counts if a key is repeated, as in Python. */
struct snap_record {
    struct snap_builder *b;
    const char *what; /* for messages */
    const struct snap_value *slot[SNAP_RECORD_KEY_END];
    uint64_t mask;
    uint64_t present; /* those of the mask whose value is not None */
    bool others;      /* has keys beyond the mask */
    uint32_t rest;    /* string (snap_rest.h): unknown keys */
};

/* The value of a key; NULL if it is absent or None. */
static inline const struct snap_value *snap_record_get(
    const struct snap_record *r, enum snap_word key)
{
    return (r->present & SNAP_BIT(key)) != 0 ? r->slot[key] : NULL;
}

/* A bit, if one of these keys has a value. */
static inline uint8_t snap_record_has(const struct snap_record *r,
                                      uint64_t keys, uint8_t bit)
{
    return (r->present & keys) != 0 ? bit : 0;
}

/* Report that the value has another type. */
TOOL_NO_RETURN void snap_record_wrong(const struct snap_record *r,
                                      enum snap_word key, const char *expected);

/* Report it if the key is missing. */
void snap_record_need(const struct snap_record *r, enum snap_word key);

/* Read the value of a key.  If it is absent or None, *out is unchanged. */

void snap_take_size(const struct snap_record *r, enum snap_word key,
                    uint64_t *out);
void snap_take_address(const struct snap_record *r, enum snap_word key,
                       uint64_t *out);
void snap_need_device(const struct snap_record *r, uint16_t *out);
void snap_take_string(const struct snap_record *r, enum snap_word key,
                      uint32_t *out);
void snap_take_bool(const struct snap_record *r, enum snap_word key, bool *out);
void snap_take_stream(const struct snap_record *r, uint32_t *out);
void snap_take_stack(const struct snap_record *r, uint32_t *out);
void snap_take_pool(const struct snap_record *r, enum snap_word key,
                    uint32_t *out);
void snap_take_range(const struct snap_record *r, enum snap_word key,
                     enum snap_kind kind, uint64_t *first, size_t *count);

/* Read a value that can be done without.  False if it is absent, None, or makes
 * no sense: it is unknown, and *out unchanged. */

bool snap_take_time(const struct snap_record *r, int64_t *out);
bool snap_take_device(const struct snap_record *r, uint16_t *out);
bool snap_take_total(const struct snap_record *r, enum snap_word key,
                     uint64_t *out);
