/* snap_pickle.c - the pickle machine: the opcodes of protocols 0 to 5 that make
 * plain data.  Nothing is ever imported or called: an opcode that asks for it
 * is an error, whose message names what it asked for. */
#include <inttypes.h>

#include "base/pickle.h"
#include "snapshot/snap_builder.h"
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

TOOL_NO_RETURN static void truncated(struct snap_builder *b,
                                     const char *expected)
{
    b->in.at = b->in.end;
    snap_fail(b, "the file ends here; expected %s", expected);
}

/* Read on until `count` bytes of the argument are available; the opcode is
 * already consumed. */
static const unsigned char *argument(struct snap_builder *b, size_t count)
{
    snap_want(b, count);
    if (snap_input_left(&b->in) < count)
        truncated(b, "the rest of an opcode");
    return b->in.at;
}

/* Consume a number of `width` bytes, little-endian. */
static uint64_t number(struct snap_builder *b, unsigned width)
{
    uint64_t v = le(argument(b, width), width);

    b->in.at += width;
    return v;
}

/* Each opcode has a function and a number for it: the width of its argument or of
 * the argument's length field, or how many values it takes. */

/* ---- strings and bytes ---------------------------------------------------- */

/* The length of the bytes that follow it. */
static size_t length_of(struct snap_builder *b, unsigned width)
{
    uint64_t length = le(argument(b, width), width);

    if (length > SIZE_MAX / 4)
        snap_fail(b, "a string of %" PRIu64 " bytes", length);
    b->in.at += width;
    argument(b, (size_t)length);
    return (size_t)length;
}

static void op_string(struct snap_builder *b, unsigned width)
{
    size_t length = length_of(b, width);

    if (!snap_utf8_valid(b->in.at, length))
        snap_fail(b, "the string here is not UTF-8");
    snap_push_string(b, (const char *)b->in.at, length);
    b->in.at += length;
}

/* No snapshot data is in them. */
static void op_bytes(struct snap_builder *b, unsigned width)
{
    size_t length = length_of(b, width);

    snap_push(b, SNAP_OPAQUE, 0);
    b->in.at += length;
}

/* ---- numbers -------------------------------------------------------------- */

/* Little-endian, two's complement. */
static void push_long(struct snap_builder *b, const unsigned char *p, size_t n)
{
    unsigned char sign = n > 0 && p[n - 1] >= 0x80 ? 0xff : 0;
    uint64_t v;

    while (n > 0 && p[n - 1] == sign)
        n--;
    v = sign != 0 && n < 8 ? UINT64_MAX << 8 * n : 0;
    if (n > 8) {
        b->s->clamped_count++;
        v = sign != 0 ? (uint64_t)INT64_MIN : UINT64_MAX;
    } else {
        v |= le(p, (unsigned)n);
        if (sign != 0 && v <= INT64_MAX) {
            b->s->clamped_count++;
            v = (uint64_t)INT64_MIN;
        }
    }
    snap_push(b, sign == 0 && v > INT64_MAX ? SNAP_UINT : SNAP_INT, v);
}

static void op_long(struct snap_builder *b, unsigned width)
{
    uint64_t n = le(argument(b, width), width);

    if (n > INT32_MAX)
        snap_fail(b, "an integer of a negative size");
    b->in.at += width;
    push_long(b, argument(b, (size_t)n), (size_t)n);
    b->in.at += n;
}

static void op_binfloat(struct snap_builder *b, unsigned width)
{
    const unsigned char *p = argument(b, width);
    uint64_t bits = 0;

    for (unsigned i = 0; i < width; i++)
        bits = bits << 8 | p[i];
    b->in.at += width;
    snap_push(b, SNAP_REAL, bits);
}

static void op_binint(struct snap_builder *b, unsigned width)
{
    uint64_t v = number(b, width);

    if (width == 4)
        v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
    snap_push(b, SNAP_INT, v);
}

/* None, or an empty set. */
static void op_plain(struct snap_builder *b, unsigned kind)
{
    snap_push(b, (enum snap_kind)kind, 0);
}

static void op_bool(struct snap_builder *b, unsigned value)
{
    snap_push(b, SNAP_BOOL, value);
}

/* ---- lists, dicts, sets --------------------------------------------------- */

/* Where the last `count` values begin. */
static size_t last_values(struct snap_builder *b, size_t count, size_t needed)
{
    size_t above_mark = b->depth;

    if (b->mark_count > 0)
        above_mark -= b->marks[b->mark_count - 1];
    if (above_mark < needed)
        snap_fail(b, "too few values on the stack");
    return b->depth - count;
}

static void op_empty(struct snap_builder *b, unsigned type)
{
    snap_push_object(b, (enum snap_object_type)type);
}

static void op_mark(struct snap_builder *b, unsigned unused)
{
    (void)unused;
    snap_mark(b);
    snap_runs_stack(b);
}

