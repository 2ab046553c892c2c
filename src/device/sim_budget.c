/* sim_budget.c - the bytes of a simulated GPU, which several processes may
 * share.
 *
 * Three locks: the object's file lock orders joining and leaving.  Each slot
 * has a token that shows whether its owner is alive (base/shared_object.h).  A
 * robust mutex inside the object guards the slots. */
#include "device/sim_budget.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/shared_object.h"
#include "base/witness.h"
#include "device/sim_fail.h"

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
    struct share_slot slots[SIM_BUDGET_SLOTS];
};

struct sim_share {
    struct shared_object shared;
    struct share_object *object; /* the shared object */
    struct share_slot *self;
};

/* ---- slots; the lock is held ---------------------------------------------- */

static void share_lock(struct sim_share *share)
{
    if (mutex_take(&share->object->lock, RANK_DEVICE_SHARE) == EOWNERDEAD)
        pthread_mutex_consistent(&share->object->lock);
}

static void share_unlock(struct sim_share *share)
{
    mutex_leave(&share->object->lock);
}

static struct sim_budget_use share_use(const struct sim_share *share)
{
    struct sim_budget_use use = {0};

    for (int i = 0; i < SIM_BUDGET_SLOTS; i++) {
        const struct share_slot *s = &share->object->slots[i];
        bool is_own = share->self != NULL && s->pid == share->self->pid;

        use.all_bytes += s->bytes + s->context_bytes;
        use.self_bytes += is_own ? s->bytes + s->context_bytes : 0;
        use.context_bytes += is_own ? s->context_bytes : 0;
    }
    return use;
}

static void share_sweep(const struct sim_share *share)
{
    for (int i = 0; i < SIM_BUDGET_SLOTS; i++) {
        struct share_slot *s = &share->object->slots[i];

        if (s->pid != 0 && s != share->self &&
            !larder__token_is_held(&share->shared, (size_t)i))
            *s = (struct share_slot){0};
    }
}

static bool share_is_empty(const struct share_object *o)
{
    for (int i = 0; i < SIM_BUDGET_SLOTS; i++) {
        if (o->slots[i].pid != 0)
            return false;
    }
    return true;
}

static bool share_has_room(const struct sim_share *share, uint64_t bytes)
{
    uint64_t capacity = share->object->capacity_bytes;

    if (bytes > capacity)
        return false;
    if (share_use(share).all_bytes <= capacity - bytes)
        return true;
    share_sweep(share);
    return share_use(share).all_bytes <= capacity - bytes;
}

/* Take a free slot for this device.  NULL: all are taken. */
static struct share_slot *slot_take(const struct sim_share *share)
{
    for (size_t i = 0; i < SIM_BUDGET_SLOTS; i++) {
        struct share_slot *s = &share->object->slots[i];

        /* A device that is closing may still hold the token. */
        if (s->pid == 0 && larder__token_take(&share->shared, i)) {
            *s = (struct share_slot){.pid = getpid()};
            return s;
        }
    }
    return NULL;
}

/* The context lasts as long as the process has a device open.  It is added to
 * the other slot before it is removed from this one: if the process dies in
 * between, both are swept. */
static void slot_leave(struct sim_share *share)
{
    struct share_slot *s = share->self;
    struct share_slot *end = share->object->slots + SIM_BUDGET_SLOTS;
    struct share_slot *heir = share->object->slots;

    while (heir < end && (heir == s || heir->pid != s->pid))
        heir++;
    if (heir < end && s->context_bytes != 0)
        heir->context_bytes = s->context_bytes;
    *s = (struct share_slot){0};
    larder__token_leave(&share->shared, (size_t)(s - share->object->slots));
    share->self = NULL;
}

/* ---- joining and leaving; the file lock is held --------------------------- */

