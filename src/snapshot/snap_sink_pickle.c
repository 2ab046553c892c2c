/* snap_sink_pickle.c - protocol 4, with the opcodes that viewers know. */
#include <string.h>

#include "base/pickle.h"
#include "snapshot/snap_sink.h"

/* Items between MARK and APPENDS, as in Python's pickler. */
enum { BATCH = 1000 };

static void snap_sink_pickle_put(struct snap_sink *k, int byte)
{
    putc_unlocked(byte, k->out);
}

static void put_le(struct snap_sink *k, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        snap_sink_pickle_put(k, (int)(value >> 8 * i & 0xff));
}

static void get_memo(struct snap_sink *k, uint32_t index)
{
    snap_sink_pickle_put(k, index < 256 ? PICKLE_BINGET : PICKLE_LONG_BINGET);
    put_le(k, index, index < 256 ? 1 : 4);
}

/* Whether *place has a memo number; if so a reference is written. */
static bool seen(struct snap_sink *k, const uint32_t *place)
{
    if (*place == 0)
        return false;
    get_memo(k, *place - 1);
    return true;
}

static void memoize(struct snap_sink *k, uint32_t *place)
{
    snap_sink_pickle_put(k, PICKLE_MEMOIZE);
    *place = ++k->memo_count;
}

/* ---- values --------------------------------------------------------------- */

static void pickle_bytes(struct snap_sink *k, const char *bytes, size_t length)
{
    snap_sink_pickle_put(k, length < 256 ? PICKLE_SHORT_BINUNICODE
                                         : PICKLE_BINUNICODE);
    put_le(k, length, length < 256 ? 1 : 4);
    fwrite(bytes, 1, length, k->out);
}

static void pickle_word(struct snap_sink *k, enum snap_word word)
{
    if (seen(k, &k->words[word]))
        return;
    pickle_bytes(k, snap_words[word], strlen(snap_words[word]));
    memoize(k, &k->words[word]);
}

static void pickle_string(struct snap_sink *k, uint32_t string)
{
    if (seen(k, &k->strings[string]))
        return;
    pickle_bytes(k, snapshot_string(k->s, string),
                 snapshot_string_length(k->s, string));
    memoize(k, &k->strings[string]);
}

static void pickle_text(struct snap_sink *k, const char *text)
{
    pickle_bytes(k, text, strlen(text));
}

/* LONG1: as few bytes of two's complement as possible. */
static void pickle_long(struct snap_sink *k, uint64_t bits, bool negative)
{
    unsigned n = 1;

    if (negative) {
        while (n < 8 && (int64_t)bits < -((int64_t)1 << (8 * n - 1)))
            n++;
    } else {
        while (n < 9 && bits >> (8 * n - 1) != 0) {
            n++;
            if (8 * n - 1 > 63)
                break;
        }
    }
    snap_sink_pickle_put(k, PICKLE_LONG1);
    snap_sink_pickle_put(k, (int)n);
    put_le(k, bits, n < 8 ? n : 8);
    if (n == 9)
        snap_sink_pickle_put(k, 0);
}

static void pickle_integer(struct snap_sink *k, uint64_t bits, bool is_signed)
{
    bool negative = is_signed && (int64_t)bits < 0;

    if (!negative && bits < 256) {
        snap_sink_pickle_put(k, PICKLE_BININT1);
        put_le(k, bits, 1);
    } else if (!negative && bits < 65536) {
        snap_sink_pickle_put(k, PICKLE_BININT2);
        put_le(k, bits, 2);
    } else if (negative ? (int64_t)bits >= INT32_MIN : bits <= INT32_MAX) {
        snap_sink_pickle_put(k, PICKLE_BININT);
        put_le(k, bits, 4);
    } else {
        pickle_long(k, bits, negative);
    }
}

static void pickle_real(struct snap_sink *k, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    snap_sink_pickle_put(k, PICKLE_BINFLOAT);
    for (unsigned i = 0; i < 8; i++)
        snap_sink_pickle_put(k, (int)(bits >> (56 - 8 * i) & 0xff));
}

static void pickle_boolean(struct snap_sink *k, bool value)
{
    snap_sink_pickle_put(k, value ? PICKLE_NEWTRUE : PICKLE_NEWFALSE);
}

static void pickle_none(struct snap_sink *k)
{
    snap_sink_pickle_put(k, PICKLE_NONE);
}

static void pickle_pool(struct snap_sink *k, uint32_t pool)
{
    if (seen(k, &k->pools[pool]))
        return;
    pickle_integer(k, k->s->pools[pool].a, false);
    pickle_integer(k, k->s->pools[pool].b, false);
    snap_sink_pickle_put(k, PICKLE_TUPLE2);
    memoize(k, &k->pools[pool]);
}

/* ---- lists and dicts ------------------------------------------------------ */

static void pickle_begin(struct snap_sink *k, bool is_dict)
{
    snap_sink_pickle_put(k, is_dict ? PICKLE_EMPTY_DICT : PICKLE_EMPTY_LIST);
    k->open[k->depth].is_dict = is_dict;
    k->open[k->depth].count = 0;
    k->depth++;
}

static void pickle_end(struct snap_sink *k)
{
    k->depth--;
    if (k->open[k->depth].count > 0)
        snap_sink_pickle_put(k, k->open[k->depth].is_dict ? PICKLE_SETITEMS
                                                          : PICKLE_APPENDS);
}

static void pickle_item(struct snap_sink *k)
{
    uint64_t count = k->open[k->depth - 1].count++;

    if (count > 0 && count % BATCH == 0)
        snap_sink_pickle_put(k, PICKLE_APPENDS);
    if (count % BATCH == 0)
        snap_sink_pickle_put(k, PICKLE_MARK);
}

/* No dict has a thousand keys, so one batch is enough. */
static void pickle_begin_pair(struct snap_sink *k)
{
    if (k->open[k->depth - 1].count++ == 0)
        snap_sink_pickle_put(k, PICKLE_MARK);
}

static void pickle_key(struct snap_sink *k, enum snap_word word)
{
    pickle_begin_pair(k);
    pickle_word(k, word);
}

static void pickle_key_string(struct snap_sink *k, uint32_t string)
{
    pickle_begin_pair(k);
    pickle_string(k, string);
}

static void pickle_key_text(struct snap_sink *k, const char *text)
{
    pickle_begin_pair(k);
    pickle_text(k, text);
}

static bool pickle_again(struct snap_sink *k, bool is_stack, uint32_t number)
{
    return seen(k, is_stack ? &k->stacks[number] : &k->frames[number]);
}

static void pickle_remember(struct snap_sink *k, bool is_stack, uint32_t number)
{
    memoize(k, is_stack ? &k->stacks[number] : &k->frames[number]);
}

const struct snap_form snap_form_pickle = {
    .begin = pickle_begin,
    .end = pickle_end,
    .item = pickle_item,
    .key = pickle_key,
    .key_string = pickle_key_string,
    .none = pickle_none,
    .word = pickle_word,
    .text = pickle_key_text,
    .string = pickle_string,
    .integer = pickle_integer,
    .real = pickle_real,
    .boolean = pickle_boolean,
    .pool = pickle_pool,
    .again = pickle_again,
    .remember = pickle_remember,
};
