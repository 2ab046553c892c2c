/* frame_kind.h - classifies frames: the program's own, an installed package's,
 * PyTorch's, the standard library's, or C++. */
#pragma once

#include "snapshot/snapshot.h"
#include "trace/arena.h"

/* From least to most informative about a program.  A package's frame and the
 * program's own are equally informative: both name the code that allocated. */
enum frame_kind {
    FRAME_PLUMBING, /* C++: unwinding, allocator, dispatch, threads */
    FRAME_STANDARD, /* Python's own library */
    FRAME_COMPILED, /* other C++ */
    FRAME_BACKWARD, /* a node of the backward pass */
    FRAME_TORCH,
    FRAME_PACKAGE,
    FRAME_OWN
};

/* A frame's file or function, for searching; "" if it is longer than any path,
 * so that no file makes the search slow. */
const char *frame_text(const struct snapshot *s, uint32_t string);

/* Between the folders of a file's path. */
static inline bool frame_separator(char c)
{
    return c == '/' || c == '\\';
}

enum frame_kind frame_kind_of(const struct snapshot *s, uint32_t frame);

/* The name of the installed package that the file belongs to, and its length.
 * NULL: none. */
const char *frame_package(const char *file, size_t *length);

/* Whether it is a cell of a notebook. *number is its execution count or, if its
 * name does not contain one, its index in the snapshot, from 1. */
bool frame_is_cell(const struct snapshot *s, uint32_t frame, unsigned *number);

/* ---- what the names in a call path say of who allocated or freed ---------- */

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
