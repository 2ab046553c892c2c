/* report_words.h - formats figures and frames for people. */
#pragma once

#include <stdio.h>

#include "snapshot/lifetimes.h"
#include "snapshot/units.h"
#include "trace/arena.h"

/* Texts of these sizes. */
enum {
    REPORT_WORD = 32,
    REPORT_FRAME = 512,
    REPORT_REQUESTER = REPORT_FRAME + 32
};

/* Each text lives to the end of the block that it is made in; the function of
 * the same name with _in writes it to a buffer, which it returns. */

/* Of a whole that may be 0. */
double report_percent(uint64_t part, uint64_t whole);

/* "s", or "" for one. */
const char *report_plural(size_t count);

/* "3.1 s", "40 ms", "800 µs". */
#define report_time(us) report_time_in((us), (char[REPORT_WORD]){0})
const char *report_time_in(int64_t us, char buf[REPORT_WORD]);

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
 * without control characters.  UTF-8.  "no call path" for UINT32_MAX. */
#define report_frame(s, frame, whole)                                          \
    report_frame_in((s), (frame), (whole), (char[REPORT_FRAME]){0})
const char *report_frame_in(const struct snapshot *s, uint32_t frame,
                            bool whole, char buf[REPORT_FRAME]);

/* Who made a request, from its stack: "by model.py:7 forward" or, where only
 * the program's notes are known, 'at the mark "epoch 1"'. */
#define report_requester(s, stack)                                             \
    report_requester_in((s), (stack), (char[REPORT_REQUESTER]){0})
const char *report_requester_in(const struct snapshot *s, uint32_t stack,
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

/* The same in an arena, which frees the text. */
struct report_text *report_text_open(struct arena *arena);
const char *report_text_close(struct arena *arena, struct report_text *t);
