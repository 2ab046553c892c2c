/* slot.c - devices: the one whose context a call is made in, the allocator of
 * each, and its limit. */
#include "once.h"
#include "preload_state.h"
#include "work.h"
#include "base/host.h"
#include "base/process.h"

static struct preload_slot slots[PRELOAD_DEVICES];
static unsigned owner; /* the number of the process (process.h) */

static void slots_make(void)
{
    (void)larder__process_watch();
    owner = process_number();
    for (int i = 0; i < PRELOAD_DEVICES; i++) {
        slots[i].number = i;
        pthread_mutex_init(&slots[i].opening, NULL);
        pthread_rwlock_init(&slots[i].gate, NULL);
        pthread_mutex_init(&slots[i].paging, NULL);
        pthread_mutex_init(&slots[i].lock, NULL);
        pthread_mutex_init(&slots[i].settling, NULL);
    }
}

struct preload_slot *preload_slot_at(int number)
{
    static struct preload_once once = PRELOAD_ONCE;

    preload_once(&once, slots_make);
    return number >= 0 && number < PRELOAD_DEVICES ? &slots[number] : NULL;
}

bool preload_is_child(void)
{
    (void)preload_slot_at(0);
    return process_number() != owner;
}

/* ---- contexts ----------------------------------------------------------- */

static struct preload_slot *slot_of_primary(cud_context context)
{
    (void)preload_slot_at(0);
    for (int i = 0; i < PRELOAD_DEVICES; i++) {
        if (atomic_load_explicit(&slots[i].primary, memory_order_acquire) ==
            context)
            return &slots[i];
    }
    return NULL;
}

void preload_primary_learn(const struct preload_calls *real,
                           struct preload_slot *slot)
{
    cud_context context = NULL;
    unsigned flags;
    int is_active = 1;

    if (atomic_load(&slot->primary) != NULL)
        return;
    if (real->cuDevicePrimaryCtxGetState != NULL &&
        real->cuDevicePrimaryCtxGetState(slot->number, &flags, &is_active) !=
            CUD_SUCCESS)
        is_active = 0;
    if (!is_active)
        return;
    pthread_mutex_lock(&slot->opening);
    if (atomic_load(&slot->primary) == NULL &&
        real->cuDevicePrimaryCtxRetain(&context, slot->number) == CUD_SUCCESS)
        atomic_store_explicit(&slot->primary, context, memory_order_release);
    pthread_mutex_unlock(&slot->opening);
}

bool preload_place_find(const struct preload_calls *real,
                        struct preload_place *p)
{
    cud_device device;

    *p = (struct preload_place){.slot = NULL};
    if (preload_settings_get()->mode == PRELOAD_OFF || preload_is_child() ||
        real->cuCtxGetCurrent(&p->context) != CUD_SUCCESS || p->context == NULL)
        return false;
    p->slot = slot_of_primary(p->context);
    if (p->slot != NULL) {
        p->is_primary = true;
        return true;
    }
    if (real->cuCtxGetDevice(&device) != CUD_SUCCESS)
        return false;
    p->slot = preload_slot_at(device);
    if (p->slot == NULL)
        return false;
    preload_primary_learn(real, p->slot);
    p->is_primary = atomic_load(&p->slot->primary) == p->context;
    return true;
}

/* ---- the limit ---------------------------------------------------------- */

void preload_slot_limit(const struct preload_calls *real,
                        struct preload_slot *slot)
{
    const struct preload_settings *s = preload_settings_get();
    uint64_t limit = s->limit_bytes;
    size_t total = 0;

    if (s->fraction < 1 &&
        real->cuDeviceTotalMem_v2(&total, slot->number) == CUD_SUCCESS &&
        s->fraction * (double)total < (double)limit)
        limit = (uint64_t)(s->fraction * (double)total);
    pthread_mutex_lock(&slot->lock);
    slot->limit_bytes = limit == 0 ? 1 : limit;
    pthread_mutex_unlock(&slot->lock);
}

bool preload_budget_take(struct preload_slot *slot, uint64_t *counter,
                         uint64_t bytes)
{
    bool fits;

    pthread_mutex_lock(&slot->lock);
    fits = bytes <= slot->limit_bytes &&
           slot->held_bytes + slot->asked_bytes + slot->outside_bytes <=
               slot->limit_bytes - bytes;
    if (fits)
        *counter += bytes;
    pthread_mutex_unlock(&slot->lock);
    return fits;
}

