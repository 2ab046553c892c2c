/* record.h - a text about each of many programs, and a file of what these texts
 * were: a first line that says which program it is, then lines
 *
 *   calls map 3 unmap 2
 *
 * of a word and pairs of a name and a value, indented by two blanks. */
#pragma once

#include <stdio.h>

/* The text of a program, "program NUMBER: ...", which the caller frees.  `log`
 * receives its steps; NULL: nobody does. */
typedef char *record_fn(unsigned number, FILE *log);

struct record {
    const char *name; /* of the file in tests/data/golden */
    unsigned count;   /* programs */
    record_fn *run;
};

/* A test's main(): it fails unless the texts are those in the file, and prints which
 * figures of which programs changed; and unless some programs, run twice, do the
 * same whatever ran before.  With LARDER_DECISIONS=FOLDER the file is first written
 * anew there.  "--log PROGRAM" prints the steps of one instead. */
int record_main(int argc, char **argv, const struct record *r);
