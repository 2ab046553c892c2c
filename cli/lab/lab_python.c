/* lab_python.c - runs the lab's Python modules. */
#include "lab_python.h"

#include <stdio.h>

#include "python_program.h"
#include "terminal.h"

int lab_python_run(const char *command, const char *module, FILE *panel,
                   char *const *words)
{
    unsigned columns = (unsigned)terminal_width(panel);
    char width[16];
    char *own[5] = {NULL};
    int count = 0;

    if (columns > 0) {
        snprintf(width, sizeof width, "%u", columns);
        own[count++] = (char *)"--width";
        own[count++] = width;
    }
    if (terminal_has_colour(panel))
        own[count++] = (char *)"--colour";
    if (!terminal_is_utf8())
        own[count++] = (char *)"--ascii";
    return cli_python_run(command, module, own, words);
}
