/* call_tree.h - who called whom for what is held: call paths from the outside
 * in, without the frames of C++, PyTorch and Python's own library. */
#ifndef LARDER_REPORT_CALL_TREE_H
#define LARDER_REPORT_CALL_TREE_H

#include <stdio.h>

#include "report/groups.h"

/* Node 0 is the root, of all there is. */
struct call_node {
    uint32_t frame; /* UINT32_MAX: no call path; of the root: nothing */
    uint32_t child; /* the largest; 0: none */
    uint32_t next;  /* beside it, by bytes; 0: none */
    uint64_t bytes;
    uint64_t count;
};

struct call_tree {
    struct call_node *nodes;
    size_t count;
    size_t capacity;
};

/* Of groups by call path (GROUP_BY_PATH).  False: no host memory. */
bool call_tree_make(const struct snapshot *s, const struct report_group *paths,
                    size_t count, struct call_tree *out,
                    struct tool_error *error);
void call_tree_free(struct call_tree *t);

/* The tree as indented lines: at most `most` calls of each, those below a
 * hundredth of all left out.  A call that makes but one other is not indented
 * further. */
void call_tree_write(const struct call_tree *t, const struct snapshot *s,
                     size_t most, bool whole, FILE *out);

#endif
