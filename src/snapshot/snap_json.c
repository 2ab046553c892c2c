/* snap_json.c - reads the JSON form of a snapshot, as json.dump() writes it.
 * It uses the same stack as the pickle reader, so both produce the same
 * records.
 *
 * Open brackets are kept on a stack of their own instead of recursion. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_builder.h"
#include "snapshot/snap_text.h"

/* Items are added to their list when this many are on the stack.  A dict waits
 * for all of its keys, up to a thousand, which are certainly no record. */
enum { LIST_BATCH = 512, DICT_BATCH = 2 * 1000, NUMBER_MAX = 400 };

struct json {
    struct snap_builder *b;
    uint64_t line;
    uint32_t at;   /* where the current value began */
    bool *in_dict; /* for each level */
    size_t capacity;
    size_t depth;
    char *text; /* a string with escapes */
    size_t text_capacity;
};

/* ---- errors and bytes ----------------------------------------------------- */

/* Report malformed JSON, with the line. */
static bool malformed(struct json *j, const char *expected)
{
    struct snap_input *in = &j->b->in;
    uint64_t offset = snap_input_offset(in, in->at);

    if (in->at == in->end)
        return tool_fail(j->b->error,
                         "%s:%" PRIu64 ": byte %" PRIu64 ": the file ends "
                         "here; expected %s",
                         in->path, j->line, offset, expected);
    if (*in->at > 0x20 && *in->at < 0x7f)
        return tool_fail(j->b->error,
                         "%s:%" PRIu64 ": byte %" PRIu64 ": '%c'; expected %s",
                         in->path, j->line, offset, *in->at, expected);
    return tool_fail(j->b->error,
                     "%s:%" PRIu64 ": byte %" PRIu64 ": byte 0x%02x; "
                     "expected %s",
                     in->path, j->line, offset, *in->at, expected);
}

/* Skip blanks; at the end of the input no byte is left. */
static bool skip_blanks(struct json *j)
{
    struct snap_input *in = &j->b->in;

    for (;;) {
        while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' ||
                                    *in->at == '\t' || *in->at == '\r'))
            j->line += *in->at++ == '\n';
        if (in->at < in->end || in->at_end)
            return true;
        if (!snap_input_want(in, 4096, j->b->error))
            return false;
    }
}

static bool want(struct json *j, size_t count)
{
    return snap_input_left(&j->b->in) >= count ||
           snap_input_want(&j->b->in, count, j->b->error);
}

/* ---- strings -------------------------------------------------------------- */

/* Read on until the whole string, with its quotes, is in the window; returns
 * the length between the quotes. */
static bool string_whole(struct json *j, size_t *length, bool *escapes)
{
    struct snap_input *in = &j->b->in;
    size_t n = 1;

    *escapes = false;
    for (;;) {
        size_t left = snap_input_left(in);

        while (n < left && in->at[n] != '"' && in->at[n] >= 0x20) {
            *escapes = *escapes || in->at[n] == '\\';
            n += in->at[n] == '\\' ? 2 : 1;
        }
        if (n < left && in->at[n] == '"')
            break;
        if (n < left || in->at_end) {
            in->at += n < left ? n : left;
            return malformed(j, "the rest of a string");
        }
        if (!want(j, n < 2048 ? 4096 : 2 * n))
            return false;
    }
    *length = n - 1;
    return true;
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

/* Decode into j->text; an escape is never shorter than its character. */
static bool string_unescape(struct json *j, size_t length, size_t *used)
{
    struct snap_input *in = &j->b->in;
    const char *p = (const char *)in->at + 1;
    size_t i = 0;

    if (!snap_reserve(&j->b->memory, &j->text, &j->text_capacity, length + 1,
                      1))
        return snap_no_memory(j->b);
    *used = 0;
    while (i < length) {
        size_t n = 1;

        if (p[i] != '\\') {
            j->text[(*used)++] = p[i];
        } else {
            n = unescape(p + i, length - i, j->text, used);
            if (n == 0) {
                in->at += 1 + i;
                return malformed(j, "an escape that JSON has");
            }
        }
        i += n;
    }
    return true;
}

static bool read_string(struct json *j)
{
    struct snap_input *in = &j->b->in;
    size_t length = 0, used = 0;
    const char *text;
    bool escapes = false;

    j->at = (uint32_t)snap_input_offset(in, in->at);
    if (!string_whole(j, &length, &escapes))
        return false;
    text = (const char *)in->at + 1;
    used = length;
    if (escapes) {
        if (!string_unescape(j, length, &used))
            return false;
        text = j->text;
    }
    if (!snap_utf8_valid((const unsigned char *)text, used))
        return malformed(j, "a string in UTF-8");
    if (!snap_push_string(j->b, text, used, j->at))
        return false;
    in->at += length + 2;
    return true;
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

static bool read_number(struct json *j)
{
    struct snap_input *in = &j->b->in;
    char text[NUMBER_MAX + 1];
    size_t n = 0;
    uint64_t bits;
    bool is_big;
    double real;
    char *end;

    if (!want(j, NUMBER_MAX))
        return false;
    while (n < NUMBER_MAX && n < snap_input_left(in) && in_number(in->at[n])) {
        text[n] = (char)in->at[n];
        n++;
    }
    text[n] = '\0';
    if (n == NUMBER_MAX || !number_shaped(text))
        return malformed(j, "a number");
    if (snap_integer(text, n, &bits, &is_big)) {
        in->at += n;
        return snap_push(j->b, is_big ? SNAP_UINT : SNAP_INT, bits, j->at);
    }
    real = strtod(text, &end);
    if (*end != '\0')
        return malformed(j, "a number");
    if (strpbrk(text, ".eE") == NULL) {
        j->b->s->clamped_count++;
        in->at += n;
        return snap_push(j->b, real < 0 ? SNAP_INT : SNAP_UINT,
                         real < 0 ? (uint64_t)INT64_MIN : UINT64_MAX, j->at);
    }
    memcpy(&bits, &real, sizeof bits);
    in->at += n;
    return snap_push(j->b, SNAP_REAL, bits, j->at);
}

static bool read_word(struct json *j)
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
    struct snap_input *in = &j->b->in;

    if (!want(j, 16))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);

        if (snap_input_left(in) >= n && memcmp(in->at, words[i].word, n) == 0) {
            in->at += n;
            return snap_push(j->b, words[i].kind, words[i].bits, j->at);
        }
    }
    return *in->at == '-' ? read_number(j) : malformed(j, "a value");
}

