/* frame_kind.h - whose a frame is: the program's own, an installed package's,
 * PyTorch's, the standard library's, or of C++. */
#ifndef LARDER_REPORT_FRAME_KIND_H
#define LARDER_REPORT_FRAME_KIND_H

#include "snapshot/snapshot.h"

/* From what says least about a program to what says most.  A package's frame
 * and one of the program's own say the same: which code asked. */
enum frame_kind {
    FRAME_PLUMBING, /* C++: unwinding, the allocator, dispatch, threads */
    FRAME_STANDARD, /* Python's own library */
    FRAME_COMPILED, /* C++ else */
    FRAME_BACKWARD, /* a node of the backward pass */
    FRAME_TORCH,
    FRAME_PACKAGE,
    FRAME_OWN
};

/* A frame's file or function, to be searched for words; "" if it is longer
 * than any path can be, so that no file makes that take long. */
const char *frame_text(const struct snapshot *s, uint32_t string);

enum frame_kind frame_kind_of(const struct snapshot *s, uint32_t frame);

/* The name of an installed package that the file belongs to, and its length;
 * NULL: it belongs to none. */
const char *frame_package(const char *file, size_t *length);

/* Whether it is a cell of a notebook; *number is the one it was run as, or,
 * where its name does not say, which of the snapshot's it is, from 1. */
bool frame_is_cell(const struct snapshot *s, uint32_t frame, unsigned *number);

#endif
