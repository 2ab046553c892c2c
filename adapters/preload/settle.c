/* settle.c - when freed memory may be reused (P1); and captures, during which
 * nothing may wait (P4). */
#include "preload_state.h"
#include "base/host.h"

/* ---- captures ----------------------------------------------------------- */

/* Streams on which a capture was begun; each is queried before anything waits.
 * If it is a thread's own default stream only that thread can query it, which it
 * does when it ends a capture. */
struct capture {
    struct capture *next;
    cud_stream stream;
    cud_context context; /* that it belongs to */
    pthread_t thread;
};

static pthread_mutex_t captures_lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;
static atomic_int capture_count;

static bool settle_is_same(const struct capture *c, cud_stream stream)
{
    return c->stream == stream && ((uintptr_t)stream != CUD_STREAM_PER_THREAD ||
                                   pthread_equal(c->thread, pthread_self()));
}

static void capture_drop(struct capture **at)
{
    struct capture *gone = *at;

    *at = gone->next;
    larder__host_free(gone);
    atomic_fetch_sub(&capture_count, 1);
}

void preload_capture_forget(cud_stream stream)
{
    struct capture **at = &captures;

    if (atomic_load(&capture_count) == 0)
        return;
    pthread_mutex_lock(&captures_lock);
    while (*at != NULL) {
        if (settle_is_same(*at, stream))
            capture_drop(at);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&captures_lock);
}

void preload_captures_forget(cud_context context)
{
    struct capture **at = &captures;

    pthread_mutex_lock(&captures_lock);
    while (*at != NULL) {
        if ((*at)->context == context)
            capture_drop(at);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&captures_lock);
}

/* Without host memory to record it, a wait may invalidate the capture; the
 * driver then reports it. */
void preload_capture_note(cud_stream stream, cud_context context)
{
    struct capture *c = larder__host_alloc(1, sizeof *c);

    if (c == NULL)
        return;
    preload_capture_forget(stream);
    *c = (struct capture){
        .stream = stream, .context = context, .thread = pthread_self()};
    pthread_mutex_lock(&captures_lock);
    c->next = captures;
    captures = c;
    atomic_fetch_add(&capture_count, 1);
    pthread_mutex_unlock(&captures_lock);
}

static bool has_ended(const struct preload_calls *real, const struct capture *c)
{
    cud_capture_status status = CUD_CAPTURE_NONE;
    bool pushed = false;
    cud_result answer;

    if ((uintptr_t)c->stream == CUD_STREAM_PER_THREAD &&
        !pthread_equal(c->thread, pthread_self()))
        return false;
    answer = preload_context_push(real, c->context, &pushed);
    if (answer == CUD_SUCCESS)
        answer = PRELOAD_REAL(real, cuStreamIsCapturing, c->stream, &status);
    preload_context_leave(real, pushed);
    return answer == CUD_SUCCESS && status == CUD_CAPTURE_NONE;
}

bool preload_is_capturing(const struct preload_calls *real)
{
    struct capture **at = &captures;
    bool is_any;

    if (atomic_load(&capture_count) == 0 || preload_is_child())
        return false;
    pthread_mutex_lock(&captures_lock);
    while (*at != NULL) {
        if (has_ended(real, *at))
            capture_drop(at);
        else
            at = &(*at)->next;
    }
    is_any = captures != NULL;
    pthread_mutex_unlock(&captures_lock);
    return is_any;
}

/* A capture that begins in another thread between the check and the wait would
 * be invalidated by the wait: beginnings hold this lock exclusively, waits
 * share it. */
static pthread_rwlock_t beginning = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local int waits; /* one within another */

void preload_capture_lock(void)
{
    pthread_rwlock_wrlock(&beginning);
}

void preload_capture_unlock(void)
{
    pthread_rwlock_unlock(&beginning);
}

bool preload_wait_begin(const struct preload_calls *real)
{
    if (waits++ == 0)
        pthread_rwlock_rdlock(&beginning);
    if (!preload_is_capturing(real))
        return true;
    preload_wait_end();
    return false;
}

void preload_wait_end(void)
{
    if (--waits == 0)
        pthread_rwlock_unlock(&beginning);
}

/* ---- finishing the frees that wait -------------------------------------- */

