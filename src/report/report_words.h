/* report_words.h - formats figures and frames for people. */
#ifndef LARDER_REPORT_REPORT_WORDS_H
#define LARDER_REPORT_REPORT_WORDS_H

#include <stdio.h>

#include "snapshot/lifetimes.h"

/* Size of a buffer for any of the texts below. */
enum {
    REPORT_WORD = 32,
    REPORT_FRAME = 512,
    REPORT_REQUESTER = REPORT_FRAME + 32
};

/* "1.25 GiB", "512 B"; returns buf. */
const char *report_bytes(uint64_t bytes, char buf[REPORT_WORD]);

/* "s", or "" for one. */
const char *report_plural(size_t count);

/* "3.1 s", "40 ms", "800 µs"; returns buf. */
const char *report_time(int64_t us, char buf[REPORT_WORD]);

/* Microseconds between two times, clamped if the difference overflows. */
int64_t report_elapsed(int64_t from, int64_t to);

/* Number of the frame that a reader would call "the line" of the stack.  It is
 * the innermost frame that belongs neither to PyTorch nor to Python's own
 * library: the program's, unless a package (such as a library of models) was
 * more than two calls deep in its own code.  If there is none, PyTorch's; in a
 * stack without Python, the node of the backward pass.  UINT32_MAX for an empty
 * stack. */
uint32_t report_own_frame(const struct snapshot *s, uint32_t stack);

/* Format "models.py:174 update_nodes", with the whole path or its last part,
 * without control characters.  UTF-8.  Returns buf; "no call path"
 * for UINT32_MAX. */
const char *report_frame(const struct snapshot *s, uint32_t frame, bool whole,
                         char buf[REPORT_FRAME]);

/* Who made a request, from its stack: "by model.py:7 forward" or, where only
 * the program's notes are known, 'at the mark "epoch 1"'.  Returns buf. */
const char *report_requester(const struct snapshot *s, uint32_t stack,
                             char buf[REPORT_REQUESTER]);

/* How many of the first `max` bytes of a text end with a complete
 * character. */
int report_cut(const char *text, size_t max);

/* A growing text: write to `out`, then take it. */
struct report_text {
    FILE *out; /* NULL: no host memory */
    char *text;
    size_t size;
};

bool report_text_begin(struct report_text *t);
/* The text, which the caller frees; NULL: no host memory. */
char *report_text_take(struct report_text *t);

#endif
