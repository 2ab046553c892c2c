/* prompt_lexer.h - splits the prompt's text into tokens. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_LEXER_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The error, and the offset in the text where it is. */
struct prompt_error {
    size_t at;
    char text[4096];
};

enum prompt_token_kind {
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_INDENT, /* the next line is indented further */
    TOKEN_DEDENT,
    TOKEN_NAME,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_STRING, /* the text between its quotes */
    TOKEN_OPERATOR
};

struct prompt_token {
    enum prompt_token_kind kind;
    const char *start;
    size_t length;
    int64_t integer;
    double real;
};

enum { LEXER_INDENTS = 16 };

struct prompt_lexer {
    const char *text;
    const char *next;
    size_t brackets; /* open ones: newlines within count as blanks */
    size_t indents[LEXER_INDENTS];
    size_t indent_count;
    size_t dedents; /* still to be returned */
    bool line_start;
    bool open; /* ended within brackets or a triple-quoted string */
    struct prompt_error *error;
};

void prompt_lexer_init(struct prompt_lexer *x, const char *text,
                       struct prompt_error *error);
/* False, with the error set: the text is not a token. */
bool prompt_lexer_next(struct prompt_lexer *x, struct prompt_token *out);

bool prompt_token_is(const struct prompt_token *t, const char *word);

/* Set an error, unless one was set since prompt_lexer_init(): later ones may be
 * consequences.  Returns false. */
bool prompt_error_set(struct prompt_error *e, size_t at, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

#endif
