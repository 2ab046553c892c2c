/* prompt_lexer.h - the prompt's text as tokens. */
#ifndef LARDER_CLI_LAB_PROMPT_LEXER_H
#define LARDER_CLI_LAB_PROMPT_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is wrong, and at which byte of the text. */
struct prompt_error {
    size_t at;
    char text[4096];
};

enum prompt_token_kind {
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_INDENT, /* the next line stands further in */
    TOKEN_DEDENT,
    TOKEN_NAME,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_STRING, /* the part between its quotes */
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
    size_t brackets; /* open ones: a newline in them is a blank */
    size_t indents[LEXER_INDENTS];
    size_t indent_count;
    size_t dedents; /* still to be told */
    bool line_start;
    bool open; /* ended inside brackets or a string of three quotes */
    struct prompt_error *error;
};

void prompt_lexer_init(struct prompt_lexer *x, const char *text,
                       struct prompt_error *error);
/* False, with the error set, where the text is no token. */
bool prompt_lexer_next(struct prompt_lexer *x, struct prompt_token *out);

bool prompt_token_is(const struct prompt_token *t, const char *word);

/* Set an error, if none was set since prompt_lexer_init(): what fails after it
 * may do so because of it.  Returns false. */
bool prompt_error_set(struct prompt_error *e, size_t at, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

#endif
