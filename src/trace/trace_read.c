/* trace_read.c - parses trace text; errors name the line.
 *
 * A line is split into fields, the table's row for the operation turns fields
 * into numbers, then the rules for IDs are checked. */
#include "trace/trace.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace/array_room.h"
#include "trace/trace_lines.h"

enum { FIELDS_MAX = 3, QUOTE_MAX = 40 };

#define OPERATIONS "a, f, r, c, e or m"

enum field_name { FIELD_ID, FIELD_BYTES, FIELD_STREAM };

static const struct {
    const char *name;
    uint64_t max;
} field_limits[] = {
    [FIELD_ID] = {"ID", UINT32_MAX - 1},
    [FIELD_BYTES] = {"BYTES", INT64_MAX},
    [FIELD_STREAM] = {"STREAM", TRACE_STREAMS - 1},
};

struct syntax {
    char letter;
    uint8_t kind;
    uint8_t required; /* number of required fields */
    uint8_t count;    /* maximum number of fields */
    enum field_name fields[FIELDS_MAX];
    const char *form;
};

static const struct syntax syntaxes[] = {
    {'a',
     TRACE_ALLOC,
     2,
     3,
     {FIELD_ID, FIELD_BYTES, FIELD_STREAM},
     "a ID BYTES [STREAM]"},
    {'f', TRACE_FREE, 1, 1, {FIELD_ID}, "f ID"},
    {'r', TRACE_RECORD, 2, 2, {FIELD_ID, FIELD_STREAM}, "r ID STREAM"},
    {'c', TRACE_COMPLETE, 1, 1, {FIELD_STREAM}, "c STREAM"},
    {'e', TRACE_EMPTY_CACHE, 0, 0, {FIELD_ID}, "e"},
    {'m', TRACE_MARK, 0, 0, {FIELD_ID}, "m LABEL"},
};

/* The rest of a line, or one field of it. */
struct span {
    const char *at;
    size_t length;
};

struct reader {
    struct trace_lines lines;
    struct trace *trace;
    unsigned char *freed; /* by ID */
    size_t freed_capacity;
    struct tool_error *error;
};

/* ---- error messages ---------------------------------------------------- */

/* Copy a span for display: bytes other than printable ASCII become \xNN, and a
 * long span is truncated. `out` has room for 4 * QUOTE_MAX + 4 bytes. */
static const char *quote(struct span s, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < s.length && i < QUOTE_MAX; i++) {
        unsigned char c = (unsigned char)s.at[i];

        if (c >= 0x20 && c < 0x7f)
            out[n++] = (char)c;
        else
            n += (size_t)sprintf(out + n, "\\x%02x", c);
    }
    strcpy(out + n, s.length > QUOTE_MAX ? "..." : "");
    return out;
}

#define QUOTED(span) quote((span), (char[4 * QUOTE_MAX + 4]){0})

/* tool_fail() with file and line before the message. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
line_fail(struct reader *r, const char *format, ...)
{
    char words[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return tool_fail(r->error, "%s:%" PRIu64 ": %s", r->lines.path,
                     r->lines.number, words);
}

static bool trace_read_no_memory(struct reader *r)
{
    return line_fail(r, "out of host memory");
}

/* ---- fields ------------------------------------------------------------ */

static bool trace_read_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_end_blank(char c)
{
    return trace_read_is_blank(c) || c == '\r';
}

static void skip_blanks(struct span *s)
{
    while (s->length > 0 && trace_read_is_blank(*s->at)) {
        s->at++;
        s->length--;
    }
}

/* Strip the comment and the blanks at both ends.  A carriage return counts as a
 * blank at the end, so that no label ends in what the next reader would take
 * for part of the line end. */
static struct span strip(struct span s)
{
    const char *hash = memchr(s.at, '#', s.length);

    if (hash != NULL)
        s.length = (size_t)(hash - s.at);
    while (s.length > 0 && is_end_blank(s.at[s.length - 1]))
        s.length--;
    skip_blanks(&s);
    return s;
}

/* Take the next field; its length is 0 if there is none. */
static struct span take_field(struct span *rest)
{
    struct span field = {rest->at, 0};

    while (field.length < rest->length &&
           !trace_read_is_blank(rest->at[field.length]))
        field.length++;
    rest->at += field.length;
    rest->length -= field.length;
    skip_blanks(rest);
    return field;
}

static bool all_digits(const char *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
    }
    return count > 0;
}

/* Read a number up to `max`.  Returns what is wrong with the field; NULL:
 * nothing. */
static const char *read_number(struct span s, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (s.length > 1 && s.at[0] == '-' && all_digits(s.at + 1, s.length - 1))
        return "negative";
    if (!all_digits(s.at, s.length))
        return "not a number";
    for (size_t i = 0; i < s.length; i++) {
        uint64_t digit = (uint64_t)(s.at[i] - '0');

        if (digit > max || value > (max - digit) / 10)
            return "too large";
        value = value * 10 + digit;
    }
    *out = value;
    return NULL;
}

static bool read_fields(struct reader *r, const struct syntax *syn,
                        struct span rest, uint64_t *values)
{
    for (unsigned i = 0; i < syn->count && rest.length > 0; i++) {
        enum field_name name = syn->fields[i];
        struct span field = take_field(&rest);
        const char *wrong =
            read_number(field, field_limits[name].max, &values[i]);

        if (wrong != NULL)
            return line_fail(r,
                             "%s '%s' is %s; expected a number from 0 to "
                             "%" PRIu64,
                             field_limits[name].name, QUOTED(field), wrong,
                             field_limits[name].max);
        if (i + 1 < syn->required && rest.length == 0)
            return line_fail(r, "'%c' without %s; expected %s", syn->letter,
                             field_limits[syn->fields[i + 1]].name, syn->form);
    }
    if (rest.length > 0)
        return line_fail(r, "extra field '%s'; expected %s",
                         QUOTED(take_field(&rest)), syn->form);
    return true;
}

