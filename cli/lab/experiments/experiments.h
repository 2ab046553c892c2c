/* experiments.h - the built-in experiments of `larder lab`. */
#ifndef LARDER_CLI_LAB_EXPERIMENTS_H
#define LARDER_CLI_LAB_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <larder/lab.h>

struct lab_run_options {
    const char *device;   /* a spec; NULL: LAB_DEVICE_DEFAULT */
    larder_policy policy; /* 0: the default */
    const char *conf;     /* NULL: none */
    bool json;            /* an object a line for each experiment, no text */
    bool steps;           /* the panel after every statement too */
    const char *snapshot; /* a file to write the last state to; NULL: none */
    unsigned width;       /* of the terminal */
    bool colour;
    FILE *out;
};

/* The names, a line each; with `json` an array. */
void experiments_list(FILE *out, bool json);
/* "all", and the names; NULL beyond the last. */
const char *experiments_word(size_t index);
bool experiments_known(const char *name); /* "all" too; a number or a name */
/* Runs the experiments named ("all" is each).  0: every expectation met; 1:
 * some not; 2: could not be run (told on stderr). */
int experiments_run(int count, char *const *names,
                    const struct lab_run_options *opt);

#endif
