/* complain.c - messages on the standard error. */
#include "complain.h"

#include <stdio.h>
#include <stdlib.h>

#include "snapshot/plain_text.h"

void cli_complain_list(const char *command, const char *format, va_list args)
{
    char *text;

    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    else
        plain_text(text);
    fprintf(stderr, "larder%s%s: %s\n", command == NULL ? "" : " ",
            command == NULL ? "" : command,
            text == NULL ? "out of host memory" : text);
    free(text);
}

bool cli_complain(const char *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    cli_complain_list(command, format, args);
    va_end(args);
    return false;
}
