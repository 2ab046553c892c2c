/* sim_share.c - a simulated GPU that several processes share.
 *
 * Three locks: the object's file lock orders joining and leaving.  Each slot
 * has a token that shows whether its owner is alive (base/shared_object.h).  A
 * robust mutex inside the object guards the slots. */
#include "device/sim_share.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/shared_object.h"
#include "base/witness.h"
#include "device/sim_spec.h"

enum { SHARE_SLOTS = 256 };

static const uint64_t share_magic = UINT64_C(0x6c72647273696d32);

/* Contains the layout's version: another version is another object. */
static const char share_name_format[] = "/larder-sim2-%s.%d";

/* A device that a process has open. */
struct share_slot {
    int64_t pid;    /* 0: free */
    uint64_t bytes; /* without the context */
    uint64_t context_bytes;
};

struct share_object {
    uint64_t magic; /* set last, when the object is complete */
    uint64_t capacity_bytes;
    pthread_mutex_t lock;
    struct share_slot slots[SHARE_SLOTS];
};

struct sim_share {
    struct shared_object shared;
    struct share_object *object; /* the shared object */
    struct share_slot *self;
    pid_t pid;
};

/* ---- slots; the lock is held ---------------------------------------------- */

static void share_lock(struct share_object *o)
{
    if (mutex_take(&o->lock, RANK_DEVICE_SHARE) == EOWNERDEAD)
        pthread_mutex_consistent(&o->lock);
}

static void share_unlock(struct share_object *o)
{
    mutex_leave(&o->lock);
}

static uint64_t share_used(const struct share_object *o)
{
    uint64_t bytes = 0;

    for (int i = 0; i < SHARE_SLOTS; i++)
        bytes += o->slots[i].bytes + o->slots[i].context_bytes;
    return bytes;
}

