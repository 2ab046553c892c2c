/* process.h - which process this is, and descriptors that a forked child must
 * not have.  Private to the library.
 *
 * A child of a fork has copies of all objects of its parent, with locks that
 * nobody leaves and descriptors of what is the parent's.  So an object notes
 * the number of its process when it is made, and its entries compare it before
 * anything else. */
#ifndef LARDER_BASE_PROCESS_H
#define LARDER_BASE_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Forks from the first process on that watched for them to this one. */
extern atomic_uint larder__process_forks;

/* From now on a fork is noticed.  False: no host memory.  Any thread. */
bool larder__process_watch(void);

/* No other than that of each process this one descends from. */
static inline unsigned process_number(void)
{
    return atomic_load_explicit(&larder__process_forks, memory_order_relaxed);
}

/* A descriptor that is closed in a child as it is forked: a copy would keep
 * alive what is to end with this process.  Stays in its place while it is
 * open. */
struct own_fd {
    int fd; /* -1: none */
    struct own_fd *next;
    struct own_fd **link; /* what points at it */
};

void larder__own_fd_keep(struct own_fd *own, int fd);
/* Close it.  With none, a no-op. */
void larder__own_fd_close(struct own_fd *own);

#endif