static void op_append(struct snap_builder *b, unsigned count)
{
    snap_append_from(b, count == 0 ? snap_unmark(b)
                                   : last_values(b, count, count + 1));
}

static void op_setitems(struct snap_builder *b, unsigned count)
{
    bool whole = count == 0;

    snap_set_items_from(
        b, whole ? snap_unmark(b) : last_values(b, count, count + 1), whole);
}

static void op_tuple(struct snap_builder *b, unsigned count)
{
    snap_make_list(b, last_values(b, count, count));
}

static void op_marked(struct snap_builder *b, unsigned type)
{
    size_t base = snap_unmark(b);

    if (type == SNAP_DICT)
        snap_make_dict(b, base);
    else
        snap_make_list(b, base);
}

/* Drop the items of a set: no snapshot data is in a set. */
static void op_additems(struct snap_builder *b, unsigned unused)
{
    (void)unused;
    b->depth = snap_unmark(b);
    if (b->depth == 0)
        snap_fail(b, "items without a set");
}

/* ---- the stack and the memo ----------------------------------------------- */

static void op_pop(struct snap_builder *b, unsigned unused)
{
    (void)unused;
    if (b->mark_count > 0 && b->marks[b->mark_count - 1] == b->depth)
        b->mark_count--;
    else if (b->depth == 0)
        snap_fail(b, "nothing on the stack to pop");
    else
        b->depth--;
}

/* Drop the values above the mark; a frozen set takes their place. */
static void op_pop_mark(struct snap_builder *b, unsigned kind)
{
    b->depth = snap_unmark(b);
    if (kind != SNAP_UNSET)
        snap_push(b, (enum snap_kind)kind, 0);
}

static void op_dup(struct snap_builder *b, unsigned unused)
{
    struct snap_value top;

    (void)unused;
    if (b->depth == 0 ||
        (b->mark_count > 0 && b->marks[b->mark_count - 1] == b->depth))
        snap_fail(b, "nothing on the stack to duplicate");
    top = b->stack[b->depth - 1];
    if (top.kind == SNAP_OBJECT)
        b->objects[(uint32_t)top.bits].shared = true;
    snap_push(b, (enum snap_kind)top.kind, top.bits);
}

static void op_get(struct snap_builder *b, unsigned width)
{
    snap_memo_get(b, number(b, width));
}

static void op_put(struct snap_builder *b, unsigned width)
{
    snap_memo_put(b, le(argument(b, width), width));
    b->in.at += width;
}

static void op_memoize(struct snap_builder *b, unsigned unused)
{
    (void)unused;
    snap_memo_put(b, b->memo_set);
}

/* ---- other opcodes -------------------------------------------------------- */

static void op_proto(struct snap_builder *b, unsigned width)
{
    unsigned char protocol = *argument(b, width);

    if (protocol > 5)
        snap_fail(b, "pickle protocol %d; expected 0 to 5", protocol);
    b->s->protocol = protocol;
    b->in.at += width;
}

/* A frame's length adds nothing to the opcodes in it. */
static void op_frame(struct snap_builder *b, unsigned width)
{
    argument(b, width);
    b->in.at += width;
}

