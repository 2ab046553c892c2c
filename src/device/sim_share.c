/* Two locks.  A file lock on the object orders joining and leaving: nobody
 * sees the object half made, or joins one that is being removed.  A robust
 * mutex inside it guards the slots.  The system releases both for the dead. */
#include "device/sim_share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/host.h"
#include "device/sim_process.h"
#include "device/sim_spec.h"

enum { SHARE_SLOTS = 256 };

static const uint64_t share_magic = UINT64_C(0x6c72647273696d31);

/* With the layout's version in it: another one is another object. */
static const char share_name_format[] = "/larder-sim1-%s.%d";

struct share_slot {
    int64_t pid; /* 0: free */
    uint64_t start;
    uint64_t devices; /* that the process has open on this */
    uint64_t bytes;   /* without the context */
    uint64_t context_bytes;
};

struct share_object {
    uint64_t magic; /* set last, when the rest is there */
    uint64_t capacity_bytes;
    pthread_mutex_t lock;
    struct share_slot slots[SHARE_SLOTS];
};

struct sim_share {
    struct share_object *object;
    struct share_slot *self;
    pid_t pid;
    int fd;
    char name[SIM_SHARED_MAX + 32];
};

/* ---- slots; the lock is held -------------------------------------------- */

static void share_lock(struct share_object *o)
{
    if (pthread_mutex_lock(&o->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&o->lock);
}

static void share_unlock(struct share_object *o)
{
    pthread_mutex_unlock(&o->lock);
}

static uint64_t share_used(const struct share_object *o)
{
    uint64_t bytes = 0;

    for (int i = 0; i < SHARE_SLOTS; i++)
        bytes += o->slots[i].bytes + o->slots[i].context_bytes;
    return bytes;
}

static void share_sweep(struct share_object *o)
{
    for (int i = 0; i < SHARE_SLOTS; i++) {
        struct share_slot *s = &o->slots[i];

        if (s->pid != 0 && !larder__sim_process_lives((pid_t)s->pid, s->start))
            *s = (struct share_slot){0};
    }
}

static bool share_is_empty(const struct share_object *o)
{
    for (int i = 0; i < SHARE_SLOTS; i++) {
        if (o->slots[i].pid != 0)
            return false;
    }
    return true;
}

static bool share_has_room(struct share_object *o, uint64_t bytes)
{
    if (bytes > o->capacity_bytes)
        return false;
    if (share_used(o) <= o->capacity_bytes - bytes)
        return true;
    share_sweep(o);
    return share_used(o) <= o->capacity_bytes - bytes;
}

/* This process's slot, or a free one made its own; NULL: all are taken. */
static struct share_slot *share_slot_of(struct share_object *o, pid_t pid)
{
    struct share_slot *unused = NULL;

    for (int i = 0; i < SHARE_SLOTS; i++) {
        if (o->slots[i].pid == pid)
            return &o->slots[i];
        if (o->slots[i].pid == 0 && unused == NULL)
            unused = &o->slots[i];
    }
    if (unused != NULL)
        *unused = (struct share_slot){
            .pid = pid,
            .start = larder__sim_process_start(pid),
        };
    return unused;
}

/* ---- joining; the file lock is held ------------------------------------- */

static larder_result share_refused(const struct sim_share *share,
                                   const char *what)
{
    return larder__fail(LARDER_ERR_SYSTEM,
                        "%s the shared memory object '%s' failed: %s", what,
                        share->name, strerror(errno));
}

static larder_result object_init(struct share_object *o,
                                 uint64_t capacity_bytes)
{
    pthread_mutexattr_t attr;
    int error = pthread_mutexattr_init(&attr);

    if (error != 0)
        return larder__fail_plain(LARDER_ERR_SYSTEM);
    memset(o, 0, sizeof *o);
    error |= pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    error |= pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    error |= pthread_mutex_init(&o->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    if (error != 0)
        return larder__fail_plain(LARDER_ERR_SYSTEM);
    o->capacity_bytes = capacity_bytes;
    o->magic = share_magic;
    return LARDER_OK;
}

/* What the dead left behind is taken over, if only the dead are left. */
static larder_result object_join(struct sim_share *share,
                                 uint64_t capacity_bytes)
{
    struct share_object *o = share->object;
    larder_result r = LARDER_OK;

    share_lock(o);
    share_sweep(o);
    if (share_is_empty(o))
        o->capacity_bytes = capacity_bytes;
    if (o->capacity_bytes != capacity_bytes)
        r = larder__fail(LARDER_ERR_INVALID,
                         "shared device '%s' is in use with %" PRIu64
                         " bytes: it cannot be opened with %" PRIu64,
                         share->name, o->capacity_bytes, capacity_bytes);
    else if ((share->self = share_slot_of(o, share->pid)) == NULL)
        r = larder__fail(LARDER_ERR_BUSY,
                         "shared device '%s' is in use by %d processes, "
                         "which is the most it can be",
                         share->name, SHARE_SLOTS);
    else
        share->self->devices++;
    share_unlock(o);
    return r;
}

static larder_result object_map(struct sim_share *share)
{
    struct stat st;
    void *p;

    if (fstat(share->fd, &st) != 0 ||
        (st.st_size == 0 && ftruncate(share->fd, sizeof *share->object) != 0))
        return share_refused(share, "sizing");
    p = mmap(NULL, sizeof *share->object, PROT_READ | PROT_WRITE, MAP_SHARED,
             share->fd, 0);
    if (p == MAP_FAILED)
        return share_refused(share, "mapping");
    share->object = p;
    return LARDER_OK;
}

/* Open the object and take its file lock. */
static larder_result file_lock(struct sim_share *share)
{
    for (;;) {
        struct stat st;

        share->fd = shm_open(share->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (share->fd < 0)
            return share_refused(share, "opening");
        if (flock(share->fd, LOCK_EX) != 0 || fstat(share->fd, &st) != 0)
            return share_refused(share, "locking");
        if (st.st_nlink > 0)
            return LARDER_OK;
        close(share->fd); /* removed while we waited: begin again */
        share->fd = -1;
    }
}

/* Closing would not do it while a child has a copy of the descriptor. */
static void file_unlock(struct sim_share *share)
{
    flock(share->fd, LOCK_UN);
}

static void share_free(struct sim_share *share)
{
    if (share->object != NULL)
        munmap(share->object, sizeof *share->object);
    if (share->fd >= 0)
        close(share->fd);
    larder__host_free(share);
}

static larder_result share_join(struct sim_share *share,
                                uint64_t capacity_bytes)
{
    larder_result r = file_lock(share);

    if (r != LARDER_OK)
        return r;
    r = object_map(share);
    if (r == LARDER_OK && share->object->magic != share_magic)
        r = object_init(share->object, capacity_bytes);
    if (r == LARDER_OK)
        r = object_join(share, capacity_bytes);
    file_unlock(share);
    return r;
}

/* ---- for the simulated GPU ---------------------------------------------- */

larder_result larder__sim_share_open(const char *name, int ordinal,
                                     uint64_t capacity_bytes,
                                     struct sim_share **out)
{
    struct sim_share *share = larder__host_alloc(1, sizeof *share);
    larder_result r;

    if (share == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    share->fd = -1;
    share->pid = getpid();
    snprintf(share->name, sizeof share->name, share_name_format, name, ordinal);
    r = share_join(share, capacity_bytes);
    if (r != LARDER_OK) {
        share_free(share);
        return r;
    }
    *out = share;
    return LARDER_OK;
}

/* A child that inherited the device has no part in its parent's slot. */
static void share_leave(struct sim_share *share, uint64_t held_bytes)
{
    struct share_object *o = share->object;

    flock(share->fd, LOCK_EX);
    share_lock(o);
    share->self->bytes -= held_bytes;
    share->self->devices--;
    if (share->self->devices == 0)
        *share->self = (struct share_slot){0};
    share_sweep(o);
    if (share_is_empty(o))
        shm_unlink(share->name);
    share_unlock(o);
    file_unlock(share);
}

void larder__sim_share_close(struct sim_share *share, uint64_t held_bytes)
{
    if (share->pid == getpid())
        share_leave(share, held_bytes);
    share_free(share);
}

bool larder__sim_share_take(struct sim_share *share, uint64_t bytes)
{
    bool fits;

    share_lock(share->object);
    fits = share_has_room(share->object, bytes);
    if (fits)
        share->self->bytes += bytes;
    share_unlock(share->object);
    return fits;
}

void larder__sim_share_give(struct sim_share *share, uint64_t bytes)
{
    share_lock(share->object);
    share->self->bytes -= bytes;
    share_unlock(share->object);
}

bool larder__sim_share_take_context(struct sim_share *share, uint64_t bytes)
{
    bool fits;

    share_lock(share->object);
    fits =
        share->self->context_bytes != 0 || share_has_room(share->object, bytes);
    if (fits && share->self->context_bytes == 0)
        share->self->context_bytes = bytes;
    share_unlock(share->object);
    return fits;
}

struct sim_share_use larder__sim_share_use(struct sim_share *share)
{
    struct sim_share_use use;

    share_lock(share->object);
    share_sweep(share->object);
    use.all_bytes = share_used(share->object);
    use.context_bytes = share->self->context_bytes;
    use.self_bytes = share->self->bytes + use.context_bytes;
    share_unlock(share->object);
    return use;
}

larder_result larder__sim_share_each(struct sim_share *share,
                                     larder_process_fn *fn, void *ctx)
{
    larder_device_process found[SHARE_SLOTS];
    int count = 0;

    share_lock(share->object);
    share_sweep(share->object);
    for (int i = 0; i < SHARE_SLOTS; i++) {
        const struct share_slot *s = &share->object->slots[i];
        uint64_t bytes = s->bytes + s->context_bytes;

        if (s->pid != 0 && bytes != 0)
            found[count++] = (larder_device_process){
                .pid = s->pid,
                .bytes = bytes,
                .is_self = s == share->self,
            };
    }
    share_unlock(share->object);
    for (int i = 0; i < count; i++)
        fn(ctx, &found[i]);
    return LARDER_OK;
}
