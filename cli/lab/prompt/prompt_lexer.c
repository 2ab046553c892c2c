#include "prompt_lexer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAB = 8, NUMBER_MAX = 64 };

bool prompt_error_set(struct prompt_error *e, size_t at, const char *format,
                      ...)
{
    va_list args;

    if (e->text[0] != '\0')
        return false;
    e->at = at;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return false;
}

void prompt_lexer_init(struct prompt_lexer *x, const char *text,
                       struct prompt_error *error)
{
    memset(x, 0, sizeof *x);
    x->text = text;
    x->next = text;
    x->line_start = true;
    x->indent_count = 1; /* outermost level: 0 */
    x->error = error;
    error->text[0] = '\0';
}

bool prompt_token_is(const struct prompt_token *t, const char *word)
{
    return (t->kind == TOKEN_NAME || t->kind == TOKEN_OPERATOR) &&
           strlen(word) == t->length && memcmp(word, t->start, t->length) == 0;
}

/* ---- characters, whatever the locale ------------------------------------ */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static bool prompt_lexer_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static size_t at(const struct prompt_lexer *x)
{
    return (size_t)(x->next - x->text);
}

static bool token(struct prompt_token *out, enum prompt_token_kind kind,
                  const char *start, size_t length)
{
    out->kind = kind;
    out->start = start;
    out->length = length;
    return true;
}

/* ---- lines --------------------------------------------------------------- */

static void skip_blanks(struct prompt_lexer *x)
{
    for (;;) {
        if (prompt_lexer_is_blank(*x->next) ||
            (*x->next == '\n' && x->brackets > 0))
            x->next++;
        else if (x->next[0] == '\\' && x->next[1] == '\n')
            x->next += 2;
        else if (*x->next == '#')
            x->next += strcspn(x->next, "\n");
        else
            return;
    }
}

/* The indentation of the next line that is not blank; x->next advances to that
 * line. */
static size_t measure_indent(struct prompt_lexer *x)
{
    size_t columns = 0;

    for (;; x->next++) {
        if (*x->next == '#')
            x->next += strcspn(x->next, "\n");
        if (*x->next == '\n')
            columns = 0;
        else if (*x->next == ' ')
            columns++;
        else if (*x->next == '\t')
            columns += TAB - columns % TAB;
        else if (*x->next != '\r' && *x->next != '\f')
            return *x->next != '\0' ? columns : 0;
    }
}

static bool begin_line(struct prompt_lexer *x, struct prompt_token *out,
                       bool *made)
{
    size_t columns = measure_indent(x);
    size_t *top = &x->indents[x->indent_count - 1];

    x->line_start = false;
    *made = false;
    if (columns > *top) {
        if (x->indent_count == LEXER_INDENTS)
            return prompt_error_set(x->error, at(x), "indented too deeply");
        x->indents[x->indent_count++] = columns;
        *made = true;
        return token(out, TOKEN_INDENT, x->next, 0);
    }
    while (x->indents[x->indent_count - 1] > columns) {
        x->indent_count--;
        x->dedents++;
    }
    if (x->indents[x->indent_count - 1] != columns)
        return prompt_error_set(x->error, at(x),
                                "this line is not indented like any before");
    return true;
}

/* ---- tokens --------------------------------------------------------------- */

/* Copy without the underscores between digits. */
static bool copy_number(struct prompt_lexer *x, size_t length,
                        char out[NUMBER_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (x->next[i] == '_')
            continue;
        if (n == NUMBER_MAX - 1)
            return prompt_error_set(x->error, at(x), "this number is too long");
        out[n++] = x->next[i];
    }
    out[n] = '\0';
    return true;
}

static size_t digits(const char *s)
{
    size_t n = 0;

    while (is_digit(s[n]) || (n > 0 && s[n] == '_' && is_digit(s[n + 1])))
        n++;
    return n;
}

/* The length of a number, and whether it is a whole one. */
static size_t number_length(const char *s, bool *whole)
{
    size_t n = digits(s);

    *whole = true;
    if (s[n] == '.') {
        *whole = false;
        n++;
        n += digits(s + n);
    }
    if (s[n] == 'e' || s[n] == 'E') {
        size_t sign = s[n + 1] == '+' || s[n + 1] == '-';

        if (is_digit(s[n + 1 + sign])) {
            *whole = false;
            n += 1 + sign;
            n += digits(s + n);
        }
    }
    return n;
}

