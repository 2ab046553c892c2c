/* path_signs.h - what the names in a call path say of who allocated or freed. */
#pragma once

#include "snapshot/snapshot.h"
#include "trace/arena.h"

enum {
    BY_OPTIMIZER = 1,
    BY_BACKWARD = 2,
    BY_FORWARD = 4,
    BY_SETUP = 8,
    BY_SOMEONE = 16, /* there is a path */
    BY_ZERO_GRAD = 32
};

/* The signs in each stack; of two passes only the inner one, if `inner`. */
const uint8_t *path_signs(struct arena *arena, const struct snapshot *s,
                          bool inner);
