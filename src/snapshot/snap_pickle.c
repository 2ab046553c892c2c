/* snap_pickle.c - the pickle machine: the opcodes of protocols 0 to 5 that make
 * plain data.  Nothing is ever imported or called: an opcode that asks for it
 * is an error, whose message names what it asked for. */
#include <inttypes.h>

#include "base/pickle.h"
#include "snapshot/snap_builder.h"
#include "snapshot/snap_pickle.h"
#include "snapshot/snap_text.h"

/* The longest argument of fixed size, with its opcode. */
enum { AHEAD = 16 };

static uint64_t le(const unsigned char *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static uint32_t le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static bool truncated(struct snap_pickle *k, const char *expected)
{
    k->b->in.at = k->b->in.end;
    return snap_fail(k->b, "the file ends here; expected %s", expected);
}

/* Read on until `count` bytes of the argument are available; the opcode is
 * already consumed. */
static bool argument(struct snap_pickle *k, size_t count)
{
    struct snap_input *in = &k->b->in;

    if (snap_input_left(in) >= count)
        return true;
    if (!snap_input_want(in, count, k->b->error))
        return false;
    return snap_input_left(in) >= count ||
           truncated(k, "the rest of an opcode");
}

/* ---- strings and bytes ---------------------------------------------------- */

/* A string whose length field has `width` bytes. */
static bool op_string(struct snap_pickle *k, unsigned width, bool text)
{
    struct snap_input *in = &k->b->in;
    uint64_t length;

    if (!argument(k, width))
        return false;
    length = le(in->at, width);
    if (length > SIZE_MAX / 4)
        return snap_fail(k->b, "a string of %" PRIu64 " bytes", length);
    in->at += width;
    if (!argument(k, (size_t)length))
        return false;
    if (text && !snap_utf8_valid(in->at, (size_t)length))
        return snap_fail(k->b, "the string here is not UTF-8");
    if (!(text ? snap_push_string(k->b, (const char *)in->at, (size_t)length,
                                  k->at)
               : snap_push(k->b, SNAP_OPAQUE, 0, k->at)))
        return false;
    in->at += length;
    return true;
}

/* ---- numbers -------------------------------------------------------------- */

/* Little-endian, two's complement. */
static bool push_long(struct snap_pickle *k, const unsigned char *p, size_t n)
{
    unsigned char sign = n > 0 && p[n - 1] >= 0x80 ? 0xff : 0;
    uint64_t v;

    while (n > 0 && p[n - 1] == sign)
        n--;
    v = sign != 0 && n < 8 ? UINT64_MAX << 8 * n : 0;
    if (n > 8) {
        k->b->s->clamped_count++;
        v = sign != 0 ? (uint64_t)INT64_MIN : UINT64_MAX;
    } else {
        v |= le(p, (unsigned)n);
        if (sign != 0 && v <= INT64_MAX) {
            k->b->s->clamped_count++;
            v = (uint64_t)INT64_MIN;
        }
    }
    return snap_push(k->b, sign == 0 && v > INT64_MAX ? SNAP_UINT : SNAP_INT, v,
                     k->at);
}

static bool op_long(struct snap_pickle *k, unsigned width)
{
    struct snap_input *in = &k->b->in;
    uint64_t n;

    if (!argument(k, width))
        return false;
    n = le(in->at, width);
    if (n > INT32_MAX)
        return snap_fail(k->b, "an integer of a negative size");
    in->at += width;
    if (!argument(k, (size_t)n) || !push_long(k, in->at, (size_t)n))
        return false;
    in->at += n;
    return true;
}

static bool op_binfloat(struct snap_pickle *k)
{
    struct snap_input *in = &k->b->in;
    uint64_t bits = 0;

    if (!argument(k, 8))
        return false;
    for (unsigned i = 0; i < 8; i++)
        bits = bits << 8 | in->at[i];
    in->at += 8;
    return snap_push(k->b, SNAP_REAL, bits, k->at);
}

/* ---- lists, dicts, the stack ---------------------------------------------- */

static bool op_items(struct snap_pickle *k,
                     bool (*put)(struct snap_builder *b, size_t base))
{
    size_t base;

    return snap_unmark(k->b, &base) && put(k->b, base);
}

static bool op_make(struct snap_pickle *k,
                    bool (*make)(struct snap_builder *b, size_t base,
                                 uint32_t at))
{
    size_t base;

    return snap_unmark(k->b, &base) && make(k->b, base, k->at);
}

/* The number of values above the last mark. */
static size_t above_mark(const struct snap_builder *b)
{
    return b->mark_count == 0 ? b->depth
                              : b->depth - b->marks[b->mark_count - 1];
}

static bool op_last(struct snap_pickle *k, size_t count,
                    bool (*put)(struct snap_builder *b, size_t base))
{
    if (above_mark(k->b) < count + 1)
        return snap_fail(k->b, "too few values on the stack");
    return put(k->b, k->b->depth - count);
}

static bool op_tuple(struct snap_pickle *k, size_t count)
{
    if (above_mark(k->b) < count)
        return snap_fail(k->b, "too few values on the stack");
    return snap_make_list(k->b, k->b->depth - count, k->at);
}

static bool op_pop(struct snap_pickle *k)
{
    struct snap_builder *b = k->b;

    if (b->mark_count > 0 && b->marks[b->mark_count - 1] == b->depth) {
        b->mark_count--;
        return true;
    }
    if (b->depth == 0)
        return snap_fail(b, "nothing on the stack to pop");
    b->depth--;
    return true;
}

static bool op_pop_mark(struct snap_pickle *k)
{
    return snap_unmark(k->b, &k->b->depth);
}

static bool op_dup(struct snap_pickle *k)
{
    struct snap_builder *b = k->b;

    if (above_mark(b) == 0)
        return snap_fail(b, "nothing on the stack to duplicate");
    if (b->stack[b->depth - 1].kind == SNAP_OBJECT)
        b->objects[(uint32_t)b->stack[b->depth - 1].bits].shared = true;
    return snap_push(b, (enum snap_kind)b->stack[b->depth - 1].kind,
                     b->stack[b->depth - 1].bits, k->at);
}

/* Drop the items of a set: no snapshot data is in a set. */
static bool drop_from(struct snap_builder *b, size_t base)
{
    b->depth = base;
    return base > 0 || snap_fail(b, "items without a set");
}

static bool make_opaque(struct snap_builder *b, size_t base, uint32_t at)
{
    b->depth = base;
    return snap_push(b, SNAP_OPAQUE, 0, at);
}

/* ---- the memo ------------------------------------------------------------- */

static bool op_get(struct snap_pickle *k, unsigned width)
{
    uint64_t index;

    if (!argument(k, width))
        return false;
    index = le(k->b->in.at, width);
    k->b->in.at += width;
    return snap_memo_get(k->b, index, k->at);
}

static bool op_put(struct snap_pickle *k, unsigned width)
{
    if (!argument(k, width) || !snap_memo_put(k->b, le(k->b->in.at, width)))
        return false;
    k->b->in.at += width;
    return true;
}

/* ---- other opcodes -------------------------------------------------------- */

static bool op_proto(struct snap_pickle *k)
{
    if (!argument(k, 1))
        return false;
    if (*k->b->in.at > 5)
        return snap_fail(k->b, "pickle protocol %d; expected 0 to 5",
                         *k->b->in.at);
    k->b->s->protocol = *k->b->in.at++;
    return true;
}

/* A frame's length adds nothing to the opcodes in it. */
static bool op_frame(struct snap_pickle *k)
{
    if (!argument(k, 8))
        return false;
    k->b->in.at += 8;
    return true;
}

static bool op_binint(struct snap_pickle *k, unsigned width)
{
    uint64_t v;

    if (!argument(k, width))
        return false;
    v = le(k->b->in.at, width);
    if (width == 4)
        v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
    k->b->in.at += width;
    return snap_push(k->b, SNAP_INT, v, k->at);
}

/* ---- dispatch ------------------------------------------------------------- */

static bool op_seldom(struct snap_pickle *k, unsigned char op)
{
    struct snap_builder *b = k->b;

    switch (op) {
    case PICKLE_PROTO:
        return op_proto(k);
    case PICKLE_FRAME:
        return op_frame(k);
    case PICKLE_POP:
        return op_pop(k);
    case PICKLE_POP_MARK:
        return op_pop_mark(k);
    case PICKLE_DUP:
        return op_dup(k);
    case PICKLE_EMPTY_TUPLE:
        return snap_make_list(b, b->depth, k->at);
    case PICKLE_TUPLE:
        return op_make(k, snap_make_list);
    case PICKLE_TUPLE1:
        return op_tuple(k, 1);
    case PICKLE_TUPLE3:
        return op_tuple(k, 3);
    case PICKLE_LIST:
        return op_make(k, snap_make_list);
    case PICKLE_DICT:
        return op_make(k, snap_make_dict);
    case PICKLE_LONG4:
        return op_long(k, 4);
    case PICKLE_BINFLOAT:
        return op_binfloat(k);
    case PICKLE_BINUNICODE:
    case PICKLE_BINSTRING:
        return op_string(k, 4, true);
    case PICKLE_SHORT_BINSTRING:
        return op_string(k, 1, true);
    case PICKLE_BINUNICODE8:
        return op_string(k, 8, true);
    case PICKLE_SHORT_BINBYTES:
        return op_string(k, 1, false);
    case PICKLE_BINBYTES:
        return op_string(k, 4, false);
    case PICKLE_BINBYTES8:
    case PICKLE_BYTEARRAY8:
        return op_string(k, 8, false);
    case PICKLE_EMPTY_SET:
        return snap_push(b, SNAP_OPAQUE, 0, k->at);
    case PICKLE_ADDITEMS:
        return op_items(k, drop_from);
    case PICKLE_FROZENSET:
        return op_make(k, make_opaque);
    default:
        return snap_pickle_line(k, op);
    }
}

static bool op_often(struct snap_pickle *k, unsigned char op)
{
    struct snap_builder *b = k->b;

    switch (op) {
    case PICKLE_BINGET:
        return op_get(k, 1);
    case PICKLE_LONG_BINGET:
        return op_get(k, 4);
    case PICKLE_BINPUT:
        return op_put(k, 1);
    case PICKLE_LONG_BINPUT:
        return op_put(k, 4);
    case PICKLE_MEMOIZE:
        return snap_memo_put(b, b->memo_set);
    case PICKLE_MARK:
        return snap_mark(b) && snap_pickle_stack(k);
    case PICKLE_EMPTY_DICT:
        return snap_push_object(b, SNAP_DICT, k->at);
    case PICKLE_EMPTY_LIST:
        return snap_push_object(b, SNAP_LIST, k->at);
    case PICKLE_SETITEMS:
        return op_items(k, snap_set_items_from);
    case PICKLE_APPENDS:
        return op_items(k, snap_append_from);
    case PICKLE_SETITEM:
        return op_last(k, 2, snap_set_item_from);
    case PICKLE_APPEND:
        return op_last(k, 1, snap_append_from);
    case PICKLE_BININT1:
        return op_binint(k, 1);
    case PICKLE_BININT2:
        return op_binint(k, 2);
    case PICKLE_BININT:
        return op_binint(k, 4);
    case PICKLE_LONG1:
        return op_long(k, 1);
    case PICKLE_SHORT_BINUNICODE:
        return op_string(k, 1, true);
    case PICKLE_TUPLE2:
        return op_tuple(k, 2);
    case PICKLE_NONE:
        return snap_push(b, SNAP_NULL, 0, k->at);
    case PICKLE_NEWTRUE:
    case PICKLE_NEWFALSE:
        return snap_push(b, SNAP_BOOL, op == PICKLE_NEWTRUE, k->at);
    default:
        return op_seldom(k, op);
    }
}

/* ---- fast path: opcodes whose bytes are all buffered ---------------------- */

/* One to eight bytes of two's complement; eight bytes are readable. */
static inline uint64_t sign_extend(const unsigned char *p, unsigned bytes)
{
    unsigned beyond = 64 - 8 * bytes;
    uint64_t v = (le32(p) | (uint64_t)le32(p + 4) << 32) << beyond;

    return (uint64_t)((int64_t)v >> beyond);
}

/* Push the memo's value if it is plain; otherwise take the slow path. */
static inline bool get_fast(struct snap_builder *b, uint32_t index, uint32_t at)
{
    uint32_t packed = index < b->memo_end ? b->memo[index] : 0;
    uint32_t kind = packed >> SNAP_MEMO_SHIFT;

    if (kind == SNAP_UNSET || kind == SNAP_OBJECT)
        return snap_memo_get(b, index, at);
    return snap_push(b, (enum snap_kind)kind,
                     packed & (((uint32_t)1 << SNAP_MEMO_SHIFT) - 1), at);
}

/* Runs the common opcodes; stops at any other, with `in->at` there. */
static bool run_fast(struct snap_pickle *k)
{
    struct snap_builder *b = k->b;
    struct snap_input *in = &b->in;
    const unsigned char *p = in->at;
    const unsigned char *last = in->end - AHEAD;
    uint32_t base = (uint32_t)in->window_offset;
    bool fine = true;

    for (; fine && p < last; in->at = p) {
        uint32_t at = base + (uint32_t)(p - in->window);

        switch (*p) {
        case PICKLE_BINGET:
            fine = get_fast(b, p[1], at);
            p += 2;
            break;
        case PICKLE_LONG_BINGET:
            fine = get_fast(b, le32(p + 1), at);
            p += 5;
            break;
        case PICKLE_BININT1:
            fine = snap_push(b, SNAP_INT, p[1], at);
            p += 2;
            break;
        case PICKLE_BININT2:
            fine = snap_push(b, SNAP_INT, p[1] | (uint64_t)p[2] << 8, at);
            p += 3;
            break;
        case PICKLE_BININT:
            fine = snap_push(b, SNAP_INT,
                             (uint64_t)(int64_t)(int32_t)le32(p + 1), at);
            p += 5;
            break;
        case PICKLE_LONG1:
            if (p[1] == 0 || p[1] > 8)
                return true;
            fine = snap_push(b, SNAP_INT, sign_extend(p + 2, p[1]), at);
            p += 2 + p[1];
            break;
        case PICKLE_MEMOIZE:
            fine = snap_memo_put(b, b->memo_set);
            p++;
            break;
        default:
            return true;
        }
    }
    return fine;
}

bool snap_read_pickle(struct snap_builder *b)
{
    struct snap_pickle k = {.b = b};
    struct snap_input *in = &b->in;
    bool fine = true;
    unsigned char op = 0;

    while (fine && op != PICKLE_STOP) {
        if (snap_input_left(in) <= AHEAD &&
            !snap_input_want(in, 4096, b->error)) {
            fine = false;
            break;
        }
        if (snap_input_left(in) > AHEAD && !run_fast(&k)) {
            fine = false;
            break;
        }
        if (in->at == in->end) {
            fine = truncated(&k, "an opcode, or STOP");
            break;
        }
        k.at = (uint32_t)snap_input_offset(in, in->at);
        op = *in->at++;
        fine = op == PICKLE_STOP || op_often(&k, op);
    }
    snap_pickle_free(&k);
    return fine;
}
