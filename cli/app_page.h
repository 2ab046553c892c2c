/* app_page.h - the page that analyses snapshots in a browser, built by `make
 * app` and installed with the data. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "trace/tool_error.h"

/* False: it does not exist, or cannot be read or written; the error has the
 * reason. */
bool app_page_write(FILE *out, struct tool_error *error);
