/* shared_object.c - an object in shared memory that processes join and
 * leave. */
#include "base/shared_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"

/* How long a group's object may take until its creator gives it to the
 * group. */
enum { MAKING_LOOKS = 50, MAKING_NAP_NS = 1000000 };

/* ---- error messages ------------------------------------------------------- */

static larder_result shared_object_refused(const struct shared_object *o,
                                           const char *what)
{
    return larder__fail(LARDER_ERR_SYSTEM,
                        "%s the shared memory object '%s' failed: %s", what,
                        o->name, strerror(errno));
}

static larder_result untrusted(const struct shared_object *o, const char *what,
                               const char *whose)
{
    return larder__fail(LARDER_ERR_SYSTEM,
                        "the shared memory object '%s' %s%s: %s", o->name, what,
                        whose, o->advice);
}

/* ---- locks ---------------------------------------------------------------- */

static struct flock token_of(size_t number, short type)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)number,
        .l_len = 1,
    };
}

bool larder__token_take(const struct shared_object *o, size_t number)
{
    struct flock token = token_of(number, F_WRLCK);

    return fcntl(o->file.fd, F_OFD_SETLK, &token) == 0;
}

void larder__token_leave(const struct shared_object *o, size_t number)
{
    struct flock token = token_of(number, F_UNLCK);

    (void)fcntl(o->file.fd, F_OFD_SETLK, &token);
}

bool larder__token_is_held(const struct shared_object *o, size_t number)
{
    struct flock token = token_of(number, F_WRLCK);

    return fcntl(o->file.fd, F_OFD_GETLK, &token) != 0 ||
           token.l_type != F_UNLCK;
}

bool larder__shared_lock(struct shared_object *o)
{
    int failed;

    do
        failed = flock(o->file.fd, LOCK_EX);
    while (failed != 0 && errno == EINTR);
    return failed == 0;
}

/* Closing is not enough while a child has a copy of the descriptor. */
void larder__shared_unlock(struct shared_object *o)
{
    flock(o->file.fd, LOCK_UN);
}

/* ---- opening -------------------------------------------------------------- */

/* First without O_CREAT: a system may forbid it for files of other users in a
 * folder that all can write to. */
static int open_or_make(const struct shared_object *o, bool *is_made)
{
    int fd = -1;

    *is_made = false;
    for (int i = 0; i < MAKING_LOOKS; i++) {
        fd = shm_open(o->name, O_RDWR | O_CLOEXEC, 0);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = shm_open(o->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
        *is_made = fd >= 0;
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return fd;
}

static bool open_to_group(const struct shared_object *o, int fd)
{
    return fchown(fd, (uid_t)-1, o->group) == 0 &&
           fchmod(fd, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) == 0;
}

/* Give our own object to the group if its creator died before doing so. */
static bool finish_for_group(const struct shared_object *o, int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    if (st.st_size != 0 || st.st_uid != geteuid() ||
        (st.st_mode & S_IRWXG) != 0)
        return true;
    return open_to_group(o, fd);
}

static int open_for_group(const struct shared_object *o)
{
    const struct timespec nap = {.tv_nsec = MAKING_NAP_NS};
    bool is_made;
    int fd = open_or_make(o, &is_made);

    for (int i = 0; fd < 0 && errno == EACCES && i < MAKING_LOOKS; i++) {
        nanosleep(&nap, NULL);
        fd = open_or_make(o, &is_made);
    }
    if (fd >= 0 && !finish_for_group(o, fd)) {
        int error = errno;

        if (is_made)
            shm_unlink(o->name);
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Whether only permitted users can have created the object.  Its locks are not
 * waited for before this is known: others could hold them. */
static larder_result check_owner(const struct shared_object *o)
{
    struct stat st;

    if (fstat(o->file.fd, &st) != 0)
        return shared_object_refused(o, "asking about");
    if (!S_ISREG(st.st_mode))
        return untrusted(o, "is no regular file", "");
    if (o->is_of_group) {
        if (st.st_gid != o->group)
            return untrusted(o, "belongs to another ", "group");
        if ((st.st_mode & S_IRWXO) != 0)
            return untrusted(o, "is open to other users", "");
        return LARDER_OK;
    }
    if (st.st_uid != geteuid())
        return untrusted(o, "belongs to another ", "user");
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return untrusted(o, "is open to other users", "");
    return LARDER_OK;
}

/* False: errno says why. */
static bool open_and_keep(struct shared_object *o)
{
    bool is_made;
    int fd;

    larder__forks_bar();
    fd = o->is_of_group ? open_for_group(o) : open_or_make(o, &is_made);
    if (fd >= 0)
        larder__own_fd_keep(&o->file, fd);
    larder__forks_allow();
    return fd >= 0;
}

/* Open the object and take its file lock. */
static larder_result open_locked(struct shared_object *o)
{
    for (;;) {
        larder_result r;
        struct stat st;

        if (!open_and_keep(o))
            return shared_object_refused(o, "opening");
        r = check_owner(o);
        if (r != LARDER_OK)
            return r;
        if (!larder__shared_lock(o) || fstat(o->file.fd, &st) != 0)
            return shared_object_refused(o, "locking");
        if (st.st_nlink > 0)
            return LARDER_OK;
        larder__own_fd_close(&o->file); /* removed while waiting */
    }
}

/* ---- mapping -------------------------------------------------------------- */

/* Reserve all memory of the object before its size is set, so that touching it
 * cannot fail later. */
static bool reserve(const struct shared_object *o)
{
    int failed;

    do
        failed = fallocate(o->file.fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)o->bytes);
    while (failed != 0 && errno == EINTR);
    return failed == 0 && ftruncate(o->file.fd, (off_t)o->bytes) == 0;
}

/* A mapping refers to the file too, so a child's copy would keep the tokens. */
static void *map_for_us(const struct shared_object *o)
{
    void *p;

    larder__forks_bar();
    p = mmap(NULL, o->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, o->file.fd, 0);
    if (p != MAP_FAILED)
        madvise(p, o->bytes, MADV_DONTFORK);
    larder__forks_allow();
    return p;
}

static larder_result map(struct shared_object *o)
{
    struct stat st;
    uint64_t magic;
    void *p;

    if (fstat(o->file.fd, &st) != 0)
        return shared_object_refused(o, "asking about");
    if (st.st_size == 0 && !reserve(o)) {
        larder_result r = shared_object_refused(o, "making");

        shm_unlink(o->name);
        return r;
    }
    if (st.st_size != 0 && (size_t)st.st_size != o->bytes)
        return untrusted(o, "has another size than that of ", o->kind);
    p = map_for_us(o);
    if (p == MAP_FAILED)
        return shared_object_refused(o, "mapping");
    o->memory = p;
    magic =
        atomic_load_explicit((const _Atomic uint64_t *)p, memory_order_acquire);
    return magic == 0 || magic == o->magic
               ? LARDER_OK
               : untrusted(o, "does not contain ", o->kind);
}

larder_result larder__shared_join(struct shared_object *o)
{
    larder_result r;

    o->file.fd = -1;
    if (!larder__process_watch())
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = open_locked(o);
    if (r != LARDER_OK)
        return r;
    r = map(o);
    if (r != LARDER_OK)
        larder__shared_unlock(o);
    return r;
}

void larder__shared_remove(struct shared_object *o)
{
    shm_unlink(o->name);
}

void larder__shared_close(struct shared_object *o)
{
    if (o->memory != NULL)
        munmap(o->memory, o->bytes);
    o->memory = NULL;
    larder__own_fd_close(&o->file);
}
