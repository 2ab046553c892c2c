/* conf_keys.h - the keys of settings, grouped by topic, and how their values are
 * read.  Private to core. */
#pragma once

#include <stddef.h>

#include "base/fail.h"
#include "core/settings/conf.h"

struct conf_key;

/* ---- reading values (conf_read.c) ---------------------------------------- */

/* Each function reads one value of the key r->key and advances to the mark
 * after it.  ERR_CONF names the key, what was found and what is accepted. */

enum { CONF_WORD_MAX = 64 }; /* longest key or value */

/* The parser's position, and the key whose value it reads. */
struct reader {
    const char *at;
    const char *key;
    const struct conf_key *row;
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

/* ---- keys ------------------------------------------------------------------ */

enum { CONF_ASK_MS = 1000 }; /* default of ask_budget_ms */

enum { CONF_LARGE_MB = 20 }; /* PyTorch's segment for requests below 10 MiB */

enum { CONF_CHOICES = 3 };

struct conf_key {
    const char *name;
    /* Read the value of r->key into *conf. */
    larder_result (*parse)(struct conf *conf, struct reader *r);
    /* For the functions below. */
    size_t at;            /* the field, as an offset */
    size_t given;         /* a bool that is set; 0: none */
    const char *accepted; /* for messages */
    uint64_t least;
    uint64_t most;                     /* 0: no bound */
    const char *choices[CONF_CHOICES]; /* NULL: unused */
};

#define CONF_AT(field) offsetof(struct conf, field)

/* Read True or False, into a bool or for nothing; "512MiB" or another size of at
 * least `least`; a number of MiB, as bytes; a number from `least` to `most`, each
 * into a uint64_t; one of `choices`, as its index into an int. */
larder_result larder__parse_bool(struct conf *conf, struct reader *r);
larder_result larder__parse_unused(struct conf *conf, struct reader *r);
larder_result larder__parse_size(struct conf *conf, struct reader *r);
larder_result larder__parse_mb(struct conf *conf, struct reader *r);
larder_result larder__parse_number(struct conf *conf, struct reader *r);
larder_result larder__parse_choice(struct conf *conf, struct reader *r);

/* Each list ends with an entry without a name. */
extern const struct conf_key larder__conf_pytorch_keys[];
extern const struct conf_key larder__conf_larder_keys[];
