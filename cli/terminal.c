/* terminal.c - properties of the terminal behind a stream. */
#include "terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_smart(FILE *f)
{
    const char *term = getenv("TERM");

    return isatty(fileno(f)) && term != NULL && strcmp(term, "") != 0 &&
           strcmp(term, "dumb") != 0;
}

bool terminal_has_colour(FILE *f)
{
    const char *no = getenv("NO_COLOR");

    return terminal_is_smart(f) && (no == NULL || *no == '\0');
}

bool terminal_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int terminal_width(FILE *f)
{
    struct winsize size = {0}; /* not every system fills it in */

    if (!isatty(fileno(f)))
        return 0;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}