/* ---- operations -------------------------------------------------------- */

/* Assign the values to the fields that the operation's row names. */
static struct trace_op make_op(const struct syntax *syn, const uint64_t *values)
{
    struct trace_op op = {.kind = syn->kind};

    for (unsigned i = 0; i < syn->count; i++) {
        switch (syn->fields[i]) {
        case FIELD_ID:
            op.id = (uint32_t)values[i];
            break;
        case FIELD_BYTES:
            op.bytes = values[i];
            break;
        case FIELD_STREAM:
            op.stream = (uint16_t)values[i];
            break;
        }
    }
    return op;
}

static bool id_allocate(struct reader *r, uint32_t id)
{
    size_t next = r->trace->id_count;

    if (id < next)
        return line_fail(r,
                         "ID %" PRIu32 " is allocated a second time; "
                         "expected ID %zu",
                         id, next);
    if (id > next)
        return line_fail(r,
                         "ID %" PRIu32 " is not the next; expected ID %zu "
                         "(IDs are dense from 0)",
                         id, next);
    if (!ARRAY_ROOM(r->freed, r->freed_capacity, next + 1))
        return trace_read_no_memory(r);
    r->freed[id] = 0;
    return true;
}

static bool id_use(struct reader *r, const struct trace_op *op)
{
    if (op->id >= r->trace->id_count)
        return line_fail(r,
                         "ID %" PRIu32 " was not allocated; expected an ID "
                         "of an 'a' above",
                         op->id);
    if (r->freed[op->id])
        return line_fail(r,
                         "ID %" PRIu32 " was freed before; expected a live "
                         "ID",
                         op->id);
    r->freed[op->id] = op->kind == TRACE_FREE;
    return true;
}

static bool read_mark(struct reader *r, struct span rest)
{
    if (rest.length == 0)
        return line_fail(r, "'m' without LABEL; expected m LABEL");
    return trace_append_mark(r->trace, rest.at, rest.length) ||
           trace_read_no_memory(r);
}

static const struct syntax *find_syntax(struct span letter)
{
    for (size_t i = 0; i < sizeof syntaxes / sizeof syntaxes[0]; i++) {
        if (letter.length == 1 && *letter.at == syntaxes[i].letter)
            return &syntaxes[i];
    }
    return NULL;
}

static bool read_op(struct reader *r, const struct syntax *syn,
                    struct span rest)
{
    uint64_t values[FIELDS_MAX] = {0};
    struct trace_op op;

    if (syn->required > 0 && rest.length == 0)
        return line_fail(r, "'%c' without %s; expected %s", syn->letter,
                         field_limits[syn->fields[0]].name, syn->form);
    if (!read_fields(r, syn, rest, values))
        return false;
    op = make_op(syn, values);
    if (op.kind == TRACE_ALLOC && !id_allocate(r, op.id))
        return false;
    if ((op.kind == TRACE_FREE || op.kind == TRACE_RECORD) && !id_use(r, &op))
        return false;
    return trace_append(r->trace, &op) || trace_read_no_memory(r);
}

static bool read_line(struct reader *r, struct span line)
{
    const struct syntax *syn;
    struct span letter;

    if (memchr(line.at, '\0', line.length) != NULL)
        return line_fail(r, "a NUL byte; expected text");
    line = strip(line);
    if (line.length == 0)
        return true;
    letter = take_field(&line);
    syn = find_syntax(letter);
    if (syn == NULL)
        return line_fail(r,
                         "unknown operation '%s'; expected " OPERATIONS
                         ", as the lines of a trace begin",
                         QUOTED(letter));
    if (syn->kind == TRACE_MARK)
        return read_mark(r, line);
    return read_op(r, syn, line);
}

/* ---- the file ---------------------------------------------------------- */

/* Reject what begins like a PyTorch snapshot: a pickle of protocol 2 or later,
 * or JSON. */
static bool refuse_snapshot(struct trace_source *source, const char *path,
                            struct tool_error *error)
{
    const unsigned char *p;
    size_t n;
    const char *kind = NULL;

    if (!trace_source_peek(source, &p, &n, error))
        return false;
    if (n >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5)
        kind = "pickle";
    while (n > 0 && isspace(*p)) {
        p++;
        n--;
    }
    if (n > 0 && (*p == '{' || *p == '['))
        kind = "JSON";
    if (kind == NULL)
        return true;
    return tool_fail(error,
                     "%s: looks like a memory snapshot (%s); expected trace "
                     "text",
                     path, kind);
}

static bool read_lines(struct reader *r)
{
    struct span line;

    do {
        if (!trace_lines_next(&r->lines, &line.at, &line.length, r->error))
            return false;
        if (line.at != NULL && !read_line(r, line))
            return false;
    } while (line.at != NULL);
    return true;
}

bool trace_read_source(struct trace_source *source, const char *path,
                       struct trace *out, struct tool_error *error)
{
    struct reader *r = calloc(1, sizeof *r);
    bool ok;

    trace_init(out);
    if (r == NULL) {
        trace_source_close(source);
        return tool_fail(error, "%s: out of host memory", path);
    }
    r->trace = out;
    r->error = error;
    trace_lines_begin(source, path, &r->lines);
    ok = refuse_snapshot(source, path, error) && read_lines(r);
    trace_lines_close(&r->lines);
    if (!ok)
        trace_free(out);
    free(r->freed);
    free(r);
    return ok;
}
