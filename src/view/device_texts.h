/* device_texts.h - what the page says of a device in words, and the names of
 * its streams and categories. */
#ifndef LARDER_VIEW_DEVICE_TEXTS_H
#define LARDER_VIEW_DEVICE_TEXTS_H

#include <jansson.h>

#include "report/summary_of_run.h"

/* Adds `ooms`, `findings`, `marks`, `streams`, `categories` and `note` to the
 * object `device`.  False: no host memory. */
bool device_texts_add(json_t *device, const struct lifetimes *l,
                      const struct run_summary *r, struct tool_error *error);

#endif
