/* conf_read.h - reading values of settings.  Private to core.
 *
 * Each reads one value of the key r->key and moves on to the mark after it;
 * LARDER_ERR_CONF, in words that name the key, what was found and what is
 * accepted. */
#ifndef LARDER_CORE_CONF_READ_H
#define LARDER_CORE_CONF_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { CONF_WORD_MAX = 64 }; /* longest key or value */

/* Where the parser stands, and the key whose value it reads. */
struct reader {
    const char *at;
    const char *key;
    char word[CONF_WORD_MAX + 1];
};

/* The next character that is no blank: these are dropped wherever they
 * stand, even within a word. */
char larder__reader_peek(struct reader *r);

/* Read a key or a value into r->word; empty at a mark. */
larder_result larder__reader_word(struct reader *r);

larder_result larder__reader_expect(struct reader *r, char mark);

/* The word is not what is accepted. */
larder_result larder__reader_fail(const struct reader *r, const char *accepted);

larder_result larder__read_number(struct reader *r, const char *accepted,
                                  uint64_t *out);
larder_result larder__read_real(struct reader *r, const char *accepted,
                                double *out);
larder_result larder__read_bool(struct reader *r, bool *out);

/* Bytes, as "512MiB". */
larder_result larder__read_size(struct reader *r, uint64_t *out);

/* Bytes, from a number of MiB above 0. */
larder_result larder__read_mb(struct reader *r, uint64_t *out);

/* One of up to three names, NULL for none: *out is which. */
larder_result larder__read_choice(struct reader *r, const char *const names[3],
                                  const char *accepted, int *out);

#endif