static void share_sweep(const struct sim_share *share)
{
    for (int i = 0; i < SHARE_SLOTS; i++) {
        struct share_slot *s = &share->object->slots[i];

        if (s->pid != 0 && s != share->self &&
            !larder__token_is_held(&share->shared, (size_t)i))
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

static bool share_has_room(const struct sim_share *share, uint64_t bytes)
{
    const struct share_object *o = share->object;

    if (bytes > o->capacity_bytes)
        return false;
    if (share_used(o) <= o->capacity_bytes - bytes)
        return true;
    share_sweep(share);
    return share_used(o) <= o->capacity_bytes - bytes;
}

/* Take a free slot for this device.  NULL: all are taken. */
static struct share_slot *slot_take(const struct sim_share *share)
{
    for (size_t i = 0; i < SHARE_SLOTS; i++) {
        struct share_slot *s = &share->object->slots[i];

        /* A device that is closing may still hold the token. */
        if (s->pid == 0 && larder__token_take(&share->shared, i)) {
            *s = (struct share_slot){.pid = share->pid};
            return s;
        }
    }
    return NULL;
}

/* The next slot of this process after s, or its first.  NULL: none. */
static struct share_slot *slot_of_process(const struct sim_share *share,
                                          struct share_slot *s)
{
    struct share_slot *slots = share->object->slots;

    for (s = s == NULL ? slots : s + 1; s < slots + SHARE_SLOTS; s++) {
        if (s->pid == share->pid)
            return s;
    }
    return NULL;
}

/* The size of the process's context, whichever slot it is counted in. */
static uint64_t context_of_process(const struct sim_share *share)
{
    uint64_t bytes = 0;

    for (const struct share_slot *s = slot_of_process(share, NULL); s != NULL;
         s = slot_of_process(share, (struct share_slot *)s))
        bytes += s->context_bytes;
    return bytes;
}

/* The context lasts as long as the process has a device open.  It is added to
 * the other slot before it is removed from this one: if the process dies in
 * between, both are swept. */
static void slot_leave(struct sim_share *share)
{
    struct share_slot *s = share->self;
    struct share_slot *heir = slot_of_process(share, NULL);

    if (heir == s)
        heir = slot_of_process(share, s);
    if (heir != NULL && s->context_bytes != 0)
        heir->context_bytes = s->context_bytes;
    *s = (struct share_slot){0};
    larder__token_leave(&share->shared, (size_t)(s - share->object->slots));
    share->self = NULL;
}

/* ---- joining; the file lock is held ------------------------------------- */

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

/* If only dead processes are left, take the object over. */
static larder_result object_join(struct sim_share *share,
                                 uint64_t capacity_bytes)
{
    struct share_object *o = share->object;
    larder_result r = LARDER_OK;

    share_lock(o);
    share_sweep(share);
    if (share_is_empty(o))
        o->capacity_bytes = capacity_bytes;
    if (o->capacity_bytes != capacity_bytes)
        r = larder__fail(LARDER_ERR_INVALID,
                         "shared device '%s' is in use with %" PRIu64
                         " bytes: it cannot be opened with %" PRIu64,
                         share->shared.name, o->capacity_bytes, capacity_bytes);
    else if ((share->self = slot_take(share)) == NULL)
        r = larder__fail(LARDER_ERR_BUSY,
                         "shared device '%s' is open %d times, which is the "
                         "most it can be",
                         share->shared.name, SHARE_SLOTS);
    share_unlock(o);
    return r;
}

static void share_free(struct sim_share *share)
{
    larder__shared_close(&share->shared);
    larder__host_free(share);
}

static larder_result share_join(struct sim_share *share,
                                uint64_t capacity_bytes)
{
    larder_result r = larder__shared_join(&share->shared);

    if (r != LARDER_OK)
        return r;
    share->object = share->shared.memory;
    if (share->object->magic == 0)
        r = object_init(share->object, capacity_bytes);
    if (r == LARDER_OK)
        r = object_join(share, capacity_bytes);
    larder__shared_unlock(&share->shared);
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
    share->pid = getpid();
    share->shared = (struct shared_object){
        .bytes = sizeof *share->object,
        .magic = share_magic,
        .kind = "a device",
        .advice = "remove it, or use another name",
        .file = {.fd = -1},
    };
    snprintf(share->shared.name, sizeof share->shared.name, share_name_format,
             name, ordinal);
    r = share_join(share, capacity_bytes);
    if (r != LARDER_OK) {
        share_free(share);
        return r;
    }
    *out = share;
    return LARDER_OK;
}

/* The slot is freed even without the file lock; then the object stays for the
 * next process. */
void larder__sim_share_close(struct sim_share *share)
{
    struct share_object *o = share->object;
    bool has_file_lock = larder__shared_lock(&share->shared);

    share_lock(o);
    slot_leave(share);
    share_sweep(share);
    if (has_file_lock && share_is_empty(o))
        larder__shared_remove(&share->shared);
    share_unlock(o);
    if (has_file_lock)
        larder__shared_unlock(&share->shared);
    share_free(share);
}

bool larder__sim_share_take(struct sim_share *share, uint64_t bytes)
{
    bool fits;

    share_lock(share->object);
    fits = share_has_room(share, bytes);
    if (fits)
        share->self->bytes += bytes;
    share_unlock(share->object);
    return fits;
}

void larder__sim_share_release(struct sim_share *share, uint64_t bytes)
{
    share_lock(share->object);
    share->self->bytes -= bytes;
    share_unlock(share->object);
}

/* A program that this process ran before exec may have left a slot. */
bool larder__sim_share_take_context(struct sim_share *share, uint64_t bytes)
{
    bool is_taken;
    bool fits;

    share_lock(share->object);
    share_sweep(share);
    is_taken = context_of_process(share) != 0;
    fits = is_taken || share_has_room(share, bytes);
    if (fits && !is_taken)
        share->self->context_bytes = bytes;
    share_unlock(share->object);
    return fits;
}

struct sim_share_use larder__sim_share_use(struct sim_share *share)
{
    struct sim_share_use use = {0};

    share_lock(share->object);
    share_sweep(share);
    use.all_bytes = share_used(share->object);
    use.context_bytes = context_of_process(share);
    use.self_bytes = use.context_bytes;
    for (struct share_slot *s = slot_of_process(share, NULL); s != NULL;
         s = slot_of_process(share, s))
        use.self_bytes += s->bytes;
    share_unlock(share->object);
    return use;
}

/* Add the slot's bytes to its process, in the list of `count` processes. */
static int process_add(larder_device_process *found, int count,
                       const struct share_slot *s, bool is_self)
{
    int i = 0;

    while (i < count && found[i].pid != s->pid)
        i++;
    if (i == count)
        found[count++] =
            (larder_device_process){.pid = s->pid, .is_self = is_self};
    found[i].bytes += s->bytes + s->context_bytes;
    return count;
}

larder_result larder__sim_share_each(struct sim_share *share,
                                     larder_process_fn *fn, void *ctx)
{
    larder_device_process found[SHARE_SLOTS];
    int count = 0;

    share_lock(share->object);
    share_sweep(share);
    for (int i = 0; i < SHARE_SLOTS; i++) {
        const struct share_slot *s = &share->object->slots[i];

        if (s->pid != 0 && s->bytes + s->context_bytes != 0)
            count = process_add(found, count, s, s->pid == share->pid);
    }
    share_unlock(share->object);
    for (int i = 0; i < count; i++)
        fn(ctx, &found[i]);
    return LARDER_OK;
}
