/* lab_python.h - the parts of `larder lab` that are Python: the prompt, and
 * listings, which are run by python3 with the lab in place of torch. */
#ifndef LARDER_CLI_LAB_LAB_PYTHON_H
#define LARDER_CLI_LAB_LAB_PYTHON_H

#include <stdbool.h>
#include <stdio.h>

struct lab_python {
    const char *command; /* for messages: "lab run" */
    const char *module;  /* what python3 runs */
    const char *device;  /* these NULL: not given */
    const char *policy;
    const char *conf;
    const char *seed;
    const char *snapshot;
    bool each_statement;
    bool each_step;
    bool json;
    FILE *panel;  /* where the panel goes: its width, whether it has colours */
    char **words; /* a listing, and its arguments */
    int count;
};

/* Executes python3 in place of this process.  Returns an exit status only on
 * failure, after a message on the standard error. */
int lab_python_run(const struct lab_python *run);

#endif
