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

static void add_token(struct snap_builder *b, const char *format, ...)
    SNAP_PRINTF(2, 3);

static void add_bytes(struct snap_builder *b, const char *bytes, size_t count)
{
    SNAP_ROOM(b, b->rest, b->rest_capacity, b->rest_count + count);
    memcpy(b->rest + b->rest_count, bytes, count);
    b->rest_count += count;
}

static void add_token(struct snap_builder *b, const char *format, ...)
{
    char token[TOKEN_MAX];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(token, sizeof token, format, args);
    va_end(args);
    add_bytes(b, token, (size_t)length);
}

static void encode(struct encoding *e, const struct snap_value *v,
                   unsigned depth);

/* ---- lists and dicts ------------------------------------------------------ */

static void encode_frame(struct encoding *e, uint64_t frame)
{
    /* Unknown keys of frames within unknown keys of frames are not kept: the
     * nesting would have no end. */
    if (e->b->s->frames[frame].rest != 0)
        e->plain = false;
    add_token(e->b, "f%" PRIu64 " ", frame);
}

static void encode_stack(struct encoding *e, uint32_t stack)
{
    size_t count;

    add_token(e->b, "[");
    snapshot_stack(e->b->s, stack, &count);
    for (size_t i = 0; i < count; i++)
        encode_frame(e, snapshot_stack(e->b->s, stack, &count)[i]);
    add_token(e->b, "]");
}

static void encode_list(struct encoding *e, const struct snap_object *o,
                        unsigned depth)
{
    if (o->range == SNAP_STACK) {
        encode_stack(e, (uint32_t)o->first);
    } else if (o->range == SNAP_UNSET) {
        add_token(e->b, "[");
        for (size_t i = 0; e->plain && i < o->count; i++)
            encode(e, &o->items[i], depth);
        add_token(e->b, "]");
    } else if (e->of == SNAP_REST_ROOT &&
               (o->range == SNAP_EVENT || o->range == SNAP_SEGMENT)) {
        add_token(e->b, "%c%" PRIu64 ":%zu ",
                  o->range == SNAP_EVENT ? 'e' : 'g', o->first, o->count);
    } else {
        e->plain = false;
    }
}

static void encode_dict(struct encoding *e, const struct snap_object *o,
                        unsigned depth)
{
    add_token(e->b, "{");
    for (size_t i = 0; e->plain && i < o->count; i += 2) {
        e->plain = o->items[i].kind == SNAP_STRING;
        add_token(e->b, "k%" PRIu64 " ", o->items[i].bits);
        encode(e, &o->items[i + 1], depth);
    }
    add_token(e->b, "}");
}

static void encode_object(struct encoding *e, const struct snap_value *v,
                          unsigned depth)
{
    const struct snap_object *list = snap_object_of(e->b, v, SNAP_LIST);
    const struct snap_object *dict = snap_object_of(e->b, v, SNAP_DICT);

    if (depth > 0 && list != NULL)
        encode_list(e, list, depth - 1);
    else if (depth > 0 && dict != NULL)
        encode_dict(e, dict, depth - 1);
    else
        e->plain = false;
}

/* ---- values --------------------------------------------------------------- */

/* A list or dict that was freed, but whose text may exist. */
static void encode_again(struct encoding *e, uint32_t string)
{
    if (string == 0)
        e->plain = false;
    else
        add_bytes(e->b, snapshot_string(e->b->s, string),
                  snapshot_string_length(e->b->s, string));
}

static void encode(struct encoding *e, const struct snap_value *v,
                   unsigned depth)
{
    static const char tokens[] = {
        [SNAP_UINT] = 'u',
        [SNAP_STRING] = 's',
        [SNAP_POOL] = 'p',
    };

    switch ((enum snap_kind)v->kind) {
    case SNAP_NULL:
        add_token(e->b, "N");
        break;
    case SNAP_BOOL:
        add_token(e->b, v->bits != 0 ? "T" : "F");
        break;
    case SNAP_INT:
        add_token(e->b, "i%" PRId64 " ", (int64_t)v->bits);
        break;
    case SNAP_REAL:
        add_token(e->b, "r%" PRIx64 " ", v->bits);
        break;
    case SNAP_UINT:
    case SNAP_STRING:
    case SNAP_POOL:
        add_token(e->b, "%c%" PRIu64 " ", tokens[v->kind], v->bits);
        break;
    case SNAP_FRAME:
        encode_frame(e, v->bits);
        break;
    case SNAP_STACK:
        encode_stack(e, (uint32_t)v->bits);
        break;
    case SNAP_EMPTY_LIST:
        add_token(e->b, "[]");
        break;
    case SNAP_OBJECT:
        encode_object(e, v, depth);
        break;
    case SNAP_OPAQUE:
        encode_again(e, (uint32_t)v->bits);
        break;
    default:
        e->plain = false;
    }
}

void snap_rest_add(struct snap_builder *b, enum snap_rest_of of,
                   const struct snap_value *key, const struct snap_value *value)
{
    struct encoding e = {.b = b, .of = of, .plain = key->kind == SNAP_STRING};
    struct snap_value now = {.kind = SNAP_OPAQUE};
    size_t begin = b->rest_count;
    size_t value_begin;

    add_token(b, "k%" PRIu64 " ", key->bits);
    value_begin = b->rest_count;
    encode(&e, value, SNAP_REST_DEPTH);
    /* Other references to a record's lists and dicts use their text. */
    if (of == SNAP_REST_RECORD && value->kind == SNAP_OBJECT) {
        if (e.plain)
            now.bits = snap_intern_string(b, b->rest + value_begin,
                                          b->rest_count - value_begin);
        snap_object_free(b, value, &now);
    }
    if (!e.plain)
        b->rest_count = begin;
}

uint32_t snap_rest_end(struct snap_builder *b)
{
    size_t count = b->rest_count;

    b->rest_count = 0;
    return count > 0 ? snap_intern_string(b, b->rest, count) : 0;
}

void snap_rest_of_record(struct snap_builder *b, enum snapshot_record kind,
                         uint64_t record, uint32_t string)
{
    struct snapshot_rests *all = &b->s->rests[kind];

    if (string != 0)
        SNAP_ADD(b, all->at, all->count, b->rests_capacity[kind],
                 ((struct snapshot_rest){record, string}));
}