void preload_budget_release(struct preload_slot *slot, uint64_t *counter,
                            uint64_t bytes)
{
    pthread_mutex_lock(&slot->lock);
    *counter -= bytes;
    pthread_mutex_unlock(&slot->lock);
}

void preload_budget_keep(struct preload_slot *slot, uint64_t bytes)
{
    pthread_mutex_lock(&slot->lock);
    slot->asked_bytes -= bytes;
    slot->held_bytes += bytes;
    if (slot->held_bytes > slot->held_peak)
        slot->held_peak = slot->held_bytes;
    pthread_mutex_unlock(&slot->lock);
}

/* ---- the allocator ------------------------------------------------------ */

static int reclaim(void *ctx)
{
    return preload_settle(ctx);
}

/* Keep events for a snapshot, unless the settings say how many. */
static void start_history(larder_allocator *a)
{
    larder_history_info info = {.size = sizeof info};

    if (preload_settings_get()->snapshot != NULL &&
        larder_history_get(a, &info) == LARDER_OK && !info.is_on)
        (void)larder_history_start(a, NULL);
}

static larder_policy policy_of(const struct preload_settings *s)
{
    if (s->can_migrate)
        return LARDER_POLICY_LARDER;
    return s->mode == PRELOAD_CACHE ? LARDER_POLICY_PYTORCH
                                    : LARDER_POLICY_DIRECT;
}

static larder_result slot_make(struct preload_slot *slot)
{
    const struct preload_settings *s = preload_settings_get();
    larder_device_ops ops = preload_device_ops;
    larder_options opt;
    larder_result r;

    larder_options_init(&opt);
    opt.policy = policy_of(s);
    if (s->can_migrate)
        preload_pages_add(&ops);
    r = larder_device_create(&ops, slot, &slot->device);
    if (r != LARDER_OK)
        return r;
    r = larder_create(slot->device, &opt, &slot->allocator);
    if (r == LARDER_OK && s->can_migrate)
        r = preload_work_guard(slot);
    if (r == LARDER_OK)
        r = larder_add_reclaim(slot->allocator, reclaim, slot);
    if (r == LARDER_OK) {
        start_history(slot->allocator);
        return LARDER_OK;
    }
    (void)larder_destroy(slot->allocator);
    (void)larder_device_close(slot->device);
    slot->allocator = NULL;
    slot->device = NULL;
    return r;
}

cud_result preload_slot_open(struct preload_slot *slot)
{
    larder_result r = LARDER_OK;

    if (preload_settings_get()->is_wrong)
        return CUD_NOT_PERMITTED;
    if (atomic_load_explicit(&slot->is_open, memory_order_acquire))
        return CUD_SUCCESS;
    pthread_mutex_lock(&slot->opening);
    if (!atomic_load(&slot->is_open)) {
        preload_slot_limit(preload_driver(), slot);
        r = slot_make(slot);
        atomic_store_explicit(&slot->is_open, r == LARDER_OK,
                              memory_order_release);
    }
    pthread_mutex_unlock(&slot->opening);
    return preload_answer_of(r);
}

/* Memory that waits is freed with the rest. */
static void drop_waiting(struct preload_slot *slot)
{
    struct allocation *a = slot->waiting;

    slot->waiting = NULL;
    while (a != NULL) {
        struct allocation *next = a->next;

        larder__host_free(a);
        a = next;
    }
}

void preload_slot_close(const struct preload_calls *real,
                        struct preload_slot *slot)
{
    pthread_rwlock_wrlock(&slot->gate);
    pthread_mutex_lock(&slot->opening);
    preload_allocations_forget(atomic_load(&slot->primary));
    if (atomic_load(&slot->is_open)) {
        atomic_store(&slot->is_open, false);
        slot->is_forgotten = true;
        (void)larder_destroy(slot->allocator);
        (void)larder_device_close(slot->device);
        slot->allocator = NULL;
        slot->device = NULL;
        drop_waiting(slot);
        slot->is_paused = false;
        slot->is_forgotten = false;
    }
    if (atomic_load(&slot->primary) != NULL)
        (void)real->cuDevicePrimaryCtxRelease_v2(slot->number);
    atomic_store(&slot->primary, NULL);
    pthread_mutex_unlock(&slot->opening);
    pthread_rwlock_unlock(&slot->gate);
}
