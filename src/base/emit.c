/* emit.c - writes nested values as a pickle or as JSON, through a buffer. */
#include "base/emit.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/pickle.h"
#include "base/text.h"
#include "base/utf8.h"

enum { NUMBER_TEXT = 32 };

/* ---- bytes ---------------------------------------------------------------- */

static void flush(struct emit *e)
{
    if (!e->failed && e->used > 0)
        e->failed = e->write(e->ctx, e->buffer, e->used) != 0;
    e->used = 0;
}

static void put_bytes(struct emit *e, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;

    while (count > 0) {
        size_t room = sizeof e->buffer - e->used;
        size_t n = count < room ? count : room;

        memcpy(&e->buffer[e->used], from, n);
        e->used += n;
        from += n;
        count -= n;
        if (e->used == sizeof e->buffer)
            flush(e);
    }
}

static void put_chars(struct emit *e, const char *text)
{
    put_bytes(e, text, strlen(text));
}

static void emit_put(struct emit *e, unsigned char byte)
{
    e->buffer[e->used++] = byte;
    if (e->used == sizeof e->buffer)
        flush(e);
}

/* Write the lowest `count` bytes of value, lowest first. */
static void put_little(struct emit *e, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        emit_put(e, (unsigned char)(value >> (8 * i)));
}

/* ---- what stands between values ------------------------------------------- */

static unsigned char batch_end(const struct emit *e)
{
    return e->open[e->depth].is_dict ? PICKLE_SETITEMS : PICKLE_APPENDS;
}

/* A pickle's MARK is written with the first item, so that empty lists, and kept
 * ones, need none. */
static void next_item(struct emit *e)
{
    uint64_t before = e->open[e->depth].count++;

    if (e->form != EMIT_PICKLE) {
        if (before > 0)
            put_chars(e, e->form == EMIT_JSON ? "," : ", ");
    } else if (before % EMIT_BATCH == 0) {
        if (before > 0)
            emit_put(e, batch_end(e));
        emit_put(e, PICKLE_MARK);
    }
}

/* Call it before each key and each value. */
static void separate(struct emit *e)
{
    if (e->depth == 0)
        return;
    if (e->open[e->depth].after_key) {
        e->open[e->depth].after_key = false;
        if (e->form != EMIT_PICKLE)
            put_chars(e, e->form == EMIT_JSON ? ":" : ": ");
        return;
    }
    e->open[e->depth].after_key = e->open[e->depth].is_dict;
    next_item(e);
}

/* ---- begin, end and memo -------------------------------------------------- */

void larder__emit_begin(struct emit *e, enum emit_form form, uint32_t *words,
                        larder_write_fn *write, void *ctx)
{
    memset(e, 0, offsetof(struct emit, buffer));
    e->write = write;
    e->ctx = ctx;
    e->words = words;
    e->form = form;
    if (form == EMIT_PICKLE)
        put_bytes(e, "\x80\x04", 2); /* PROTO 4 */
}

bool larder__emit_end(struct emit *e)
{
    if (e->form != EMIT_JSON_DUMP)
        emit_put(e, e->form == EMIT_JSON ? '\n' : PICKLE_STOP);
    flush(e);
    return !e->failed;
}

void larder__emit_keep(struct emit *e, uint32_t *place)
{
    if (e->form != EMIT_PICKLE)
        return;
    emit_put(e, PICKLE_MEMOIZE); /* memo number: the next one */
    *place = ++e->memo_count;
}

bool larder__emit_again(struct emit *e, const uint32_t *place)
{
    uint32_t number;

    if (e->form != EMIT_PICKLE || *place == 0)
        return false;
    separate(e);
    number = *place - 1;
    emit_put(e, number <= UINT8_MAX ? PICKLE_BINGET : PICKLE_LONG_BINGET);
    put_little(e, number, number <= UINT8_MAX ? 1 : 4);
    return true;
}

/* ---- dicts and lists ------------------------------------------------------ */

static void emit_begin(struct emit *e, bool is_dict)
{
    unsigned char json = is_dict ? '{' : '[';

    separate(e);
    larder__assert(e->depth + 1 < EMIT_DEPTH);
    e->depth++;
    memset(&e->open[e->depth], 0, sizeof e->open[0]);
    e->open[e->depth].is_dict = is_dict;
    if (e->form != EMIT_PICKLE)
        emit_put(e, json);
    else
        emit_put(e, is_dict ? PICKLE_EMPTY_DICT : PICKLE_EMPTY_LIST);
}