void preload_wait_add(struct preload_slot *slot, struct allocation *a)
{
    pthread_mutex_lock(&slot->lock);
    a->next = slot->waiting;
    slot->waiting = a;
    pthread_mutex_unlock(&slot->lock);
}

static struct allocation *waiting_take(struct preload_slot *slot)
{
    struct allocation *all;

    pthread_mutex_lock(&slot->lock);
    all = slot->waiting;
    slot->waiting = NULL;
    pthread_mutex_unlock(&slot->lock);
    return all;
}

static void waiting_return(struct preload_slot *slot, struct allocation *all)
{
    while (all != NULL) {
        struct allocation *next = all->next;

        preload_wait_add(slot, all);
        all = next;
    }
}

static void free_all(struct preload_slot *slot, struct allocation *all)
{
    while (all != NULL) {
        struct allocation *next = all->next;

        (void)larder_free(slot->allocator, all->range.addr);
        larder__host_free(all);
        all = next;
    }
}

cud_result preload_wait_for_device(const struct preload_calls *real,
                                   struct preload_slot *slot)
{
    bool pushed = false;
    cud_result answer;

    if (!preload_wait_begin(real))
        return CUD_CAPTURE_UNSUPPORTED;
    answer = preload_context_enter(real, slot, &pushed);
    if (answer == CUD_SUCCESS)
        answer = real->cuCtxSynchronize();
    preload_context_leave(real, pushed);
    preload_wait_end();
    return answer;
}

/* Memory that begins to wait during this call stays for the next one. */
static bool settle_once(const struct preload_calls *real,
                        struct preload_slot *slot)
{
    struct allocation *all = waiting_take(slot);

    if (all == NULL)
        return false;
    if (preload_wait_for_device(real, slot) != CUD_SUCCESS) {
        waiting_return(slot, all);
        return false;
    }
    free_all(slot, all);
    pthread_mutex_lock(&slot->lock);
    slot->settled++;
    slot->waits++;
    pthread_mutex_unlock(&slot->lock);
    return true;
}

static uint64_t settled_times(struct preload_slot *slot)
{
    uint64_t times;

    pthread_mutex_lock(&slot->lock);
    times = slot->settled;
    pthread_mutex_unlock(&slot->lock);
    return times;
}

bool preload_settle(struct preload_slot *slot)
{
    const struct preload_calls *real = preload_driver();
    uint64_t before = settled_times(slot);
    bool freed = false;

    if (preload_is_capturing(real))
        return false;
    /* Another thread may be settling already: the memory that it frees serves
     * all. */
    pthread_mutex_lock(&slot->settling);
    freed = settle_once(real, slot) || settled_times(slot) != before;
    pthread_mutex_unlock(&slot->settling);
    return freed;
}

larder_result preload_trim(struct preload_slot *slot)
{
    if (!atomic_load(&slot->is_open))
        return LARDER_OK;
    (void)preload_settle(slot);
    return larder_empty_cache(slot->allocator);
}

/* ---- destroyed streams -------------------------------------------------- */

/* The handle may be reused for a later stream, which must not get memory that
 * this stream's work still uses. */
static bool stream_passes(const struct preload_calls *real, cud_stream stream)
{
    bool has_passed;

    if (!preload_wait_begin(real))
        return false;
    has_passed = real->cuStreamSynchronize(stream) == CUD_SUCCESS;
    preload_wait_end();
    return has_passed;
}

void preload_stream_close(const struct preload_calls *real, cud_stream stream)
{
    bool has_passed = false;

    for (int i = 0; i < PRELOAD_DEVICES; i++) {
        struct preload_slot *slot = preload_slot_at(i);

        if (!atomic_load(&slot->has_ordered))
            continue;
        has_passed = has_passed || stream_passes(real, stream);
        if (!has_passed)
            atomic_store(&slot->has_lost_stream, true);
    }
}

bool preload_order_is_sure(const struct preload_calls *real,
                           struct preload_slot *slot)
{
    if (!atomic_load(&slot->has_lost_stream))
        return true;
    if (preload_wait_for_device(real, slot) != CUD_SUCCESS)
        return false;
    atomic_store(&slot->has_lost_stream, false);
    return true;
}
