/* ready_queue.h - the node that backward runs next: of those that have all
 * their gradients the one recorded last, with leaves before all others.
 *
 * It is a binary heap that moves its entries exactly as GCC's
 * std::priority_queue does, so that of two equal entries (two leaves) the one
 * comes first that PyTorch runs first. */
#pragma once

#include "autograd/node.h"

struct lab__ready_queue {
    struct lab__node **at; /* room for every node of the traversal */
    size_t count;
};

void lab__ready_push(struct lab__ready_queue *queue, struct lab__node *node);
/* NULL: the queue is empty. */
struct lab__node *lab__ready_pop(struct lab__ready_queue *queue);
