/* ready_queue.h - which node backward runs next: the latest recorded of those
 * that have all their gradients, leaves before all others.
 *
 * It is a binary heap, and moves its entries as std::priority_queue of GCC's
 * library does, so that of two alike (two leaves) the one that PyTorch runs
 * first comes out first.
 */
#ifndef LAB_AUTOGRAD_READY_QUEUE_H
#define LAB_AUTOGRAD_READY_QUEUE_H

#include "autograd/node.h"

struct lab__ready_queue {
    struct lab__node **at; /* room for every node of the walk */
    size_t count;
};

void lab__ready_push(struct lab__ready_queue *queue, struct lab__node *node);
/* NULL when it is empty. */
struct lab__node *lab__ready_pop(struct lab__ready_queue *queue);

#endif
