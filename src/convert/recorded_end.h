/* recorded_end.h - the state at the end of a recording against an allocator's,
 * block by block. */
#ifndef LARDER_CONVERT_RECORDED_END_H
#define LARDER_CONVERT_RECORDED_END_H

#include <larder/larder.h>

#include "convert/recorded.h"

/* Sets the members of *out that begin with `end_`.  False: no host memory. */
bool recorded_end_compare(const struct lifetimes *l, larder_allocator *a,
                          struct recorded_result *out,
                          struct tool_error *error);

#endif
