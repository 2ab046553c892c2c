/* snap_json.c - reads the JSON form of a snapshot, as json.dump() writes it.
 * It uses the same stack as the pickle reader, so both produce the same
 * records.
 *
 * Open brackets are marks on that stack; nothing recurses. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_builder.h"
#include "snapshot/snap_text.h"

/* Items are added to their list when this many are on the stack.  A dict waits
 * for all of its keys, up to a thousand, which are certainly no record. */
enum { LIST_BATCH = 512, DICT_BATCH = 2 * 1000, NUMBER_MAX = 400 };

/* ---- errors and bytes ----------------------------------------------------- */

/* Report malformed JSON, with the line. */
TOOL_NO_RETURN static void malformed(struct snap_builder *b,
                                     const char *expected)
{
    struct snap_input *in = &b->in;
    char found[32];

    if (in->at == in->end)
        snprintf(found, sizeof found, "the file ends here");
    else if (*in->at > 0x20 && *in->at < 0x7f)
        snprintf(found, sizeof found, "'%c'", *in->at);
    else
        snprintf(found, sizeof found, "byte 0x%02x", *in->at);
    tool_set_error(
        b->error, "%s:%" PRIu64 ": byte %" PRIu64 ": %s; expected %s", in->path,
        b->line, snap_input_offset(in, in->at), found, expected);
    snap_give_up(b);
}

/* Skip blanks.  Returns the next byte; -1: the input ends. */
static int next(struct snap_builder *b)
{
    struct snap_input *in = &b->in;

    for (;;) {
        while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' ||
                                    *in->at == '\t' || *in->at == '\r'))
            b->line += *in->at++ == '\n';
        if (in->at < in->end)
            return *in->at;
        if (in->at_end)
            return -1;
        snap_want(b, 4096);
    }
}

/* ---- strings -------------------------------------------------------------- */

/* Read on until the whole string, with its quotes, is in the window.  Returns the
 * length between the quotes. */
static size_t string_whole(struct snap_builder *b, bool *escapes)
{
    struct snap_input *in = &b->in;
    size_t n = 1;

    *escapes = false;
    for (;;) {
        size_t left = snap_input_left(in);

        while (n < left && in->at[n] != '"' && in->at[n] >= 0x20) {
            *escapes = *escapes || in->at[n] == '\\';
            n += in->at[n] == '\\' ? 2 : 1;
        }
        if (n < left && in->at[n] == '"')
            return n - 1;
        if (n < left || in->at_end) {
            in->at += n < left ? n : left;
            malformed(b, "the rest of a string");
        }
        snap_want(b, n < 2048 ? 4096 : 2 * n);
    }
}

/* Decode the \u at p, with the second half of a pair.  Returns the number of
 * bytes; 0: malformed. */
static size_t unescape_code(const char *p, size_t left, char *out, size_t *used)
{
    uint32_t code, low;
    size_t n = 6;

    if (left < 6 || !snap_hex(p + 2, 4, &code))
        return 0;
    if (code >= 0xd800 && code < 0xdc00 && left >= 12 && p[6] == '\\' &&
        p[7] == 'u' && snap_hex(p + 8, 4, &low) && low >= 0xdc00 &&
        low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        n = 12;
    }
    *used += snap_utf8_put(out + *used, code);
    return n;
}

static size_t unescape(const char *p, size_t left, char *out, size_t *used)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (left < 2)
        return 0;
    if (p[1] == 'u')
        return unescape_code(p, left, out, used);
    found = memchr(from, p[1], sizeof from - 1);
    if (found == NULL)
        return 0;
    out[(*used)++] = to[found - from];
    return 2;
}

/* Decode into b->text; an escape is never shorter than its character.  Returns the
 * length. */
static size_t string_unescape(struct snap_builder *b, size_t length)
{
    const char *p = (const char *)b->in.at + 1;
    size_t used = 0;
    size_t n;

    SNAP_ROOM(b, b->text, b->text_capacity, length + 1);
    for (size_t i = 0; i < length; i += n) {
        n = 1;
        if (p[i] != '\\') {
            b->text[used++] = p[i];
            continue;
        }
        n = unescape(p + i, length - i, b->text, &used);
        if (n == 0) {
            b->in.at += 1 + i;
            malformed(b, "an escape that JSON has");
        }
    }
    return used;
}

static void read_string(struct snap_builder *b)
{
    struct snap_input *in = &b->in;
    const char *text;
    size_t length, used;
    bool escapes;

    b->at = (uint32_t)snap_input_offset(in, in->at);
    length = used = string_whole(b, &escapes);
    text = (const char *)in->at + 1;
    if (escapes) {
        used = string_unescape(b, length);
        text = b->text;
    }
    if (!snap_utf8_valid((const unsigned char *)text, used))
        malformed(b, "a string in UTF-8");
    snap_push_string(b, text, used);
    in->at += length + 2;
}

/* ---- numbers and words ---------------------------------------------------- */

static bool in_number(unsigned char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
           c == 'e' || c == 'E';
}

/* Reject what strtod() accepts and JSON does not: a point or zero in the wrong
 * place. */
static bool number_shaped(const char *p)
{
    p += *p == '-';
    if (*p == '0' && p[1] >= '0' && p[1] <= '9')
        return false;
    if (*p < '0' || *p > '9')
        return false;
    p = strchr(p, '.');
    return p == NULL || (p[1] >= '0' && p[1] <= '9');
}

