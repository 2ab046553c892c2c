/* made_frames.h - call stacks of a made-up program, as lists of frames in
 * JSON. */
#pragma once

#include <jansson.h>

/* What the program is doing. */
enum made_role {
    MADE_SETUP,
    MADE_DATA,
    MADE_FORWARD,
    MADE_ATTENTION,
    MADE_LOSS,
    MADE_BACKWARD,
    MADE_OPTIMIZER,
    MADE_ZERO_GRAD,
    MADE_LOG,
    MADE_ROLES
};

/* How stacks were recorded. */
enum made_unwinding {
    MADE_NO_FRAMES,
    MADE_PYTHON,
    MADE_BOTH, /* Python's, and C++'s between them */
    MADE_CPP,
    MADE_NOTEBOOK,
    MADE_UNWINDINGS
};

/* The stack of a role, innermost frame first; `layer` makes it one of several.
 * `library`: a package's code calls PyTorch, and not the program's own.  A new
 * reference; an empty list without frames. */
json_t *made_frames(enum made_unwinding unwinding, enum made_role role,
                    unsigned layer, unsigned library);
