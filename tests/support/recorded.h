/* recorded.h - results that are kept as digests in a file of tests/data, so that
 * many and long ones can be kept.
 *
 * An entry begins with "== NAME".  Words are kept as they are.  An output, which
 * has many lines, is kept as one line: its name, how many lines it has, a digest
 * of all, and up to 64 letters, each a digest of as many lines as it takes.  So a
 * difference is placed.
 *
 * LARDER_RECORDED=FOLDER writes the file anew, and beside it, in FOLDER, all
 * outputs in full: those of two builds can be compared. */
#pragma once

#include <stddef.h>

struct recorded;

/* `name` is a file of tests/data. */
struct recorded *recorded_begin(const char *name);

void recorded_entry(struct recorded *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Lines that end with a line end. */
void recorded_words(struct recorded *r, const char *text);

/* Several outputs, each of which begins with a line "==== NAME". */
void recorded_outputs(struct recorded *r, const char *text);

/* Compares all with the file, or writes it.  Returns how many entries differ; the
 * first are told on the standard error. */
size_t recorded_end(struct recorded *r);
