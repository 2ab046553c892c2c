/* call_tree.h - the callers of held memory as a tree: call stacks from the
 * outermost frame inwards, without frames of C++, PyTorch and Python's own
 * library. */
#pragma once

#include <stdio.h>

#include "report/groups.h"

/* Node 0 is the root, which stands for everything. */
struct call_node {
    uint32_t frame; /* UINT32_MAX: no call path; unused in the root */
    uint32_t child; /* largest child; 0: none */
    uint32_t next;  /* next sibling, by bytes; 0: none */
    uint64_t bytes;
    uint64_t count;
    uint64_t older; /* of these, older than the recording */
};

struct call_tree {
    struct arena *arena;
    struct call_node *nodes;
    size_t count;
    size_t capacity;
};

/* Make the tree of groups by call path (GROUP_BY_PATH). */
void call_tree_make(struct arena *arena, const struct snapshot *s,
                    const struct report_groups *paths, struct call_tree *out);

/* Write the tree as indented lines: at most `max` children of each node,
 * without those below a hundredth of the total.  A single child is not indented
 * further. */
void call_tree_write(const struct call_tree *t, const struct snapshot *s,
                     size_t max, bool whole, FILE *out);