static const struct opcode {
    void (*run)(struct snap_builder *b, unsigned number);
    unsigned number;
} opcodes[UINT8_MAX + 1] = {
    [PICKLE_MARK] = {op_mark, 0},
    [PICKLE_POP] = {op_pop, 0},
    [PICKLE_POP_MARK] = {op_pop_mark, SNAP_UNSET},
    [PICKLE_DUP] = {op_dup, 0},
    [PICKLE_BININT] = {op_binint, 4},
    [PICKLE_BININT1] = {op_binint, 1},
    [PICKLE_BININT2] = {op_binint, 2},
    [PICKLE_LONG1] = {op_long, 1},
    [PICKLE_LONG4] = {op_long, 4},
    [PICKLE_BINFLOAT] = {op_binfloat, 8},
    [PICKLE_NONE] = {op_plain, SNAP_NULL},
    [PICKLE_NEWTRUE] = {op_bool, true},
    [PICKLE_NEWFALSE] = {op_bool, false},
    [PICKLE_BINSTRING] = {op_string, 4},
    [PICKLE_SHORT_BINSTRING] = {op_string, 1},
    [PICKLE_BINUNICODE] = {op_string, 4},
    [PICKLE_SHORT_BINUNICODE] = {op_string, 1},
    [PICKLE_BINUNICODE8] = {op_string, 8},
    [PICKLE_BINBYTES] = {op_bytes, 4},
    [PICKLE_SHORT_BINBYTES] = {op_bytes, 1},
    [PICKLE_BINBYTES8] = {op_bytes, 8},
    [PICKLE_BYTEARRAY8] = {op_bytes, 8},
    [PICKLE_EMPTY_TUPLE] = {op_tuple, 0},
    [PICKLE_TUPLE] = {op_marked, SNAP_LIST},
    [PICKLE_TUPLE1] = {op_tuple, 1},
    [PICKLE_TUPLE2] = {op_tuple, 2},
    [PICKLE_TUPLE3] = {op_tuple, 3},
    [PICKLE_EMPTY_LIST] = {op_empty, SNAP_LIST},
    [PICKLE_LIST] = {op_marked, SNAP_LIST},
    [PICKLE_APPEND] = {op_append, 1},
    [PICKLE_APPENDS] = {op_append, 0},
    [PICKLE_EMPTY_DICT] = {op_empty, SNAP_DICT},
    [PICKLE_DICT] = {op_marked, SNAP_DICT},
    [PICKLE_SETITEM] = {op_setitems, 2},
    [PICKLE_SETITEMS] = {op_setitems, 0},
    [PICKLE_EMPTY_SET] = {op_plain, SNAP_OPAQUE},
    [PICKLE_ADDITEMS] = {op_additems, 0},
    [PICKLE_FROZENSET] = {op_pop_mark, SNAP_OPAQUE},
    [PICKLE_BINGET] = {op_get, 1},
    [PICKLE_LONG_BINGET] = {op_get, 4},
    [PICKLE_BINPUT] = {op_put, 1},
    [PICKLE_LONG_BINPUT] = {op_put, 4},
    [PICKLE_MEMOIZE] = {op_memoize, 0},
    [PICKLE_PROTO] = {op_proto, 1},
    [PICKLE_FRAME] = {op_frame, 8},
};

/* ---- fast path: opcodes whose bytes are all buffered ---------------------- */

/* One to eight bytes of two's complement; eight bytes are readable. */
static inline uint64_t sign_extend(const unsigned char *p, unsigned bytes)
{
    unsigned beyond = 64 - 8 * bytes;
    uint64_t v = (le32(p) | (uint64_t)le32(p + 4) << 32) << beyond;

    return (uint64_t)((int64_t)v >> beyond);
}

/* Push the memo's value if it is plain; otherwise take the slow path. */
static inline void get_fast(struct snap_builder *b, uint32_t index)
{
    uint32_t packed = index < b->memo_end ? b->memo[index] : 0;
    uint32_t kind = packed >> SNAP_MEMO_SHIFT;

    if (kind == SNAP_UNSET || kind == SNAP_OBJECT)
        snap_memo_get(b, index);
    else
        snap_push(b, (enum snap_kind)kind,
                  packed & (((uint32_t)1 << SNAP_MEMO_SHIFT) - 1));
}

/* Runs the common opcodes; stops at any other, with `in->at` there. */
static void run_fast(struct snap_builder *b)
{
    struct snap_input *in = &b->in;
    const unsigned char *p = in->at;
    const unsigned char *last = in->end - AHEAD;
    uint32_t base = (uint32_t)in->window_offset;

    for (; p < last; in->at = p) {
        b->at = base + (uint32_t)(p - in->window);
        switch (*p) {
        case PICKLE_BINGET:
            get_fast(b, p[1]);
            p += 2;
            break;
        case PICKLE_LONG_BINGET:
            get_fast(b, le32(p + 1));
            p += 5;
            break;
        case PICKLE_BININT1:
            snap_push(b, SNAP_INT, p[1]);
            p += 2;
            break;
        case PICKLE_BININT2:
            snap_push(b, SNAP_INT, p[1] | (uint64_t)p[2] << 8);
            p += 3;
            break;
        case PICKLE_BININT:
            snap_push(b, SNAP_INT, (uint64_t)(int64_t)(int32_t)le32(p + 1));
            p += 5;
            break;
        case PICKLE_LONG1:
            if (p[1] == 0 || p[1] > 8)
                return;
            snap_push(b, SNAP_INT, sign_extend(p + 2, p[1]));
            p += 2 + p[1];
            break;
        case PICKLE_MEMOIZE:
            snap_memo_put(b, b->memo_set);
            p++;
            break;
        default:
            return;
        }
    }
}

void snap_read_pickle(struct snap_builder *b)
{
    struct snap_input *in = &b->in;

    for (;;) {
        const struct opcode *o;
        unsigned char op;

        if (snap_input_left(in) <= AHEAD)
            snap_want(b, 4096);
        if (snap_input_left(in) > AHEAD)
            run_fast(b);
        if (in->at == in->end)
            truncated(b, "an opcode, or STOP");
        b->at = (uint32_t)snap_input_offset(in, in->at);
        op = *in->at++;
        o = &opcodes[op];
        if (op == PICKLE_STOP)
            return;
        if (o->run != NULL)
            o->run(b, o->number);
        else
            snap_pickle_line(b, op);
    }
}
