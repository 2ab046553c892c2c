/* snap_rest.c - keeps unknown keys, as a text of tokens, so that they can be
 * written again. */
#include "snapshot/snap_rest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN_MAX = 64 };

struct encoding {
    struct snap_builder *b;
    enum snap_rest_of of;
    bool plain; /* everything so far can be kept */
};

static bool add_token(struct snap_builder *b, const char *format, ...)
    SNAP_PRINTF(2, 3);

static bool add_bytes(struct snap_builder *b, const char *bytes, size_t count)
{
    if (!snap_reserve(&b->memory, &b->rest, &b->rest_capacity,
                      b->rest_count + count, 1))
        return snap_no_memory(b);
    memcpy(b->rest + b->rest_count, bytes, count);
    b->rest_count += count;
    return true;
}

static bool add_token(struct snap_builder *b, const char *format, ...)
{
    char token[TOKEN_MAX];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(token, sizeof token, format, args);
    va_end(args);
    return add_bytes(b, token, (size_t)length);
}

static bool encode(struct encoding *e, const struct snap_value *v,
                   unsigned depth);

/* ---- lists and dicts ------------------------------------------------------ */

static bool encode_frame(struct encoding *e, uint64_t frame)
{
    /* Unknown keys of frames within unknown keys of frames are not kept: the
     * nesting would have no end. */
    if (e->b->s->frames[frame].rest != 0)
        e->plain = false;
    return add_token(e->b, "f%" PRIu64 " ", frame);
}

static bool encode_stack(struct encoding *e, uint32_t stack)
{
    size_t count;
    bool ok = add_token(e->b, "[");

    snapshot_stack(e->b->s, stack, &count);
    for (size_t i = 0; ok && i < count; i++)
        ok = encode_frame(e, snapshot_stack(e->b->s, stack, &count)[i]);
    return ok && add_token(e->b, "]");
}

static bool encode_range(struct encoding *e, const struct snap_object *o)
{
    if (o->range == SNAP_STACK)
        return encode_stack(e, (uint32_t)o->first);
    if (e->of == SNAP_REST_ROOT &&
        (o->range == SNAP_EVENT || o->range == SNAP_SEGMENT))
        return add_token(e->b, "%c%" PRIu64 ":%zu ",
                         o->range == SNAP_EVENT ? 'e' : 'g', o->first,
                         o->count);
    e->plain = false;
    return true;
}

static bool encode_list(struct encoding *e, const struct snap_object *o,
                        unsigned depth)
{
    bool ok;

    if (o->range != SNAP_UNSET)
        return encode_range(e, o);
    ok = add_token(e->b, "[");
    for (size_t i = 0; ok && e->plain && i < o->count; i++)
        ok = encode(e, &o->items[i], depth);
    return ok && add_token(e->b, "]");
}

static bool encode_dict(struct encoding *e, const struct snap_object *o,
                        unsigned depth)
{
    bool ok = add_token(e->b, "{");

    for (size_t i = 0; ok && e->plain && i < o->count; i += 2) {
        e->plain = o->items[i].kind == SNAP_STRING;
        ok = add_token(e->b, "k%" PRIu64 " ", o->items[i].bits) &&
             encode(e, &o->items[i + 1], depth);
    }
    return ok && add_token(e->b, "}");
}

static bool encode_object(struct encoding *e, const struct snap_value *v,
                          unsigned depth)
{
    const struct snap_object *list = snap_object_of(e->b, v, SNAP_LIST);
    const struct snap_object *dict = snap_object_of(e->b, v, SNAP_DICT);

    if (depth == 0 || (list == NULL && dict == NULL)) {
        e->plain = false;
        return true;
    }
    return list != NULL ? encode_list(e, list, depth - 1)
                        : encode_dict(e, dict, depth - 1);
}

/* ---- values --------------------------------------------------------------- */

/* A list or dict that was freed, but whose text exists. */
static bool encode_again(struct encoding *e, uint64_t string)
{
    uint32_t n = (uint32_t)string;

    if (n == 0) {
        e->plain = false;
        return true;
    }
    return add_bytes(e->b, snapshot_string(e->b->s, n),
                     snapshot_string_length(e->b->s, n));
}

static bool encode(struct encoding *e, const struct snap_value *v,
                   unsigned depth)
{
    switch ((enum snap_kind)v->kind) {
    case SNAP_NULL:
        return add_token(e->b, "N");
    case SNAP_BOOL:
        return add_token(e->b, v->bits != 0 ? "T" : "F");
    case SNAP_INT:
        return add_token(e->b, "i%" PRId64 " ", (int64_t)v->bits);
    case SNAP_UINT:
        return add_token(e->b, "u%" PRIu64 " ", v->bits);
    case SNAP_REAL:
        return add_token(e->b, "r%" PRIx64 " ", v->bits);
    case SNAP_STRING:
        return add_token(e->b, "s%" PRIu64 " ", v->bits);
    case SNAP_POOL:
        return add_token(e->b, "p%" PRIu64 " ", v->bits);
    case SNAP_FRAME:
        return encode_frame(e, v->bits);
    case SNAP_STACK:
        return encode_stack(e, (uint32_t)v->bits);
    case SNAP_EMPTY_LIST:
        return add_token(e->b, "[]");
    case SNAP_OBJECT:
        return encode_object(e, v, depth);
    case SNAP_OPAQUE:
        return encode_again(e, v->bits);
    default:
        e->plain = false;
        return true;
    }
}

/* Free the lists and dicts of a record; other references to them use their
 * text. */
static bool free_object(struct snap_builder *b, const struct snap_value *v,
                        size_t begin, bool plain)
{
    struct snap_value now = {.kind = SNAP_OPAQUE};
    uint32_t n = 0;

    if (v->kind != SNAP_OBJECT)
        return true;
    if (plain)
        n = snap_intern_string(&b->intern, b->rest + begin,
                               b->rest_count - begin);
    if (n == SNAP_NONE)
        return snap_no_memory(b);
    now.bits = n;
    if (snap_object_of(b, v, SNAP_LIST) != NULL ||
        snap_object_of(b, v, SNAP_DICT) != NULL)
        snap_object_free(b, v, &now);
    return true;
}

bool snap_rest_add(struct snap_builder *b, enum snap_rest_of of,
                   const struct snap_value *key, const struct snap_value *value)
{
    struct encoding e = {.b = b, .of = of, .plain = key->kind == SNAP_STRING};
    size_t begin = b->rest_count;
    size_t value_begin;

    if (!add_token(b, "k%" PRIu64 " ", key->bits))
        return false;
    value_begin = b->rest_count;
    if (!encode(&e, value, SNAP_REST_DEPTH))
        return false;
    if (of == SNAP_REST_RECORD && !free_object(b, value, value_begin, e.plain))
        return false;
    if (!e.plain)
        b->rest_count = begin;
    return true;
}

bool snap_rest_end(struct snap_builder *b, uint32_t *string)
{
    *string = 0;
    if (b->rest_count > 0)
        *string = snap_intern_string(&b->intern, b->rest, b->rest_count);
    b->rest_count = 0;
    return *string != SNAP_NONE || snap_no_memory(b);
}

bool snap_rest_of_record(struct snap_builder *b, enum snapshot_record kind,
                         uint64_t record, uint32_t string)
{
    struct snapshot_rests *all = &b->s->rests[kind];

    if (string == 0)
        return true;
    if (!snap_reserve(&b->memory, &all->at, &b->rests_capacity[kind],
                      all->count + 1, sizeof *all->at))
        return snap_no_memory(b);
    all->at[all->count++] = (struct snapshot_rest){record, string};
    return true;
}
