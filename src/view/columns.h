/* columns.h - a device's history as columns for the page (decode.js lists
 * them). */
#pragma once

#include "report/verdict.h"
#include "snapshot/lifetimes.h"
#include "view/blob.h"

/* Add to the list the device's events, allocations, segments and out-of-memory
 * events, with the texts about them. */
void columns_of_device(struct blob *b, json_t *devices,
                       const struct run_summary *r,
                       const struct report_cure *cure);
