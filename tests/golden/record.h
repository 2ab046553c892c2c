/* record.h - a text about each of many programs, and a file of what these texts
 * were: a first line that says which program it is, then lines
 *
 *   calls map 3 unmap 2
 *
 * of a word and pairs of a name and a value, indented by two blanks. */
#ifndef LARDER_TESTS_GOLDEN_RECORD_H
#define LARDER_TESTS_GOLDEN_RECORD_H

#include <stdio.h>

/* The text of a program, "program NUMBER: ...", which the caller frees.  `log`
 * receives its steps; NULL: nobody does. */
typedef char *record_fn(unsigned number, FILE *log);

/* Fail unless the texts are those in tests/data/golden/NAME, and print which
 * figures of which programs changed.  With LARDER_DECISIONS=FOLDER the file is
 * first written anew there. */
void record_compare(const char *name, unsigned count, record_fn *run);
/* Some programs, run twice, whatever ran before. */
void record_repeats(unsigned count, record_fn *run);

#endif
