/* recorded_end.h - compares the state at the end of a recording with an
 * allocator's, block by block. */
#ifndef LARDER_CONVERT_RECORDED_END_H
#define LARDER_CONVERT_RECORDED_END_H

#include <larder/larder.h>

#include "convert/recorded.h"

/* Set the members of *out that begin with `end_`.  False: no host memory. */
bool recorded_end_compare(const struct lifetimes *l, larder_allocator *a,
                          struct recorded_result *out,
                          struct tool_error *error);

#endif
