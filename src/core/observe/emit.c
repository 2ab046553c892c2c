/* emit.c - writes nested values as a pickle or as JSON, through a buffer. */
#include "core/observe/emit.h"

#include <string.h>

#include "base/assert.h"
#include "base/pickle.h"
#include "base/text.h"

enum { NUMBER_TEXT = 32, UTF8_MAX = 4 };

static const char *const words[EMIT_WORDS] = {
#define X(word) #word,
    EMIT_WORD_MAP(X)
#undef X
};

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

/* Call it before each JSON value. */
static void separate(struct emit *e)
{
    if (e->after_item)
        emit_put(e, ',');
    e->after_item = true;
}

/* ---- text ----------------------------------------------------------------- */

/* The length of the UTF-8 character that begins here; 0: it is invalid. */
static size_t utf8_length(const unsigned char *s)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = s[0];
    size_t n = 1;

    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c < 0xE0)
        n = 2;
    else if (c >= 0xE0 && c < 0xF0)
        n = 3;
    else if (c >= 0xF0 && c < 0xF5)
        n = 4;
    else
        return 0;
    c &= 0x7Fu >> n;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) /* true at the end of the text too */
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    return c < min[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0 : n;
}

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* Copy the next character of the text to *out.  Returns its length; 0 at the
 * end. */
static size_t next_character(const char **text, char out[UTF8_MAX])
{
    const unsigned char *s = (const unsigned char *)*text;
    size_t n;

    if (*s == '\0')
        return 0;
    n = utf8_length(s);
    if (n == 0) {
        memcpy(out, replacement, sizeof replacement - 1);
        *text += 1;
        return sizeof replacement - 1;
    }
    memcpy(out, s, n);
    *text += n;
    return n;
}

