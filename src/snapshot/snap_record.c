/* snap_record.c - a dict that is being converted to a record: its values by
 * key, with checks of their types. */
#include "snapshot/snap_record.h"

bool snap_record_wrong(const struct snap_record *r, enum snap_word key,
                       const char *expected)
{
    const struct snap_value *v = r->slot[key];

    return snap_fail_at(r->b, v->at, "\"%s\" of %s is %s; expected %s",
                        larder__snapshot_words[key], r->what,
                        snap_kind_name(r->b, v), expected);
}

bool snap_record_missing(const struct snap_record *r, enum snap_word key)
{
    return snap_fail(r->b, "%s without the key \"%s\" ends here", r->what,
                     larder__snapshot_words[key]);
}

/* ---- values of keys: an absent key leaves *out unchanged ------------------ */

bool snap_take_size(const struct snap_record *r, enum snap_word key,
                    uint64_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    return v == NULL || snap_take_total(r, key, out) ||
           snap_record_wrong(r, key, "an integer from 0 to 2^64 - 1");
}

/* Addresses may be written as negative numbers. */
bool snap_take_address(const struct snap_record *r, enum snap_word key,
                       uint64_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v == NULL)
        return true;
    if (v->kind != SNAP_INT && v->kind != SNAP_UINT)
        return snap_record_wrong(r, key, "an integer");
    *out = v->bits;
    return true;
}

bool snap_need_device(const struct snap_record *r, uint16_t *out)
{
    return snap_record_get(r, KEY_DEVICE) == NULL || snap_take_device(r, out) ||
           snap_record_wrong(r, KEY_DEVICE,
                             "an integer from 0 to 65534, or -1");
}

/* ---- what is unknown if it makes no sense -------------------------------- */

bool snap_take_time(const struct snap_record *r, int64_t *out)
{
    const struct snap_value *v = snap_record_get(r, KEY_TIME_US);

    if (v == NULL || v->kind != SNAP_INT)
        return false;
    *out = (int64_t)v->bits;
    return true;
}

bool snap_take_device(const struct snap_record *r, uint16_t *out)
{
    const struct snap_value *v = snap_record_get(r, KEY_DEVICE);

    if (v == NULL || v->kind != SNAP_INT ||
        (v->bits >= SNAPSHOT_ON_HOST && (int64_t)v->bits != -1))
        return false;
    *out = (uint16_t)v->bits;
    return true;
}

static bool is_size(const struct snap_value *v)
{
    return v->kind == SNAP_UINT ||
           (v->kind == SNAP_INT && (int64_t)v->bits >= 0);
}

bool snap_take_total(const struct snap_record *r, enum snap_word key,
                     uint64_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v == NULL || !is_size(v))
        return false;
    *out = v->bits;
    return true;
}

/* ---- other types ---------------------------------------------------------- */

bool snap_take_string(const struct snap_record *r, enum snap_word key,
                      uint32_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v == NULL)
        return true;
    if (v->kind != SNAP_STRING)
        return snap_record_wrong(r, key, "a string");
    *out = (uint32_t)v->bits;
    return true;
}

bool snap_take_bool(const struct snap_record *r, enum snap_word key, bool *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v == NULL)
        return true;
    if (v->kind != SNAP_BOOL)
        return snap_record_wrong(r, key, "a bool");
    *out = v->bits != 0;
    return true;
}

bool snap_take_stream(const struct snap_record *r, uint32_t *out)
{
    uint64_t stream = 0;

    if (!snap_take_address(r, KEY_STREAM, &stream))
        return false;
    *out = snap_intern_stream(&r->b->intern, stream);
    return *out != SNAP_NONE || snap_no_memory(r->b);
}

bool snap_take_stack(const struct snap_record *r, uint32_t *out)
{
    const struct snap_value *v = snap_record_get(r, KEY_FRAMES);

    if (v == NULL || v->kind == SNAP_EMPTY_LIST)
        return true;
    if (v->kind == SNAP_INT && v->bits < UINT32_MAX) {
        r->b->stack_numbers = true;
        *out = (uint32_t)v->bits + 1;
        return true;
    }
    if (v->kind != SNAP_STACK)
        return snap_record_wrong(r, KEY_FRAMES,
                                 "a list of frames, or a stack's number");
    r->b->stack_lists = true;
    *out = (uint32_t)v->bits;
    return true;
}

/* A tuple of two integers, or in JSON a list of them. */
bool snap_take_pool(const struct snap_record *r, enum snap_word key,
                    uint32_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);
    const struct snap_object *o;

    if (v == NULL)
        return true;
    if (v->kind == SNAP_POOL) {
        *out = (uint32_t)v->bits;
        return true;
    }
    o = snap_object_of(r->b, v, SNAP_LIST);
    if (o == NULL || o->count != 2 || o->range != SNAP_UNSET ||
        (o->items[0].kind != SNAP_INT && o->items[0].kind != SNAP_UINT) ||
        (o->items[1].kind != SNAP_INT && o->items[1].kind != SNAP_UINT))
        return snap_record_wrong(r, key, "a pair of integers");
    *out = snap_intern_pool(
        &r->b->intern,
        (struct snapshot_pool){o->items[0].bits, o->items[1].bits});
    return *out != SNAP_NONE || snap_no_memory(r->b);
}

/* A list of records that belong to this one. */
bool snap_take_range(const struct snap_record *r, enum snap_word key,
                     enum snap_kind kind, uint64_t *first, size_t *count)
{
    const struct snap_value *v = snap_record_get(r, key);
    const struct snap_object *o;

    *count = 0;
    if (v == NULL || v->kind == SNAP_EMPTY_LIST)
        return true;
    o = snap_object_of(r->b, v, SNAP_LIST);
    if (o == NULL || o->range != kind)
        return snap_record_wrong(r, key,
                                 kind == SNAP_BLOCK
                                     ? "a list of blocks that are in no other"
                                     : "a list of history entries");
    *first = o->first;
    *count = o->count;
    return true;
}
