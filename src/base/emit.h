/* emit.h - writes nested values as a pickle or as JSON, through a buffer.
 *
 * In a list each value is an item; in a dict keys, which are texts, and their
 * values take turns.  Pickles have protocol 4 and use only opcodes that
 * PyTorch's MemoryViz.js knows.  Errors are remembered: after the first one
 * nothing more is written, so it is enough to check at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <larder/history.h>

#include "base/snapshot_words.h"

/* Frames under unknown keys of frames under unknown keys of events are the
 * deepest (src/snapshot/snap_rest.h). */
enum { EMIT_BUFFER = 1 << 15, EMIT_DEPTH = 48, EMIT_BATCH = 1000 };

enum emit_form {
    EMIT_PICKLE,
    EMIT_JSON,     /* without blanks, and a line's end at the end */
    EMIT_JSON_DUMP /* as Python's json.dump() writes it */
};

struct emit {
    larder_write_fn *write;
    void *ctx;
    uint32_t *words; /* pickle: memo number + 1; 0: not written yet */
    enum emit_form form;
    bool failed; /* a write failed */
    unsigned depth;
    struct {
        bool is_dict;
        bool after_key;
        uint64_t count; /* of items, or of pairs */
    } open[EMIT_DEPTH];
    uint32_t memo_count;
    size_t used;
    unsigned char buffer[EMIT_BUFFER];
};

/* Clear all of *e except the buffer, and begin.  `words` has a place for each
 * word, all 0, and lives until the end; for JSON it may be NULL. */
void larder__emit_begin(struct emit *e, enum emit_form form, uint32_t *words,
                        larder_write_fn *write, void *ctx);

/* End the one value that was written.  False: something failed. */
bool larder__emit_end(struct emit *e);

void larder__emit_dict_begin(struct emit *e);
void larder__emit_list_begin(struct emit *e);
/* End the list or dict that was begun last. */
void larder__emit_close(struct emit *e);

void larder__emit_none(struct emit *e);
void larder__emit_bool(struct emit *e, bool value);
void larder__emit_unsigned(struct emit *e, uint64_t value);
void larder__emit_signed(struct emit *e, int64_t value);
void larder__emit_real(struct emit *e, double value);
/* Two numbers: a tuple in a pickle, a list in JSON. */
void larder__emit_pair(struct emit *e, uint64_t first, uint64_t second);

/* Bytes that are not UTF-8 become U+FFFD. */
void larder__emit_text(struct emit *e, const char *text);
/* UTF-8 in which there may be zeros and lone surrogates, which JSON escapes.  A
 * pickle has it once: place as for larder__emit_again(). */
void larder__emit_string(struct emit *e, const char *bytes, size_t length,
                         uint32_t *place);
void larder__emit_word(struct emit *e, enum snap_word word);

/* Pickles only (JSON: false, nothing).  A place is 0 until the list, dict or
 * pair just begun is kept there; from then on it is written by its number. */
bool larder__emit_again(struct emit *e, const uint32_t *place);
void larder__emit_keep(struct emit *e, uint32_t *place);

/* ---- keys with their values ----------------------------------------------- */

static inline void put_unsigned(struct emit *e, enum snap_word key,
                                uint64_t value)
{
    larder__emit_word(e, key);
    larder__emit_unsigned(e, value);
}

static inline void put_signed(struct emit *e, enum snap_word key, int64_t value)
{
    larder__emit_word(e, key);
    larder__emit_signed(e, value);
}

static inline void put_bool(struct emit *e, enum snap_word key, bool value)
{
    larder__emit_word(e, key);
    larder__emit_bool(e, value);
}

static inline void put_word(struct emit *e, enum snap_word key,
                            enum snap_word word)
{
    larder__emit_word(e, key);
    larder__emit_word(e, word);
}

static inline void begin_list(struct emit *e, enum snap_word key)
{
    larder__emit_word(e, key);
    larder__emit_list_begin(e);
}
