/* report_words.h - figures and frames in words for a person. */
#ifndef LARDER_REPORT_REPORT_WORDS_H
#define LARDER_REPORT_REPORT_WORDS_H

#include <stdio.h>

#include "snapshot/lifetimes.h"

/* Room for any of the texts below. */
enum { REPORT_WORD = 32, REPORT_FRAME = 512 };

/* "1.25 GiB", "512 B"; returns buf. */
const char *report_bytes(uint64_t bytes, char buf[REPORT_WORD]);

/* "s", or "" for one. */
const char *report_plural(size_t count);

/* "3.1 s", "40 ms", "800 µs"; returns buf. */
const char *report_time(int64_t us, char buf[REPORT_WORD]);

/* Microseconds from one time to another; of times that no clock shows, the
 * nearest that fits. */
int64_t report_elapsed(int64_t from, int64_t to);

/* Number of the frame that a reader would call "the line": of the stack, the
 * innermost that is neither PyTorch's nor of Python's own library: the
 * program's, unless a package was more than two calls deep in its own code,
 * as a library of models is; failing both PyTorch's, and of a stack
 * without Python the node of the backward pass.  UINT32_MAX for a stack
 * without frames. */
uint32_t report_own_frame(const struct snapshot *s, uint32_t stack);

/* "models.py:174 update_nodes", with the whole path or its last part, and
 * without what a terminal would obey.  UTF-8.  Returns buf; "(no call path recorded)" for UINT32_MAX. */
const char *report_frame(const struct snapshot *s, uint32_t frame, bool whole,
                         char buf[REPORT_FRAME]);

/* As many of the first `most` bytes of a text as end with a whole character. */
int report_cut(const char *text, size_t most);

/* Replace what a terminal would obey, and what is no UTF-8. */
void report_defuse(char *text);

/* Write a file's name so, the last part of one that is very long. */
void report_put_name(FILE *out, const char *name);

/* Text that grows: write to `out`, then take it. */
struct report_text {
    FILE *out; /* NULL: no host memory */
    char *text;
    size_t size;
};

bool report_text_begin(struct report_text *t);
/* The text, the caller's to free(); NULL: no host memory. */
char *report_text_take(struct report_text *t);

#endif
