/* prompt_text.h - a growing text. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_TEXT_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Beyond this size only "..." is added, once. */
enum { PROMPT_TEXT_MAX = 1 << 20 };

struct prompt_text {
    char *data; /* NULL until something is added; ends with a NUL */
    size_t length;
    size_t capacity;
    bool full; /* it is at its limit, or host memory ran out */
};

void prompt_text_free(struct prompt_text *t);
/* Empty the text, but keep its memory. */
void prompt_text_clear(struct prompt_text *t);
void prompt_text_add(struct prompt_text *t, const char *s, size_t length);
void prompt_text_put(struct prompt_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Add a string in JSON, with quotes. */
void prompt_text_json(struct prompt_text *t, const char *s);
/* Never NULL. */
const char *prompt_text_of(const struct prompt_text *t);

#endif
