/* recording_scope.h - what a recording covers, for verdicts. */
#pragma once

#include "tune/tune_input.h"

/* For tune_base.look.  False: no host memory. */
bool recording_scope(const struct lifetimes *l, struct tune_scope *out,
                     struct tool_error *error);
