/* experiments.h - the built-in experiments of `larder lab`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <larder/lab.h>

struct lab_run_options {
    const char *device;   /* a spec; NULL: LAB_DEVICE_DEFAULT */
    larder_policy policy; /* 0: the default */
    const char *conf;     /* NULL: none */
    bool json;            /* one JSON line for each experiment, no text */
    bool steps;           /* also the panel after every statement */
    const char *snapshot; /* a file to write the last state to; NULL: none */
    unsigned width;       /* of the terminal */
    bool colour;
    FILE *out;
};

/* List the names, one on a line; with `json` as an array. */
void experiments_list(FILE *out, bool json);
/* "all" and the names; NULL after the last. */
const char *experiments_word(size_t index);
/* How many there are of a name, of a number, or of "all"; 0: none. */
int experiments_count(const char *name);
/* Run the named experiments ("all": each).  0: every expectation was met; 1:
 * some were not; 2: could not run, which is reported on stderr. */
int experiments_run(int count, char *const *names,
                    const struct lab_run_options *opt);
