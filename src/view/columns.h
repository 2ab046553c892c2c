/* columns.h - a device's history as columns for the page (decode.js lists
 * them). */
#ifndef LARDER_VIEW_COLUMNS_H
#define LARDER_VIEW_COLUMNS_H

#include "report/verdict.h"
#include "snapshot/lifetimes.h"
#include "view/blob.h"

/* The device's events, allocations, segments and out-of-memory events, with the
 * texts about them, as a new object.  NULL: the error has the reason, or host
 * memory ran out. */
json_t *columns_of_device(struct blob *b, const struct lifetimes *l,
                          const struct report_cure *cure,
                          struct tool_error *error);

#endif
