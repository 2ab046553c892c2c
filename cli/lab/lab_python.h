/* lab_python.h - the parts of `larder lab` that are Python: the prompt, and
 * listings, which are run by python3 with the lab in place of torch. */
#ifndef LARDER_CLI_LAB_LAB_PYTHON_H
#define LARDER_CLI_LAB_LAB_PYTHON_H

#include <stdio.h>

/* Execute python3 with the module in place of this process: it reads the words of
 * the command line, ended by NULL, again.  `panel`: where the panel is shown, whose
 * width and colours it is told.  Returns an exit status only on failure, after a
 * message on the standard error as `larder COMMAND: ...`. */
int lab_python_run(const char *command, const char *module, FILE *panel,
                   char *const *words);

#endif