/* ---- lists and dicts ------------------------------------------------------ */

static bool open_one(struct json *j, bool is_dict)
{
    struct snap_builder *b = j->b;

    if (!snap_push_object(b, is_dict ? SNAP_DICT : SNAP_LIST, j->at) ||
        !snap_mark(b))
        return false;
    if (!snap_reserve(&b->memory, &j->in_dict, &j->capacity, j->depth + 1,
                      sizeof *j->in_dict))
        return snap_no_memory(b);
    j->in_dict[j->depth++] = is_dict;
    b->in.at++;
    return true;
}

/* Add the values on the stack to the open list or dict. */
static bool put_items(struct json *j, size_t base)
{
    return j->in_dict[j->depth - 1] ? snap_set_items_from(j->b, base)
                                    : snap_append_from(j->b, base);
}

static bool close_one(struct json *j)
{
    size_t base;

    j->b->in.at++;
    if (!snap_unmark(j->b, &base) || !put_items(j, base))
        return false;
    j->depth--;
    return true;
}

/* After an item: add the values to the list or dict if there are many. */
static bool flush(struct json *j)
{
    struct snap_builder *b = j->b;
    size_t base = b->marks[b->mark_count - 1];
    size_t batch = j->in_dict[j->depth - 1] ? DICT_BATCH : LIST_BATCH;

    if (b->depth - base < batch)
        return true;
    b->mark_count--;
    return put_items(j, base) && snap_mark(b);
}

/* ---- the text ------------------------------------------------------------- */

static bool read_key(struct json *j)
{
    struct snap_input *in = &j->b->in;

    if (!skip_blanks(j))
        return false;
    if (in->at == in->end || *in->at != '"')
        return malformed(j, "a key in quotes");
    if (!read_string(j) || !skip_blanks(j))
        return false;
    if (in->at == in->end || *in->at != ':')
        return malformed(j, "':'");
    in->at++;
    return true;
}

/* Read a complete value, or the beginning of a list or dict (*opened). */
static bool read_value(struct json *j, bool *opened)
{
    struct snap_input *in = &j->b->in;

    if (!skip_blanks(j))
        return false;
    *opened = false;
    if (in->at == in->end)
        return malformed(j, "a value");
    j->at = (uint32_t)snap_input_offset(in, in->at);
    switch (*in->at) {
    case '{':
    case '[':
        *opened = true;
        return open_one(j, *in->at == '{');
    case '"':
        return read_string(j);
    default:
        return *in->at >= '0' && *in->at <= '9' ? read_number(j) : read_word(j);
    }
}

/* After an opening bracket: whether the closing one follows at once. */
static bool read_empty(struct json *j, bool *closed)
{
    struct snap_input *in = &j->b->in;
    unsigned char end = j->in_dict[j->depth - 1] ? '}' : ']';

    if (!skip_blanks(j))
        return false;
    *closed = in->at < in->end && *in->at == end;
    return !*closed || close_one(j);
}

/* After an item: read a comma, or all closing brackets that follow. */
static bool read_after(struct json *j)
{
    struct snap_input *in = &j->b->in;

    while (j->depth > 0) {
        bool is_dict = j->in_dict[j->depth - 1];

        if (!skip_blanks(j))
            return false;
        if (in->at < in->end && *in->at == ',') {
            in->at++;
            return flush(j);
        }
        if (in->at == in->end || *in->at != (is_dict ? '}' : ']'))
            return malformed(j, is_dict ? "',' or '}'" : "',' or ']'");
        if (!close_one(j))
            return false;
    }
    return true;
}

static bool read_all(struct json *j)
{
    do {
        bool opened, closed = true;

        if (j->depth > 0 && j->in_dict[j->depth - 1] && !read_key(j))
            return false;
        if (!read_value(j, &opened))
            return false;
        if (opened && !read_empty(j, &closed))
            return false;
        if (closed && !read_after(j))
            return false;
    } while (j->depth > 0);
    return skip_blanks(j) && (j->b->in.at == j->b->in.end ||
                              malformed(j, "nothing after the end"));
}

bool snap_read_json(struct snap_builder *b)
{
    struct json j = {.b = b, .line = 1};
    bool fine = read_all(&j);

    snap_release(&b->memory, j.in_dict, j.capacity * sizeof *j.in_dict);
    snap_release(&b->memory, j.text, j.text_capacity);
    return fine;
}