void larder__emit_dict_begin(struct emit *e)
{
    emit_begin(e, true);
}

void larder__emit_list_begin(struct emit *e)
{
    emit_begin(e, false);
}

void larder__emit_close(struct emit *e)
{
    larder__assert(e->depth > 0 && !e->open[e->depth].after_key);
    if (e->form != EMIT_PICKLE)
        emit_put(e, e->open[e->depth].is_dict ? '}' : ']');
    else if (e->open[e->depth].count > 0)
        emit_put(e, batch_end(e));
    e->depth--;
}

/* ---- text ----------------------------------------------------------------- */

/* The next character of a text; a replacement for what is none.  Returns the
 * bytes of the text. */
static size_t next_character(const char *text, const char **out, size_t *length)
{
    uint32_t code;

    *length = utf8_read((const unsigned char *)text, SIZE_MAX, &code);
    *out = text;
    if (*length > 0 && !utf8_is_surrogate(code))
        return *length;
    *out = UTF8_REPLACEMENT;
    *length = sizeof UTF8_REPLACEMENT - 1;
    return 1;
}

static void put_json_escape(struct emit *e, unsigned code)
{
    static const char hex[] = "0123456789abcdef";

    put_chars(e, "\\u");
    for (int shift = 12; shift >= 0; shift -= 4)
        emit_put(e, (unsigned char)hex[code >> shift & 15]);
}

/* The length of the part that needs no escape: nearly always all of the
 * text. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    while (text[n] >= 0x20 && text[n] < 0x7F && text[n] != '"' &&
           text[n] != '\\')
        n++;
    return n;
}

/* Write a character that is not plain.  Returns its bytes. */
static size_t put_json_character(struct emit *e, const char *text,
                                 bool may_be_surrogate)
{
    const unsigned char *s = (const unsigned char *)text;
    const char *c;
    uint32_t code;
    size_t length = utf8_read(s, SIZE_MAX, &code);
    size_t n;

    if (code < 0x20 || (may_be_surrogate && utf8_is_surrogate(code))) {
        put_json_escape(e, code);
        return length;
    }
    if (s[0] == '"' || s[0] == '\\')
        emit_put(e, '\\');
    n = next_character(text, &c, &length);
    put_bytes(e, c, length);
    return n;
}

static void put_json_text(struct emit *e, const char *text, size_t length,
                          bool may_be_surrogate)
{
    const char *end = text + length;

    emit_put(e, '"');
    while (text < end) {
        size_t plain = plain_length(text);

        put_bytes(e, text, plain);
        text += plain;
        if (text < end)
            text += put_json_character(e, text, may_be_surrogate);
    }
    emit_put(e, '"');
}

static void put_pickle_length(struct emit *e, size_t length)
{
    bool is_short = length <= UINT8_MAX;

    emit_put(e, is_short ? PICKLE_SHORT_BINUNICODE : PICKLE_BINUNICODE);
    put_little(e, length, is_short ? 1 : 4);
}

static void put_pickle_text(struct emit *e, const char *text)
{
    const char *c;
    size_t length = 0;
    size_t n;

    for (const char *at = text; *at != '\0'; length += n)
        at += next_character(at, &c, &n);
    put_pickle_length(e, length);
    while (*text != '\0') {
        text += next_character(text, &c, &n);
        put_bytes(e, c, n);
    }
}

void larder__emit_text(struct emit *e, const char *text)
{
    separate(e);
    if (e->form == EMIT_PICKLE)
        put_pickle_text(e, text);
    else
        put_json_text(e, text, strlen(text), false);
}

void larder__emit_string(struct emit *e, const char *bytes, size_t length,
                         uint32_t *place)
{
    if (larder__emit_again(e, place))
        return;
    separate(e);
    if (e->form != EMIT_PICKLE) {
        put_json_text(e, bytes, length, true);
        return;
    }
    put_pickle_length(e, length);
    put_bytes(e, bytes, length);
    larder__emit_keep(e, place);
}