static larder_result object_init(struct share_object *o,
                                 uint64_t capacity_bytes)
{
    pthread_mutexattr_t attr;
    int error = pthread_mutexattr_init(&attr);

    if (error != 0)
        return larder__fail_plain(LARDER_ERR_SYSTEM);
    *o = (struct share_object){.capacity_bytes = capacity_bytes};
    error |= pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    error |= pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    error |= pthread_mutex_init(&o->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    if (error != 0)
        return larder__fail_plain(LARDER_ERR_SYSTEM);
    o->magic = share_magic;
    return LARDER_OK;
}

/* If only dead processes are left, take the object over. */
static larder_result object_join(struct sim_share *share,
                                 uint64_t capacity_bytes)
{
    struct share_object *o = share->object;
    larder_result r = LARDER_OK;

    share_lock(share);
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
                         share->shared.name, SIM_BUDGET_SLOTS);
    share_unlock(share);
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

larder_result larder__sim_budget_open(struct sim_budget *b, const char *name,
                                      int ordinal)
{
    struct sim_share *share;
    larder_result r;

    if (name[0] == '\0')
        return LARDER_OK;
    share = larder__host_alloc(1, sizeof *share);
    if (share == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    share->shared = (struct shared_object){
        .bytes = sizeof *share->object,
        .magic = share_magic,
        .kind = "a device",
        .advice = "remove it, or use another name",
        .file = {.fd = -1},
    };
    snprintf(share->shared.name, sizeof share->shared.name, share_name_format,
             name, ordinal);
    r = share_join(share, b->capacity_bytes);
    if (r == LARDER_OK)
        b->share = share;
    else
        share_free(share);
    return r;
}

/* The slot is freed even without the file lock; then the object stays for the
 * next process. */
void larder__sim_budget_close(struct sim_budget *b)
{
    struct sim_share *share = b->share;
    bool has_lock = share != NULL && larder__shared_lock(&share->shared);

    if (share == NULL)
        return;
    share_lock(share);
    slot_leave(share);
    share_sweep(share);
    if (has_lock && share_is_empty(share->object))
        larder__shared_remove(&share->shared);
    share_unlock(share);
    if (has_lock)
        larder__shared_unlock(&share->shared);
    share_free(share);
}

/* ---- taking and releasing ------------------------------------------------- */

/* A program that this process ran before exec may have left a slot. */
static bool share_take_context(struct sim_share *share, uint64_t bytes)
{
    share_sweep(share);
    if (share_use(share).context_bytes != 0)
        return true;
    if (!share_has_room(share, bytes))
        return false;
    share->self->context_bytes = bytes;
    return true;
}

static bool context_take(struct sim_budget *b)
{
    bool fits = b->context_bytes <= b->capacity_bytes;

    if (b->share == NULL)
        return fits;
    share_lock(b->share);
    fits = share_take_context(b->share, b->context_bytes);
    share_unlock(b->share);
    return fits;
}

static uint64_t budget_left(const struct sim_budget *b)
{
    return b->capacity_bytes - larder__sim_budget_use(b).all_bytes;
}

larder_result larder__sim_budget_begin(struct sim_budget *b)
{
    b->is_used = b->is_used || context_take(b);
    if (b->is_used)
        return LARDER_OK;
    return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                            "the context needs %" PRIu64
                            " bytes, and the simulated GPU has %" PRIu64
                            " of %" PRIu64 " bytes left",
                            b->context_bytes, budget_left(b),
                            b->capacity_bytes);
}

static bool bytes_take(struct sim_budget *b, uint64_t bytes)
{
    bool fits;

    if (b->share == NULL)
        return bytes <= budget_left(b);
    share_lock(b->share);
    fits = share_has_room(b->share, bytes);
    if (fits)
        b->share->self->bytes += bytes;
    share_unlock(b->share);
    return fits;
}

larder_result larder__sim_budget_take(struct sim_budget *b, uint64_t bytes)
{
    if (!bytes_take(b, bytes))
        return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                                "the simulated GPU has %" PRIu64 " of %" PRIu64
                                " bytes left",
                                budget_left(b), b->capacity_bytes);
    b->held_bytes += bytes;
    return LARDER_OK;
}

void larder__sim_budget_release(struct sim_budget *b, uint64_t bytes)
{
    b->held_bytes -= bytes;
    if (b->share == NULL)
        return;
    share_lock(b->share);
    b->share->self->bytes -= bytes;
    share_unlock(b->share);
}

/* ---- who has them --------------------------------------------------------- */

struct sim_budget_use larder__sim_budget_use(const struct sim_budget *b)
{
    uint64_t context = b->is_used ? b->context_bytes : 0;
    struct sim_budget_use use = {
        .all_bytes = b->held_bytes + context,
        .self_bytes = b->held_bytes + context,
        .context_bytes = context,
    };

    if (b->share == NULL)
        return use;
    share_lock(b->share);
    share_sweep(b->share);
    use = share_use(b->share);
    share_unlock(b->share);
    return use;
}

/* Add the slot's bytes to its process, in the list of `count` processes. */
static int process_add(larder_device_process *found, int count,
                       const struct share_slot *s)
{
    int i = 0;

    if (s->bytes + s->context_bytes == 0)
        return count;
    while (i < count && found[i].pid != s->pid)
        i++;
    if (i == count)
        found[count++] = (larder_device_process){.pid = s->pid,
                                                 .is_self = s->pid == getpid()};
    found[i].bytes += s->bytes + s->context_bytes;
    return count;
}

int larder__sim_budget_processes(const struct sim_budget *b,
                                 larder_device_process out[SIM_BUDGET_SLOTS])
{
    const struct share_slot own = {
        .pid = getpid(),
        .bytes = b->share == NULL ? larder__sim_budget_use(b).self_bytes : 0,
    };
    int count = process_add(out, 0, &own);

    if (b->share == NULL)
        return count;
    share_lock(b->share);
    share_sweep(b->share);
    for (int i = 0; i < SIM_BUDGET_SLOTS; i++)
        count = process_add(out, count, &b->share->object->slots[i]);
    share_unlock(b->share);
    return count;
}
