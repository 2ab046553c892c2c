/* prompt_text.h - text that grows. */
#ifndef LARDER_CLI_LAB_PROMPT_TEXT_H
#define LARDER_CLI_LAB_PROMPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Beyond this nothing is added, but "..." once. */
enum { PROMPT_TEXT_MAX = 1 << 20 };

struct prompt_text {
    char *data; /* NULL until something is added; ends with a NUL */
    size_t length;
    size_t capacity;
    bool full; /* nothing more is taken, or no host memory was left */
};

void prompt_text_free(struct prompt_text *t);
/* Nothing in it; its memory is kept. */
void prompt_text_clear(struct prompt_text *t);
void prompt_text_add(struct prompt_text *t, const char *s, size_t length);
void prompt_text_put(struct prompt_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As a string of JSON, in its quotes. */
void prompt_text_json(struct prompt_text *t, const char *s);
/* Never NULL. */
const char *prompt_text_of(const struct prompt_text *t);

#endif