void larder__emit_word(struct emit *e, enum snap_word word)
{
    const char *text = larder__snapshot_words[word];
    uint32_t *place = e->words != NULL ? &e->words[word] : NULL;

    larder__emit_string(e, text, strlen(text), place);
}

/* ---- numbers and booleans ------------------------------------------------- */

static void put_json_number(struct emit *e, uint64_t value)
{
    char digits[NUMBER_TEXT];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put_bytes(e, &digits[at], sizeof digits - at);
}

/* Write two's complement, lowest byte first, in as few bytes as hold the value;
 * `sign` is the fill byte. */
static void put_long(struct emit *e, uint64_t value, unsigned char sign)
{
    unsigned n = 8;

    while (n > 1 && (value >> (8 * (n - 1)) & 0xFF) == sign &&
           (value >> (8 * n - 9) & 1) == (sign & 1))
        n--;
    emit_put(e, PICKLE_LONG1);
    if ((value >> (8 * n - 1) & 1) != (sign & 1)) {
        emit_put(e, (unsigned char)(n + 1));
        put_little(e, value, n);
        emit_put(e, sign);
    } else {
        emit_put(e, (unsigned char)n);
        put_little(e, value, n);
    }
}

static void put_number(struct emit *e, uint64_t value)
{
    if (e->form != EMIT_PICKLE) {
        put_json_number(e, value);
    } else if (value <= UINT8_MAX) {
        emit_put(e, PICKLE_BININT1);
        emit_put(e, (unsigned char)value);
    } else if (value <= UINT16_MAX) {
        emit_put(e, PICKLE_BININT2);
        put_little(e, value, 2);
    } else if (value <= INT32_MAX) {
        emit_put(e, PICKLE_BININT);
        put_little(e, value, 4);
    } else {
        put_long(e, value, 0);
    }
}

void larder__emit_unsigned(struct emit *e, uint64_t value)
{
    separate(e);
    put_number(e, value);
}

void larder__emit_signed(struct emit *e, int64_t value)
{
    if (value >= 0) {
        larder__emit_unsigned(e, (uint64_t)value);
        return;
    }
    separate(e);
    if (e->form == EMIT_PICKLE) {
        put_long(e, (uint64_t)value, 0xFF);
    } else {
        emit_put(e, '-');
        put_json_number(e, 0 - (uint64_t)value);
    }
}

void larder__emit_pair(struct emit *e, uint64_t first, uint64_t second)
{
    if (e->form != EMIT_PICKLE) {
        larder__emit_list_begin(e);
        larder__emit_unsigned(e, first);
        larder__emit_unsigned(e, second);
        larder__emit_close(e);
        return;
    }
    separate(e);
    put_number(e, first);
    put_number(e, second);
    emit_put(e, PICKLE_TUPLE2);
}

static void put_json_real(struct emit *e, double value)
{
    char text[NUMBER_TEXT];
    struct text t;

    if (!isfinite(value)) {
        put_chars(e, isnan(value) ? "NaN"
                     : value < 0  ? "-Infinity"
                                  : "Infinity");
        return;
    }
    larder__text_init(&t, text, sizeof text);
    larder__text_add(&t, "%.17g", value);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == ',') /* decimal comma of some locales */
            *c = '.';
    }
    put_chars(e, text);
    if (strpbrk(text, ".e") == NULL)
        put_chars(e, ".0"); /* so that it is read as a float */
}

void larder__emit_real(struct emit *e, double value)
{
    uint64_t bits;

    separate(e);
    if (e->form != EMIT_PICKLE) {
        put_json_real(e, value);
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    emit_put(e, PICKLE_BINFLOAT); /* highest byte first */
    for (int shift = 56; shift >= 0; shift -= 8)
        emit_put(e, (unsigned char)(bits >> shift));
}

void larder__emit_bool(struct emit *e, bool value)
{
    separate(e);
    if (e->form == EMIT_PICKLE)
        emit_put(e, value ? PICKLE_NEWTRUE : PICKLE_NEWFALSE);
    else
        put_chars(e, value ? "true" : "false");
}

void larder__emit_none(struct emit *e)
{
    separate(e);
    if (e->form == EMIT_PICKLE)
        emit_put(e, PICKLE_NONE);
    else
        put_chars(e, "null");
}
