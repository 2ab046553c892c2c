/* pickled.c - a JSON document as a pickle, in any way. */
#include "support/pickled.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

enum { MEMO_MAX = 500, PART_MAX = 7 };

/* In one part, as Python does with up to a thousand pairs; pair by pair; or made
 * of what lies on the stack.  A writer knows one of these. */
enum dicts { WHOLE, SINGLE, MADE };

struct pickling {
    FILE *out;
    enum dicts dicts;
    uint64_t seed;          /* 0: always the first choice */
    json_t *kept[MEMO_MAX]; /* by number in the memo; owned */
    size_t memo_count;
};

/* Below `end`; 0 without a seed. */
static unsigned choose(struct pickling *p, unsigned end)
{
    return p->seed != 0 ? random_u32(&p->seed, end) : 0;
}

static void put_op(struct pickling *p, int op)
{
    putc(op, p->out);
}

/* Little-endian. */
static void put_le(struct pickling *p, uint64_t n, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        putc((int)(n >> 8 * i & 0xff), p->out);
}

static void put_value(struct pickling *p, const json_t *v);

/* ---- the memo -------------------------------------------------------------- */

static void put_get(struct pickling *p, size_t number)
{
    unsigned how = number < 256 ? choose(p, 3) : 1 + choose(p, 2);

    put_op(p, "hjg"[how]);
    if (how < 2)
        put_le(p, number, how == 0 ? 1 : 4);
    else
        fprintf(p->out, "%zu\n", number);
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a == b || (json_is_string(a) && json_is_string(b) &&
                      json_string_length(a) == json_string_length(b) &&
                      memcmp(json_string_value(a), json_string_value(b),
                             json_string_length(a)) == 0);
}

/* Whether it was memoized, and is fetched. */
static bool put_again(struct pickling *p, const json_t *v)
{
    for (size_t i = 0; i < p->memo_count; i++) {
        if (is_same(p->kept[i], v) && (p->seed == 0 || choose(p, 4) != 0)) {
            put_get(p, i);
            return true;
        }
    }
    return false;
}

static void keep(struct pickling *p, const json_t *v)
{
    size_t n = p->memo_count;
    unsigned how = n < 256 ? choose(p, 4) : choose(p, 3);

    if (n == MEMO_MAX || (p->seed != 0 && choose(p, 3) == 0))
        return;
    p->kept[p->memo_count++] = json_incref((json_t *)(uintptr_t)v);
    put_op(p, "\x94rpq"[how] & 0xff);
    if (how == 1 || how == 3)
        put_le(p, n, how == 1 ? 4 : 1);
    else if (how == 2)
        fprintf(p->out, "%zu\n", n);
}

/* ---- plain values ---------------------------------------------------------- */

/* How many bytes of two's complement it takes. */
static unsigned width_of(json_int_t n)
{
    unsigned bytes = 1;

    while (bytes < 8 && (n >> (8 * bytes - 1)) != 0 &&
           (n >> (8 * bytes - 1)) != -1)
        bytes++;
    return bytes;
}

static void put_long(struct pickling *p, json_int_t n)
{
    unsigned bytes = width_of(n) + choose(p, 3);

    bytes = bytes > 8 ? 8 : bytes;
    if (choose(p, 4) == 3) {
        put_op(p, 0x8b);
        put_le(p, bytes, 4);
    } else {
        put_op(p, 0x8a);
        put_le(p, bytes, 1);
    }
    put_le(p, (uint64_t)n, bytes);
}

static void put_integer(struct pickling *p, json_int_t n)
{
    unsigned how = choose(p, 8);

    if (how == 7)
        fprintf(p->out, "I%" JSON_INTEGER_FORMAT "\n", n);
    else if (how == 6)
        fprintf(p->out, "L%" JSON_INTEGER_FORMAT "%s\n", n,
                choose(p, 2) == 0 ? "L" : "");
    else if (how == 5 || n < INT32_MIN || n > INT32_MAX)
        put_long(p, n);
    else if (n >= 0 && n < 256 && how < 3)
        put_op(p, 'K'), put_le(p, (uint64_t)n, 1);
    else if (n >= 0 && n < 65536 && how < 4)
        put_op(p, 'M'), put_le(p, (uint64_t)n, 2);
    else
        put_op(p, 'J'), put_le(p, (uint64_t)n, 4);
}

static void put_real(struct pickling *p, double value)
{
    uint64_t bits;

    if (choose(p, 3) == 2) {
        fprintf(p->out, "F%.17g\n", value);
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    put_op(p, 'G');
    for (int i = 7; i >= 0; i--)
        putc((int)(bits >> 8 * i & 0xff), p->out);
}

/* A line, in Latin-1 with escapes. */
static void put_line(struct pickling *p, const char *text, size_t length)
{
    put_op(p, 'V');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        uint32_t code = c;
        unsigned more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

        if (more > 0)
            code = c & (0x3fU >> more);
        for (; more > 0; more--)
            code = code << 6 | ((unsigned char)text[++i] & 0x3f);
        if (code > 0xffff)
            fprintf(p->out, "\\U%08" PRIx32, code);
        else if (code > 0xff || code == '\\' || code == '\n' ||
                 choose(p, 5) == 4)
            fprintf(p->out, "\\u%04" PRIx32, code);
        else
            put_op(p, (int)code);
    }
    put_op(p, '\n');
}

