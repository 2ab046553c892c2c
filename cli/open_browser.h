/* open_browser.h - shows a file in the user's browser. */
#pragma once

#include <stdbool.h>

/* Start the command in BROWSER, or the desktop's default, with the file's path
 * as its argument, without waiting for it.  False: none could be started. */
bool open_browser(const char *path);
