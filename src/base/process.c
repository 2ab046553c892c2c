/* process.c - identifies this process across forks, and closes descriptors in
 * forked children. */
#include "base/process.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "base/witness.h"

atomic_uint larder__process_forks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct own_fd *list;

/* ---- forks ---------------------------------------------------------------- */

/* The objects that contain these descriptors belong to the parent: their state
 * is unknown here. */
static void process_in_child(void)
{
    for (struct own_fd *own = list; own != NULL; own = own->next)
        close(own->fd);
    list = NULL;
    atomic_fetch_add_explicit(&larder__process_forks, 1, memory_order_relaxed);
    mutex_leave(&lock);
}

void larder__forks_bar(void)
{
    mutex_take(&lock, RANK_DESCRIPTORS);
}

void larder__forks_allow(void)
{
    mutex_leave(&lock);
}

static bool is_watched;

static void watch(void)
{
    is_watched = pthread_atfork(larder__forks_bar, larder__forks_allow,
                                process_in_child) == 0;
}

bool larder__process_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    return pthread_once(&once, watch) == 0 && is_watched;
}

/* ---- descriptors ---------------------------------------------------------- */

void larder__own_fd_keep(struct own_fd *own, int fd)
{
    larder__assert(larder__witness_holds(&lock));
    *own = (struct own_fd){.fd = fd, .next = list, .link = &list};
    if (list != NULL)
        list->link = &own->next;
    list = own;
}

void larder__own_fd_close(struct own_fd *own)
{
    if (own->fd < 0)
        return;
    mutex_take(&lock, RANK_DESCRIPTORS);
    *own->link = own->next;
    if (own->next != NULL)
        own->next->link = own->link;
    close(own->fd);
    mutex_leave(&lock);
    *own = (struct own_fd){.fd = -1};
}