static void put_string(struct pickling *p, const json_t *v)
{
    static const struct {
        unsigned char op;
        unsigned char width;
    } ways[] = {{0x8c, 1}, {'X', 4}, {0x8d, 8}, {'T', 4}, {'U', 1}};
    const char *text = json_string_value(v);
    size_t length = json_string_length(v);
    unsigned how = choose(p, 6);

    if (put_again(p, v))
        return;
    if (how == 5) {
        put_line(p, text, length);
    } else {
        if (length > 255 && ways[how].width == 1)
            how = 1;
        put_op(p, ways[how].op);
        put_le(p, length, ways[how].width);
        fwrite(text, 1, length, p->out);
    }
    keep(p, v);
}

/* ---- lists and dicts ------------------------------------------------------- */

static bool is_pair(const json_t *v)
{
    return json_array_size(v) == 2 && json_is_integer(json_array_get(v, 0)) &&
           json_is_integer(json_array_get(v, 1));
}

static void put_items(struct pickling *p, const json_t *list, size_t from,
                      size_t to)
{
    for (size_t i = from; i < to; i++)
        put_value(p, json_array_get(list, i));
}

static void put_pair(struct pickling *p, const json_t *v)
{
    if (choose(p, 2) == 0) {
        put_items(p, v, 0, 2);
        put_op(p, 0x86);
    } else {
        put_op(p, '(');
        put_items(p, v, 0, 2);
        put_op(p, 't');
    }
}

/* The next part of what `left` items are left of; all without a seed. */
static size_t part_of(struct pickling *p, size_t left)
{
    size_t part =
        p->seed != 0 && choose(p, 2) == 0 ? 1 + choose(p, PART_MAX) : left;

    return part < left ? part : left;
}

static void put_list(struct pickling *p, const json_t *v)
{
    size_t count = json_array_size(v);
    size_t part;

    if (put_again(p, v))
        return;
    if (choose(p, 6) == 5) {
        put_op(p, '(');
        put_items(p, v, 0, count);
        put_op(p, 'l');
        keep(p, v);
        return;
    }
    put_op(p, ']');
    keep(p, v);
    for (size_t i = 0; i < count; i += part) {
        bool single;

        part = part_of(p, count - i);
        single = part == 1 && choose(p, 2) == 1;
        if (!single)
            put_op(p, '(');
        put_items(p, v, i, i + part);
        put_op(p, single ? 'a' : 'e');
    }
}

static void put_dict(struct pickling *p, const json_t *v)
{
    enum dicts how = p->dicts;
    const char *key;
    json_t *value;

    if (put_again(p, v))
        return;
    if (how != MADE) {
        put_op(p, '}');
        keep(p, v);
    }
    if (how != SINGLE)
        put_op(p, '(');
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        json_t *name = json_string(key);

        put_string(p, name);
        put_value(p, value);
        if (how == SINGLE)
            put_op(p, 's');
        json_decref(name);
    }
    if (how != SINGLE)
        put_op(p, how == MADE ? 'd' : 'u');
}

/* ---- values ---------------------------------------------------------------- */

/* Something that leaves nothing behind. */
static void put_nothing(struct pickling *p)
{
    switch (choose(p, 4)) {
    case 0:
        put_op(p, 'N');
        put_op(p, '0');
        break;
    case 1:
        fputs("(K\x05)1", p->out);
        break;
    case 2:
        fputs("(N20l0", p->out);
        break;
    default:
        put_op(p, 0x95);
        put_le(p, choose(p, 1000), 8);
        break;
    }
}

static void put_value(struct pickling *p, const json_t *v)
{
    if (p->seed != 0 && choose(p, 40) == 0)
        put_nothing(p);
    if (json_is_null(v))
        put_op(p, 'N');
    else if (json_is_boolean(v) && choose(p, 3) == 2)
        fprintf(p->out, "I0%d\n", json_is_true(v));
    else if (json_is_boolean(v))
        put_op(p, json_is_true(v) ? 0x88 : 0x89);
    else if (json_is_integer(v))
        put_integer(p, json_integer_value(v));
    else if (json_is_real(v))
        put_real(p, json_real_value(v));
    else if (json_is_string(v))
        put_string(p, v);
    else if (is_pair(v))
        put_pair(p, v);
    else if (json_is_array(v))
        put_list(p, v);
    else
        put_dict(p, v);
}

unsigned char *pickled(const json_t *document, uint64_t seed, size_t *count)
{
    char *text = NULL;
    struct pickling *p = calloc(1, sizeof *p);

    assert(p != NULL);
    p->seed = seed;
    p->dicts = (enum dicts)choose(p, 3);
    p->out = open_memstream(&text, count);
    assert(p->out != NULL);
    if (seed == 0 || seed % 6 > 1) {
        put_op(p, 0x80);
        put_op(p, seed == 0 ? 4 : (int)(seed % 6));
    }
    put_value(p, document);
    put_op(p, '.');
    fclose(p->out);
    for (size_t i = 0; i < p->memo_count; i++)
        json_decref(p->kept[i]);
    free(p);
    return (unsigned char *)text;
}
