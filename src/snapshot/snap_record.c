/* snap_record.c - a dict that is being converted to a record: its values by
 * key, with checks of their types. */
#include "snapshot/snap_record.h"

TOOL_NO_RETURN void snap_record_wrong(const struct snap_record *r,
                                      enum snap_word key, const char *expected)
{
    const struct snap_value *v = r->slot[key];

    snap_fail_at(r->b, v->at, "\"%s\" of %s is %s; expected %s",
                 larder__snapshot_words[key], r->what, snap_kind_name(r->b, v),
                 expected);
}

void snap_record_need(const struct snap_record *r, enum snap_word key)
{
    if (snap_record_get(r, key) == NULL)
        snap_fail(r->b, "%s without the key \"%s\" ends here", r->what,
                  larder__snapshot_words[key]);
}

/* The value of a key, of this kind.  NULL: it is absent. */
static const struct snap_value *take(const struct snap_record *r,
                                     enum snap_word key, enum snap_kind kind,
                                     const char *expected)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v != NULL && v->kind != kind)
        snap_record_wrong(r, key, expected);
    return v;
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

bool snap_take_total(const struct snap_record *r, enum snap_word key,
                     uint64_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v == NULL || !snap_is_count(v))
        return false;
    *out = v->bits;
    return true;
}

/* ---- values of keys: an absent key leaves *out unchanged ------------------ */

void snap_take_size(const struct snap_record *r, enum snap_word key,
                    uint64_t *out)
{
    if (snap_record_get(r, key) != NULL && !snap_take_total(r, key, out))
        snap_record_wrong(r, key, "an integer from 0 to 2^64 - 1");
}

/* Addresses may be written as negative numbers. */
void snap_take_address(const struct snap_record *r, enum snap_word key,
                       uint64_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);

    if (v == NULL)
        return;
    if (!snap_is_integer(v))
        snap_record_wrong(r, key, "an integer");
    *out = v->bits;
}

void snap_need_device(const struct snap_record *r, uint16_t *out)
{
    if (snap_record_get(r, KEY_DEVICE) != NULL && !snap_take_device(r, out))
        snap_record_wrong(r, KEY_DEVICE, "an integer from 0 to 65534, or -1");
}

void snap_take_string(const struct snap_record *r, enum snap_word key,
                      uint32_t *out)
{
    const struct snap_value *v = take(r, key, SNAP_STRING, "a string");

    if (v != NULL)
        *out = (uint32_t)v->bits;
}

void snap_take_bool(const struct snap_record *r, enum snap_word key, bool *out)
{
    const struct snap_value *v = take(r, key, SNAP_BOOL, "a bool");

    if (v != NULL)
        *out = v->bits != 0;
}

void snap_take_stream(const struct snap_record *r, uint32_t *out)
{
    uint64_t stream = 0;

    snap_take_address(r, KEY_STREAM, &stream);
    *out = snap_intern_stream(r->b, stream);
}

void snap_take_stack(const struct snap_record *r, uint32_t *out)
{
    const struct snap_value *v = snap_record_get(r, KEY_FRAMES);

    if (v == NULL || v->kind == SNAP_EMPTY_LIST)
        return;
    if (v->kind == SNAP_INT && v->bits < UINT32_MAX) {
        r->b->stack_numbers = true;
        *out = (uint32_t)v->bits + 1;
        return;
    }
    take(r, KEY_FRAMES, SNAP_STACK, "a list of frames, or a stack's number");
    r->b->stack_lists = true;
    *out = (uint32_t)v->bits;
}

/* A tuple of two integers, or in JSON a list of them. */
void snap_take_pool(const struct snap_record *r, enum snap_word key,
                    uint32_t *out)
{
    const struct snap_value *v = snap_record_get(r, key);
    const struct snap_object *o;

    if (v == NULL)
        return;
    if (v->kind == SNAP_POOL) {
        *out = (uint32_t)v->bits;
        return;
    }
    o = snap_object_of(r->b, v, SNAP_LIST);
    if (o == NULL || o->count != 2 || o->range != SNAP_UNSET ||
        !snap_is_integer(&o->items[0]) || !snap_is_integer(&o->items[1]))
        snap_record_wrong(r, key, "a pair of integers");
    *out = snap_intern_pool(r->b, o->items);
}

/* A list of records that belong to this one. */
void snap_take_range(const struct snap_record *r, enum snap_word key,
                     enum snap_kind kind, uint64_t *first, size_t *count)
{
    const struct snap_value *v = snap_record_get(r, key);
    const struct snap_object *o;

    *count = 0;
    if (v == NULL || v->kind == SNAP_EMPTY_LIST)
        return;
    o = snap_object_of(r->b, v, SNAP_LIST);
    if (o == NULL || o->range != kind)
        snap_record_wrong(r, key,
                          kind == SNAP_BLOCK
                              ? "a list of blocks that are in no other"
                              : "a list of history entries");
    *first = o->first;
    *count = o->count;
}