static void put_json_character(struct emit *e, const char *c, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char first = (unsigned char)c[0];

    if (n == 1 && (first == '"' || first == '\\')) {
        emit_put(e, '\\');
        emit_put(e, first);
    } else if (n == 1 && first < 0x20) {
        put_bytes(e, "\\u00", 4);
        emit_put(e, (unsigned char)hex[first >> 4]);
        emit_put(e, (unsigned char)hex[first & 15]);
    } else {
        put_bytes(e, c, n);
    }
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

static void put_json_text(struct emit *e, const char *text)
{
    char c[UTF8_MAX];
    size_t n;

    emit_put(e, '"');
    do {
        size_t plain = plain_length(text);

        put_bytes(e, text, plain);
        text += plain;
        n = next_character(&text, c);
        if (n > 0)
            put_json_character(e, c, n);
    } while (n > 0);
    emit_put(e, '"');
}

static void put_pickle_text(struct emit *e, const char *text)
{
    const char *at = text;
    char c[UTF8_MAX];
    size_t length = 0;
    size_t n;

    while ((n = next_character(&at, c)) > 0)
        length += n;
    if (length <= UINT8_MAX) {
        emit_put(e, PICKLE_SHORT_BINUNICODE);
        emit_put(e, (unsigned char)length);
    } else {
        emit_put(e, PICKLE_BINUNICODE);
        put_little(e, length, 4);
    }
    while ((n = next_character(&text, c)) > 0)
        put_bytes(e, c, n);
}

static void emit_put_text(struct emit *e, const char *text)
{
    if (e->json)
        put_json_text(e, text);
    else
        put_pickle_text(e, text);
}

static void put_again(struct emit *e, uint32_t number)
{
    if (number <= UINT8_MAX) {
        emit_put(e, PICKLE_BINGET);
        emit_put(e, (unsigned char)number);
    } else {
        emit_put(e, PICKLE_LONG_BINGET);
        put_little(e, number, 4);
    }
}

static void emit_put_word(struct emit *e, enum emit_word word)
{
    if (e->json) {
        put_json_text(e, words[word]);
    } else if (e->words[word] != 0) {
        put_again(e, e->words[word] - 1);
    } else {
        put_pickle_text(e, words[word]);
        e->words[word] = larder__emit_keep(e) + 1;
    }
}

/* ---- begin, end and memo -------------------------------------------------- */

void larder__emit_begin(struct emit *e, larder_write_fn *write, void *ctx,
                        bool json)
{
    memset(e, 0, offsetof(struct emit, buffer));
    e->write = write;
    e->ctx = ctx;
    e->json = json;
    if (!json)
        put_bytes(e, "\x80\x04", 2); /* PROTO 4 */
}

bool larder__emit_end(struct emit *e)
{
    emit_put(e, e->json ? '\n' : PICKLE_STOP);
    flush(e);
    return !e->failed;
}

uint32_t larder__emit_keep(struct emit *e)
{
    emit_put(e, PICKLE_MEMOIZE); /* memo number: the next one */
    return e->memo_count++;
}

void larder__emit_again(struct emit *e, uint32_t number)
{
    put_again(e, number);
}

/* ---- dicts and lists ------------------------------------------------------ */

/* A pickle's MARK is written with the first item, so that empty lists, and kept
 * ones, need none. */
static void open_batch(struct emit *e)
{
    if (!e->json && e->batched[e->depth]++ == 0)
        emit_put(e, PICKLE_MARK);
}

static void close_batch(struct emit *e, unsigned char opcode)
{
    if (e->batched[e->depth] > 0)
        emit_put(e, opcode);
    e->batched[e->depth] = 0;
}

static void emit_begin(struct emit *e, unsigned char json, unsigned char pickle)
{
    larder__assert(e->depth + 1 < EMIT_DEPTH);
    if (e->json)
        separate(e);
    emit_put(e, e->json ? json : pickle);
    e->after_item = false;
    e->depth++;
}

static void end(struct emit *e, unsigned char json, unsigned char pickle)
{
    if (e->json)
        emit_put(e, json);
    else
        close_batch(e, pickle);
    larder__assert(e->depth > 0);
    e->after_item = true;
    e->depth--;
}

void larder__emit_dict_begin(struct emit *e)
{
    emit_begin(e, '{', PICKLE_EMPTY_DICT);
}

void larder__emit_dict_end(struct emit *e)
{
    end(e, '}', PICKLE_SETITEMS);
}

void larder__emit_list_begin(struct emit *e)
{
    emit_begin(e, '[', PICKLE_EMPTY_LIST);
}

void larder__emit_list_next(struct emit *e)
{
    if (!e->json && e->batched[e->depth] == EMIT_BATCH)
        close_batch(e, PICKLE_APPENDS);
    open_batch(e);
}

void larder__emit_list_end(struct emit *e)
{
    end(e, ']', PICKLE_APPENDS);
}

void larder__emit_pair(struct emit *e, uint64_t first, uint64_t second)
{
    if (e->json) {
        separate(e);
        emit_put(e, '[');
        e->after_item = false;
    }
    larder__emit_unsigned(e, first);
    larder__emit_unsigned(e, second);
    emit_put(e, e->json ? ']' : PICKLE_TUPLE2);
}

static void end_key(struct emit *e)
{
    if (e->json)
        emit_put(e, ':');
    e->after_item = false;
}

static void begin_key(struct emit *e)
{
    if (e->json)
        separate(e);
    open_batch(e);
}

void larder__emit_key(struct emit *e, enum emit_word word)
{
    begin_key(e);
    emit_put_word(e, word);
    end_key(e);
}

void larder__emit_key_text(struct emit *e, const char *text)
{
    begin_key(e);
    emit_put_text(e, text);
    end_key(e);
}

/* ---- values --------------------------------------------------------------- */

void larder__emit_word(struct emit *e, enum emit_word word)
{
    if (e->json)
        separate(e);
    emit_put_word(e, word);
}

void larder__emit_text(struct emit *e, const char *text)
{
    if (e->json)
        separate(e);
    emit_put_text(e, text);
}

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

static void put_pickle_number(struct emit *e, uint64_t value)
{
    if (value <= UINT8_MAX) {
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
    if (e->json) {
        separate(e);
        put_json_number(e, value);
    } else {
        put_pickle_number(e, value);
    }
}

void larder__emit_signed(struct emit *e, int64_t value)
{
    if (value >= 0) {
        larder__emit_unsigned(e, (uint64_t)value);
    } else if (e->json) {
        separate(e);
        emit_put(e, '-');
        put_json_number(e, 0 - (uint64_t)value);
    } else {
        put_long(e, (uint64_t)value, 0xFF);
    }
}

static void put_json_real(struct emit *e, double value)
{
    char text[NUMBER_TEXT];
    struct text t;

    larder__text_init(&t, text, sizeof text);
    larder__text_add(&t, "%.17g", value);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == ',') /* decimal comma of some locales */
            *c = '.';
    }
    put_bytes(e, text, t.length);
    if (strpbrk(text, ".en") == NULL)
        put_bytes(e, ".0", 2);
}

void larder__emit_real(struct emit *e, double value)
{
    uint64_t bits;

    if (e->json) {
        separate(e);
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
    if (e->json) {
        separate(e);
        put_bytes(e, value ? "true" : "false", value ? 4 : 5);
    } else {
        emit_put(e, value ? PICKLE_NEWTRUE : PICKLE_NEWFALSE);
    }
}