static bool lex_number(struct prompt_lexer *x, struct prompt_token *out)
{
    char text[NUMBER_MAX];
    bool whole;
    size_t length = number_length(x->next, &whole);

    if (is_name_start(x->next[length]))
        return prompt_error_set(x->error, at(x) + length,
                                "a number ends where '%c' stands",
                                x->next[length]);
    if (!copy_number(x, length, text))
        return false;
    token(out, whole ? TOKEN_INT : TOKEN_FLOAT, x->next, length);
    errno = 0;
    if (whole)
        out->integer = strtoll(text, NULL, 10);
    else
        out->real = strtod(text, NULL);
    if (whole && errno == ERANGE)
        return prompt_error_set(x->error, at(x),
                                "whole numbers end at 2**63 - 1");
    x->next += length;
    return true;
}

static bool lex_string(struct prompt_lexer *x, struct prompt_token *out)
{
    const char *start = x->next + 1;
    size_t length = 0;

    while (start[length] != *x->next) {
        if (start[length] == '\\' && start[length + 1] != '\0')
            length++;
        if (start[length] == '\0' || start[length] == '\n')
            return prompt_error_set(x->error, at(x),
                                    "this string has no end on its line");
        length++;
    }
    token(out, TOKEN_STRING, start, length);
    x->next = start + length + 1;
    return true;
}

static void count_brackets(struct prompt_lexer *x, char c)
{
    if (strchr("([{", c) != NULL)
        x->brackets++;
    else if (strchr(")]}", c) != NULL && x->brackets > 0)
        x->brackets--;
}

static bool lex_operator(struct prompt_lexer *x, struct prompt_token *out)
{
    static const char *const operators[] = {
        "**=", "//=", "...", "**", "//", "==", "!=", "<=", ">=",
        "+=",  "-=",  "*=",  "/=", "%=", "@=", "->", "+",  "-",
        "*",   "/",   "%",   "@",  "(",  ")",  "[",  "]",  "{",
        "}",   ",",   ":",   ".",  ";",  "=",  "<",  ">"};
    unsigned char c = (unsigned char)*x->next;

    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        size_t length = strlen(operators[i]);

        if (strncmp(x->next, operators[i], length) == 0) {
            count_brackets(x, *x->next);
            token(out, TOKEN_OPERATOR, x->next, length);
            x->next += length;
            return true;
        }
    }
    if (c > 0x20 && c < 0x7F)
        return prompt_error_set(x->error, at(x), "'%c' is no operator here", c);
    return prompt_error_set(x->error, at(x),
                            "a character that cannot stand here");
}

static bool lex_end(struct prompt_lexer *x, struct prompt_token *out)
{
    x->open = x->brackets > 0;
    if (x->indent_count > 1) {
        x->dedents = x->indent_count - 1;
        x->indent_count = 1;
        return prompt_lexer_next(x, out);
    }
    return token(out, TOKEN_END, x->next, 0);
}

bool prompt_lexer_next(struct prompt_lexer *x, struct prompt_token *out)
{
    bool made = false;

    memset(out, 0, sizeof *out);
    if (x->line_start && !begin_line(x, out, &made))
        return false;
    if (made)
        return true;
    if (x->dedents > 0) {
        x->dedents--;
        return token(out, TOKEN_DEDENT, x->next, 0);
    }
    skip_blanks(x);
    if (*x->next == '\0')
        return lex_end(x, out);
    if (*x->next == '\n') {
        token(out, TOKEN_NEWLINE, x->next, 1);
        x->next++;
        x->line_start = true;
        return true;
    }
    if (is_digit(*x->next) || (*x->next == '.' && is_digit(x->next[1])))
        return lex_number(x, out);
    if (*x->next == '\'' || *x->next == '"')
        return lex_string(x, out);
    if (is_name_start(*x->next)) {
        size_t length = 1;

        while (is_name(x->next[length]))
            length++;
        token(out, TOKEN_NAME, x->next, length);
        x->next += length;
        return true;
    }
    return lex_operator(x, out);
}
