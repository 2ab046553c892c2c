/* conf_read.h - reads values of settings.  Private to core.
 *
 * Each function reads one value of the key r->key and advances to the mark
 * after it.  ERR_CONF names the key, what was found and what is accepted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { CONF_WORD_MAX = 64 }; /* longest key or value */

struct conf_key;

/* The parser's position, and the key whose value it reads. */
struct reader {
    const char *at;
    const char *key;
    const struct conf_key *row; /* conf_keys.h */
    char word[CONF_WORD_MAX + 1];
};

/* The next character that is not blank.  Blanks are skipped everywhere, even
 * within a word. */
char larder__reader_peek(struct reader *r);

/* Read a key or a value into r->word; it is empty at a mark. */
larder_result larder__reader_word(struct reader *r);

/* Advance past `mark`, which must come next. */
larder_result larder__reader_expect(struct reader *r, char mark);

/* Report that r->word is not accepted. */
larder_result larder__reader_fail(const struct reader *r, const char *accepted);

/* Read a number of one of PyTorch's keys as std::stoull() reads it, or, with
 * `is_int`, std::stoi(): what follows the digits is left out, and a number below
 * 0 becomes one near 2^64. */
larder_result larder__read_size_t(struct reader *r, bool is_int,
                                  const char *accepted, uint64_t *out);

/* A number; unless `is_whole` what follows it is left out, as by std::stod() for
 * PyTorch's keys. */
larder_result larder__read_real(struct reader *r, bool is_whole,
                                const char *accepted, double *out);
larder_result larder__read_bool(struct reader *r, bool *out);

/* Whether r->word is a number as a whole. */
bool larder__word_real(const struct reader *r, double *out);

/* At most 2^63 bytes: no device has more, and sums do not overflow. */
#define CONF_MOST_MB (UINT64_C(1) << 43)
/* MiB as bytes. */
uint64_t larder__mb_bytes(uint64_t mb);
