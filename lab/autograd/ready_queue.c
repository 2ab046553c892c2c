/* ready_queue.c - the node that backward runs next, as a heap by the time of
 * recording. */
#include "autograd/ready_queue.h"

static bool is_later(const struct lab__node *a, const struct lab__node *b)
{
    return a->sequence < b->sequence;
}

/* node belongs at the hole or above. */
static void rise(struct lab__ready_queue *queue, size_t hole,
                 struct lab__node *node)
{
    while (hole > 0) {
        size_t parent = (hole - 1) / 2;

        if (!is_later(queue->at[parent], node))
            break;
        queue->at[hole] = queue->at[parent];
        hole = parent;
    }
    queue->at[hole] = node;
}

/* Move the hole at the top to the bottom.  Returns its final position. */
static size_t sink(struct lab__ready_queue *queue)
{
    size_t hole = 0, count = queue->count;

    while (2 * hole + 2 < count) {
        size_t child = 2 * hole + 2;

        if (is_later(queue->at[child], queue->at[child - 1]))
            child--;
        queue->at[hole] = queue->at[child];
        hole = child;
    }
    if (2 * hole + 2 == count) {
        queue->at[hole] = queue->at[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    return hole;
}

void lab__ready_push(struct lab__ready_queue *queue, struct lab__node *node)
{
    rise(queue, queue->count++, node);
}

struct lab__node *lab__ready_pop(struct lab__ready_queue *queue)
{
    struct lab__node *first;

    if (queue->count == 0)
        return NULL;
    first = queue->at[0];
    if (--queue->count > 0)
        rise(queue, sink(queue), queue->at[queue->count]);
    return first;
}
