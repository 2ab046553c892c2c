/* lab_python.h - runs listings in Python: by python3, with the lab in place of
 * torch. */
#ifndef LARDER_CLI_LAB_LAB_PYTHON_H
#define LARDER_CLI_LAB_LAB_PYTHON_H

#include <stdbool.h>

struct lab_listing {
    const char *device; /* these NULL: not given */
    const char *policy;
    const char *conf;
    const char *snapshot;
    bool each_statement;
    bool each_step;
    bool json;
    bool colour;
    bool ascii;     /* the locale is not UTF-8 */
    unsigned width; /* 0: no terminal */
    char **words;   /* the file, and its arguments */
    int count;
};

/* Executes python3 in place of this process.  Returns an exit status only on
 * failure, after a message on the standard error. */
int lab_python_run(const struct lab_listing *listing);

#endif
