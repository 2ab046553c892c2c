/* snap_pickle_line.c - rare parts of the pickle machine: protocol 0, whose
 * arguments are lines of text, and the opcodes that are rejected. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_pickle.h"
#include "snapshot/snap_text.h"

enum { NUMBER_MAX = 64, NAME_MAX_SHOWN = 100 };

/* The end of the line that begins at `at`.  NULL: an error. */
static const unsigned char *line_end(struct snap_pickle *k)
{
    struct snap_input *in = &k->b->in;
    size_t seen = 0;

    for (;;) {
        const unsigned char *end =
            memchr(in->at + seen, '\n', snap_input_left(in) - seen);

        if (end != NULL)
            return end;
        seen = snap_input_left(in);
        if (!snap_input_want(in, seen == 0 ? 1 : seen * 2, k->b->error))
            return NULL;
        if (snap_input_left(in) == seen) {
            in->at = in->end;
            snap_fail(k->b, "the file ends here; expected the rest of a line");
            return NULL;
        }
    }
}

/* Consume the rest of a line with its end; valid until the next one. */
static bool line(struct snap_pickle *k, const char **text, size_t *length)
{
    struct snap_input *in = &k->b->in;
    const unsigned char *end = line_end(k);

    if (end == NULL)
        return false;
    *text = (const char *)in->at;
    *length = (size_t)(end - in->at);
    in->at = end + 1;
    return true;
}

/* Copy a line that is a number, with a NUL. */
static bool number_line(struct snap_pickle *k, char out[NUMBER_MAX])
{
    const char *text;
    size_t length;

    if (!line(k, &text, &length))
        return false;
    if (length == 0 || length >= NUMBER_MAX ||
        memchr(text, '\0', length) != NULL)
        return snap_fail_at(k->b, k->at, "expected a line with a number");
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static bool not_a_number(struct snap_pickle *k)
{
    return snap_fail_at(k->b, k->at, "expected a line with a number");
}

/* INT and LONG; INT writes the booleans as 00 and 01. */
static bool op_integer(struct snap_pickle *k, bool is_long)
{
    char text[NUMBER_MAX] = "";
    size_t length;
    uint64_t bits;
    bool is_big;

    if (!number_line(k, text))
        return false;
    if (!is_long && (strcmp(text, "00") == 0 || strcmp(text, "01") == 0))
        return snap_push(k->b, SNAP_BOOL, text[1] == '1', k->at);
    length = strlen(text);
    if (is_long && text[length - 1] == 'L')
        text[--length] = '\0';
    if (!snap_integer(text, length, &bits, &is_big))
        return not_a_number(k);
    return snap_push(k->b, is_big ? SNAP_UINT : SNAP_INT, bits, k->at);
}

static bool op_float(struct snap_pickle *k)
{
    char text[NUMBER_MAX] = "";
    char *end;
    double value;
    uint64_t bits;

    if (!number_line(k, text))
        return false;
    value = strtod(text, &end);
    if (end == text || *end != '\0')
        return not_a_number(k);
    memcpy(&bits, &value, sizeof bits);
    return snap_push(k->b, SNAP_REAL, bits, k->at);
}

static bool memo_line(struct snap_pickle *k, uint64_t *index)
{
    char text[NUMBER_MAX] = "";
    bool is_big;

    if (!number_line(k, text))
        return false;
    if (!snap_integer(text, strlen(text), index, &is_big) || text[0] == '-')
        return not_a_number(k);
    return true;
}

static bool op_get_line(struct snap_pickle *k)
{
    uint64_t index;

    return memo_line(k, &index) && snap_memo_get(k->b, index, k->at);
}

static bool op_put_line(struct snap_pickle *k)
{
    uint64_t index;

    return memo_line(k, &index) && snap_memo_put(k->b, index);
}

/* Convert Latin-1 with \u and \U escapes to UTF-8. */
static bool op_unicode(struct snap_pickle *k)
{
    struct snap_builder *b = k->b;
    const char *text;
    char *utf8;
    size_t length, used;
    bool fine;

    if (!line(k, &text, &length))
        return false;
    utf8 = snap_alloc(&b->memory, 2 * length + 4, 1);
    if (utf8 == NULL)
        return snap_no_memory(b);
    fine = snap_raw_unicode(text, length, utf8, &used)
               ? snap_push_string(b, utf8, used, k->at)
               : snap_fail_at(b, k->at, "a malformed \\u in a string");
    snap_release(&b->memory, utf8, 2 * length + 4);
    return fine;
}

/* ---- refused opcodes ------------------------------------------------------ */

/* Copy a name from the file for display, as ASCII. */
static void show(char *out, const char *text, size_t length)
{
    if (length > NAME_MAX_SHOWN)
        length = NAME_MAX_SHOWN;
    for (size_t i = 0; i < length; i++)
        out[i] = (char)(text[i] > 0x20 && text[i] < 0x7f ? text[i] : '?');
    out[length] = '\0';
}

static bool refuse_name(struct snap_pickle *k, const char *opcode,
                        const char *module, const char *name)
{
    return snap_fail_at(k->b, k->at,
                        "opcode %s refers to %s.%s, which would run code; "
                        "expected plain data",
                        opcode, module, name);
}

static bool refuse_lines(struct snap_pickle *k, const char *opcode)
{
    char module[NAME_MAX_SHOWN + 1], name[NAME_MAX_SHOWN + 1];
    const char *text;
    size_t length;

    if (!line(k, &text, &length))
        return false;
    show(module, text, length);
    if (!line(k, &text, &length))
        return false;
    show(name, text, length);
    return refuse_name(k, opcode, module, name);
}

static bool refuse_stack(struct snap_pickle *k)
{
    char names[2][NAME_MAX_SHOWN + 1] = {"?", "?"};
    struct snap_builder *b = k->b;

    for (size_t i = 0; i < 2 && b->depth >= 2; i++) {
        const struct snap_value *v = &b->stack[b->depth - 2 + i];

        if (v->kind == SNAP_STRING)
            show(names[i], snapshot_string(b->s, (uint32_t)v->bits),
                 snapshot_string_length(b->s, (uint32_t)v->bits));
    }
    return refuse_name(k, "STACK_GLOBAL", names[0], names[1]);
}

static bool refuse(struct snap_pickle *k, unsigned char op)
{
    static const struct {
        unsigned char op;
        const char *name;
    } refused[] = {
        {'R', "REDUCE"},    {'b', "BUILD"},        {'o', "OBJ"},
        {0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},   {'P', "PERSID"},
        {'Q', "BINPERSID"}, {0x82, "EXT1"},        {0x83, "EXT2"},
        {0x84, "EXT4"},     {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
        {'S', "STRING"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (refused[i].op == op)
            return snap_fail_at(k->b, k->at,
                                "opcode %s; expected those of plain data",
                                refused[i].name);
    }
    return snap_fail_at(k->b, k->at,
                        "0x%02x is no pickle opcode; expected one, or JSON "
                        "that begins with {",
                        op);
}

bool snap_pickle_line(struct snap_pickle *k, unsigned char op)
{
    switch (op) {
    case 'I':
    case 'L':
        return op_integer(k, op == 'L');
    case 'F':
        return op_float(k);
    case 'V':
        return op_unicode(k);
    case 'g':
        return op_get_line(k);
    case 'p':
        return op_put_line(k);
    case 'c':
        return refuse_lines(k, "GLOBAL");
    case 'i':
        return refuse_lines(k, "INST");
    case 0x93:
        return refuse_stack(k);
    default:
        return refuse(k, op);
    }
}
