/* process.h - identifies this process across forks, and closes descriptors in
 * forked children.  Private to the library.
 *
 * A forked child has copies of all its parent's objects, with locks that nobody
 * releases and descriptors that belong to the parent.  So an object stores the
 * number of its process when it is created, and its functions compare it
 * first. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/* The number of forks between the first process that watched for them and this
 * one. */
extern atomic_uint larder__process_forks;

/* Notice forks from now on.  False: no host memory.  Any thread. */
bool larder__process_watch(void);

/* Different from the number of every ancestor of this process. */
static inline unsigned process_number(void)
{
    return atomic_load_explicit(&larder__process_forks, memory_order_relaxed);
}

/* Between these two no thread forks: in between, what a forked child must not
 * have is opened and kept, or mapped and marked MADV_DONTFORK.  The thread takes
 * no other lock meanwhile. */
void larder__forks_bar(void);
void larder__forks_allow(void);

/* A descriptor that is closed in forked children, because a copy would keep
 * alive what must end with this process.  It must not move while it is open. */
struct own_fd {
    int fd; /* -1: none */
    struct own_fd *next;
    struct own_fd **link; /* the pointer to this one */
};

/* While forks are barred, since before it was opened. */
void larder__own_fd_keep(struct own_fd *own, int fd);
/* Close it; a no-op if none is open. */
void larder__own_fd_close(struct own_fd *own);
