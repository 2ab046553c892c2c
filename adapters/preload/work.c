/* work.c - memory in use moves only while no work is queued on it.  An ordinary
 * library cannot know that; this one intercepts every call that queues work,
 * holds them all back, and waits for all devices. */
#include "work.h"

#include <larder/migrate.h>

static pthread_rwlock_t gate;    /* shared by calls, exclusive for a move */
static atomic_bool is_elsewhere; /* a context cannot be waited for */
static atomic_bool is_shared;

/* Writer preference: a thread that moves memory waits for calls in progress,
 * not for all that follow. */
static void gate_make(void)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
#ifdef __GLIBC__
    pthread_rwlockattr_setkind_np(&attributes,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&gate, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

static pthread_rwlock_t *gate_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, gate_make);
    return &gate;
}

bool preload_work_enter(const struct preload_calls *real)
{
    struct preload_place p;

    if (!preload_settings_get()->can_migrate)
        return false;
    if (!preload_place_find(real, &p) && preload_is_child())
        return false; /* no slot is found for one */
    if (p.context != NULL && !p.is_primary)
        atomic_store(&is_elsewhere, true);
    pthread_rwlock_rdlock(gate_get());
    return true;
}

void preload_work_leave(bool is_entered)
{
    if (is_entered)
        pthread_rwlock_unlock(gate_get());
}

void preload_work_shared(void)
{
    atomic_store(&is_shared, true);
}

static bool may_move(const struct preload_calls *real)
{
    return !atomic_load(&is_elsewhere) && !atomic_load(&is_shared) &&
           !preload_is_capturing(real);
}

/* Work of other devices may use this device's memory. */
static bool devices_pass(const struct preload_calls *real)
{
    int count = 0;

    if (PRELOAD_REAL(real, cuDeviceGetCount, &count) != CUD_SUCCESS ||
        count > PRELOAD_DEVICES)
        return false;
    for (int i = 0; i < count; i++) {
        struct preload_slot *slot = preload_slot_at(i);

        preload_primary_learn(real, slot);
        if (atomic_load(&slot->primary) != NULL &&
            preload_wait_for_device(real, slot) != CUD_SUCCESS)
            return false;
    }
    return true;
}

static larder_result alloc_moving(struct preload_slot *slot, uint64_t bytes,
                                  larder_addr *out)
{
    larder_result r = larder_migrate_begin(slot->allocator);

    if (r != LARDER_OK)
        return r;
    r = larder_alloc(slot->allocator, bytes, 0, out);
    (void)larder_migrate_end(slot->allocator);
    if (r == LARDER_OK) {
        pthread_mutex_lock(&slot->lock);
        slot->moves++;
        pthread_mutex_unlock(&slot->lock);
    }
    return r;
}

larder_result preload_work_move(struct preload_slot *slot, uint64_t bytes,
                                larder_addr *out)
{
    const struct preload_calls *real = preload_driver();
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    if (!preload_settings_get()->can_migrate)
        return r;
    pthread_rwlock_wrlock(gate_get());
    if (may_move(real) && devices_pass(real))
        r = alloc_moving(slot, bytes, out);
    pthread_rwlock_unlock(gate_get());
    return r;
}