static void read_number(struct snap_builder *b)
{
    struct snap_input *in = &b->in;
    char text[NUMBER_MAX + 1];
    size_t n = 0;
    uint64_t bits;
    bool is_big;
    double real;
    char *end;

    snap_want(b, NUMBER_MAX);
    while (n < NUMBER_MAX && n < snap_input_left(in) && in_number(in->at[n])) {
        text[n] = (char)in->at[n];
        n++;
    }
    text[n] = '\0';
    if (n == NUMBER_MAX || !number_shaped(text))
        malformed(b, "a number");
    if (snap_integer(text, n, &bits, &is_big)) {
        snap_push(b, is_big ? SNAP_UINT : SNAP_INT, bits);
        in->at += n;
        return;
    }
    real = strtod(text, &end);
    if (*end != '\0')
        malformed(b, "a number");
    if (strpbrk(text, ".eE") == NULL) {
        b->s->clamped_count++;
        snap_push(b, real < 0 ? SNAP_INT : SNAP_UINT,
                  real < 0 ? (uint64_t)INT64_MIN : UINT64_MAX);
    } else {
        memcpy(&bits, &real, sizeof bits);
        snap_push(b, SNAP_REAL, bits);
    }
    in->at += n;
}

static void read_word(struct snap_builder *b)
{
    static const struct {
        const char *word;
        enum snap_kind kind;
        uint64_t bits;
    } words[] = {
        {"true", SNAP_BOOL, 1},
        {"false", SNAP_BOOL, 0},
        {"null", SNAP_NULL, 0},
        /* How json.dump() writes floats that JSON cannot represent. */
        {"NaN", SNAP_REAL, UINT64_C(0x7ff8000000000000)},
        {"Infinity", SNAP_REAL, UINT64_C(0x7ff0000000000000)},
        {"-Infinity", SNAP_REAL, UINT64_C(0xfff0000000000000)},
    };
    struct snap_input *in = &b->in;

    snap_want(b, 16);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);

        if (snap_input_left(in) >= n && memcmp(in->at, words[i].word, n) == 0) {
            in->at += n;
            snap_push(b, words[i].kind, words[i].bits);
            return;
        }
    }
    if (*in->at != '-')
        malformed(b, "a value");
    read_number(b);
}

/* ---- lists and dicts ------------------------------------------------------ */

/* An open list or dict is below the mark of its values. */
static bool in_dict(struct snap_builder *b)
{
    size_t base = b->marks[b->mark_count - 1];

    return snap_object_of(b, &b->stack[base - 1], SNAP_DICT) != NULL;
}

static void open_one(struct snap_builder *b, enum snap_object_type type)
{
    snap_push_object(b, type);
    snap_mark(b);
    b->in.at++;
}

/* Add the values on the stack to the open list or dict. */
static void put_items(struct snap_builder *b, bool is_dict)
{
    size_t base = snap_unmark(b);

    if (is_dict)
        snap_set_items_from(b, base, true);
    else
        snap_append_from(b, base);
}

static void close_one(struct snap_builder *b, bool is_dict)
{
    b->in.at++;
    put_items(b, is_dict);
}

/* After an item: add the values to the list or dict if there are many. */
static void flush(struct snap_builder *b, bool is_dict)
{
    size_t count = b->depth - b->marks[b->mark_count - 1];

    if (count < (is_dict ? DICT_BATCH : LIST_BATCH))
        return;
    put_items(b, is_dict);
    snap_mark(b);
}

/* ---- the text ------------------------------------------------------------- */

static void read_key(struct snap_builder *b)
{
    if (next(b) != '"')
        malformed(b, "a key in quotes");
    read_string(b);
    if (next(b) != ':')
        malformed(b, "':'");
    b->in.at++;
}

/* Read a complete value, or the beginning of a list or dict.  Returns whether the
 * value is complete. */
static bool read_value(struct snap_builder *b)
{
    int c = next(b);

    if (c < 0)
        malformed(b, "a value");
    b->at = (uint32_t)snap_input_offset(&b->in, b->in.at);
    if (c == '{' || c == '[') {
        open_one(b, c == '{' ? SNAP_DICT : SNAP_LIST);
        if (next(b) != (c == '{' ? '}' : ']'))
            return false;
        close_one(b, c == '{');
    } else if (c == '"') {
        read_string(b);
    } else if (c >= '0' && c <= '9') {
        read_number(b);
    } else {
        read_word(b);
    }
    return true;
}

/* After an item: read a comma, or all closing brackets that follow. */
static void read_after(struct snap_builder *b)
{
    while (b->mark_count > 0) {
        bool is_dict = in_dict(b);
        int c = next(b);

        if (c == ',') {
            b->in.at++;
            flush(b, is_dict);
            return;
        }
        if (c != (is_dict ? '}' : ']'))
            malformed(b, is_dict ? "',' or '}'" : "',' or ']'");
        close_one(b, is_dict);
    }
}

void snap_read_json(struct snap_builder *b)
{
    b->line = 1;
    do {
        if (b->mark_count > 0 && in_dict(b))
            read_key(b);
        if (read_value(b))
            read_after(b);
    } while (b->mark_count > 0);
    if (next(b) >= 0)
        malformed(b, "nothing after the end");
}
