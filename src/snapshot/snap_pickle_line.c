/* snap_pickle_line.c - rare parts of the pickle machine: protocol 0, whose
 * arguments are lines of text, and the opcodes that are rejected. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_builder.h"
#include "snapshot/snap_text.h"

enum { NUMBER_MAX = 64, NAME_MAX_SHOWN = 100 };

/* Consume the rest of a line with its end; valid until the next one. */
static const char *line(struct snap_builder *b, size_t *length)
{
    struct snap_input *in = &b->in;
    const char *text;
    const unsigned char *end;
    size_t seen = 0;

    while ((end = memchr(in->at + seen, '\n', snap_input_left(in) - seen)) ==
           NULL) {
        seen = snap_input_left(in);
        snap_want(b, seen == 0 ? 1 : seen * 2);
        if (snap_input_left(in) == seen) {
            in->at = in->end;
            snap_fail(b, "the file ends here; expected the rest of a line");
        }
    }
    text = (const char *)in->at;
    *length = (size_t)(end - in->at);
    in->at = end + 1;
    return text;
}

TOOL_NO_RETURN static void not_a_number(struct snap_builder *b)
{
    snap_fail_at(b, b->at, "expected a line with a number");
}

/* Copy a line that is a number, with a NUL.  Returns its length. */
static size_t number_line(struct snap_builder *b, char out[NUMBER_MAX])
{
    size_t length;
    const char *text = line(b, &length);

    if (length == 0 || length >= NUMBER_MAX ||
        memchr(text, '\0', length) != NULL)
        not_a_number(b);
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

/* INT and LONG; INT writes the booleans as 00 and 01. */
static void op_integer(struct snap_builder *b, bool is_long)
{
    char text[NUMBER_MAX];
    size_t length = number_line(b, text);
    uint64_t bits;
    bool is_big;

    if (!is_long && (strcmp(text, "00") == 0 || strcmp(text, "01") == 0)) {
        snap_push(b, SNAP_BOOL, text[1] == '1');
        return;
    }
    if (is_long && text[length - 1] == 'L')
        length--;
    if (!snap_integer(text, length, &bits, &is_big))
        not_a_number(b);
    snap_push(b, is_big ? SNAP_UINT : SNAP_INT, bits);
}

static void op_float(struct snap_builder *b)
{
    char text[NUMBER_MAX];
    char *end;
    double value;
    uint64_t bits;

    number_line(b, text);
    value = strtod(text, &end);
    if (end == text || *end != '\0')
        not_a_number(b);
    memcpy(&bits, &value, sizeof bits);
    snap_push(b, SNAP_REAL, bits);
}

static uint64_t memo_line(struct snap_builder *b)
{
    char text[NUMBER_MAX];
    size_t length = number_line(b, text);
    uint64_t index;
    bool is_big;

    if (!snap_integer(text, length, &index, &is_big) || text[0] == '-')
        not_a_number(b);
    return index;
}

/* Convert Latin-1 with \u and \U escapes to UTF-8. */
static void op_unicode(struct snap_builder *b)
{
    size_t length, used;
    const char *text = line(b, &length);

    SNAP_ROOM(b, b->text, b->text_capacity, 2 * length + 4);
    if (!snap_raw_unicode(text, length, b->text, &used))
        snap_fail_at(b, b->at, "a malformed \\u in a string");
    snap_push_string(b, b->text, used);
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

TOOL_NO_RETURN static void refuse_name(struct snap_builder *b,
                                       const char *opcode, const char *module,
                                       const char *name)
{
    snap_fail_at(b, b->at,
                 "opcode %s refers to %s.%s, which would run code; "
                 "expected plain data",
                 opcode, module, name);
}

TOOL_NO_RETURN static void refuse_lines(struct snap_builder *b,
                                        const char *opcode)
{
    char names[2][NAME_MAX_SHOWN + 1];

    for (size_t i = 0; i < 2; i++) {
        size_t length;
        const char *text = line(b, &length);

        show(names[i], text, length);
    }
    refuse_name(b, opcode, names[0], names[1]);
}

TOOL_NO_RETURN static void refuse_stack(struct snap_builder *b)
{
    char names[2][NAME_MAX_SHOWN + 1] = {"?", "?"};

    for (size_t i = 0; i < 2 && b->depth >= 2; i++) {
        const struct snap_value *v = &b->stack[b->depth - 2 + i];

        if (v->kind == SNAP_STRING)
            show(names[i], snapshot_string(b->s, (uint32_t)v->bits),
                 snapshot_string_length(b->s, (uint32_t)v->bits));
    }
    refuse_name(b, "STACK_GLOBAL", names[0], names[1]);
}

TOOL_NO_RETURN static void refuse(struct snap_builder *b, unsigned char op)
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
            snap_fail_at(b, b->at, "opcode %s; expected those of plain data",
                         refused[i].name);
    }
    snap_fail_at(b, b->at,
                 "0x%02x is no pickle opcode; expected one, or JSON "
                 "that begins with {",
                 op);
}

void snap_pickle_line(struct snap_builder *b, unsigned char op)
{
    switch (op) {
    case 'I':
    case 'L':
        op_integer(b, op == 'L');
        break;
    case 'F':
        op_float(b);
        break;
    case 'V':
        op_unicode(b);
        break;
    case 'g':
        snap_memo_get(b, memo_line(b));
        break;
    case 'p':
        snap_memo_put(b, memo_line(b));
        break;
    case 'c':
        refuse_lines(b, "GLOBAL");
    case 'i':
        refuse_lines(b, "INST");
    case 0x93:
        refuse_stack(b);
    default:
        refuse(b, op);
    }
}
