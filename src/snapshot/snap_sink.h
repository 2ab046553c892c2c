/* snap_sink.h - the output of the snapshot writer, in one form or the other.
 * Items of lists, and keys with their values, are written one by one. */
#ifndef LARDER_SNAPSHOT_SNAP_SINK_H
#define LARDER_SNAPSHOT_SNAP_SINK_H

#include <stdio.h>

#include "snapshot/snap_words.h"
#include "snapshot/snapshot.h"

/* A frame is at most 9 deep, or 4 below an event that SNAP_REST_DEPTH contains;
 * so may be what it has under an unknown key, and a frame in that. */
enum { SNAP_SINK_DEPTH = 48 };

struct snap_sink;

struct snap_form {
    void (*begin)(struct snap_sink *k, bool is_dict);
    void (*end)(struct snap_sink *k);
    void (*item)(struct snap_sink *k); /* before each item of a list */
    void (*key)(struct snap_sink *k, enum snap_word word);
    void (*key_string)(struct snap_sink *k, uint32_t string);
    void (*none)(struct snap_sink *k);
    void (*word)(struct snap_sink *k, enum snap_word word);
    void (*text)(struct snap_sink *k, const char *text); /* also as a key */
    void (*string)(struct snap_sink *k, uint32_t string);
    void (*integer)(struct snap_sink *k, uint64_t bits, bool is_signed);
    void (*real)(struct snap_sink *k, double value);
    void (*boolean)(struct snap_sink *k, bool value);
    void (*pool)(struct snap_sink *k, uint32_t pool);
    /* Whether it was written before, and a reference was written now. */
    bool (*again)(struct snap_sink *k, bool is_stack, uint32_t number);
    /* The value just opened is the one that again() asked for. */
    void (*remember)(struct snap_sink *k, bool is_stack, uint32_t number);
};

struct snap_sink {
    const struct snap_form *form;
    const struct snapshot *s;
    FILE *out;
    unsigned depth;
    struct {
        bool is_dict;
        uint64_t count;
    } open[SNAP_SINK_DEPTH];

    /* Pickle: memo number plus 1; 0: not written yet.  JSON (frames and
     * stacks): number in its list plus 1; 0: not used. */
    uint32_t *strings;
    uint32_t *frames;
    uint32_t *stacks;
    uint32_t *pools;
    uint32_t words[SNAP_WORD_COUNT];
    uint32_t memo_count;
};

extern const struct snap_form snap_form_pickle;
extern const struct snap_form snap_form_json;

#endif
