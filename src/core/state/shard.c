/* shard.c - shards: what one stream touches on the fast path. */
#include "core/state/shard.h"

#include <string.h>

#include "base/host.h"

enum {
    STOCK = 64,         /* spare headers that a shard is given, */
    STOCK_LARGEST = 512 /* and the maximum that it keeps */
};

#define ALLOWANCE_MIN (INT64_C(2) << 20)
/* A fraction of the device's memory. */
#define ALLOWANCE_PART 1024

/* ---- counting ------------------------------------------------------------- */

/* Each shard's peak counts from the totals at the last sum; the new total is a
 * peak too. */
static void add_up_shards(struct allocator *a)
{
    struct tally now = {.is_used = true};

    larder__assert(allocator_is_locked(a));
    for (unsigned i = 1; i <= a->shards.count; i++)
        larder__tally_peaks(&a->stats, &a->shards.list[i]->tally);
    for (unsigned i = 1; i <= a->shards.count; i++)
        larder__tally_currents(&a->stats, &a->shards.list[i]->tally);
    larder__tally_peaks(&a->stats, &now);
}

static void add_up(struct allocator *a)
{
    larder__assert(a->shards.is_shared || a->shards.owner != 0 ||
                   !a->shards.tally.is_used);
    larder__tally_peaks(&a->stats, &a->shards.tally);
    larder__tally_currents(&a->stats, &a->shards.tally);
    if (a->shards.is_shared)
        add_up_shards(a);
}

/* ---- locks ---------------------------------------------------------------- */

void larder__shards_lock(struct allocator *a)
{
    larder__assert(allocator_is_locked(a));
    for (unsigned i = 1; i <= a->shards.count; i++) {
        larder__assert(a->shards.list[i]->number == i);
        lock_take(&a->shards.list[i]->lock);
    }
    add_up(a);
}

/* Whether nothing but its stream's free blocks decides what a request gets, and
 * nothing is recorded of it. */
static bool requests_are_plain(const struct allocator *a)
{
    return a->history == NULL && a->tag_frames == 0 && a->routes == NULL &&
           a->pieces == NULL;
}

/* Store only changed values: every request of every stream reads them. */
static void shards_publish(struct allocator *a)
{
    bool is_open = a->is_fast && !a->has_withheld;
    bool is_plain = requests_are_plain(a);
    uint64_t max_bytes = is_open && is_plain ? a->props.total_bytes : 0;
    bool takes_frees = is_open && a->history == NULL;
    bool is_careful = is_open && !is_plain && a->debug == NULL;
    bool has_waiting = !events_are_idle(&a->events);
    bool is_watching = has_waiting || a->shards.bell != NULL;

    larder__assert(!is_open || a->is_paged);
    if (a->shards.max_bytes != max_bytes)
        a->shards.max_bytes = max_bytes;
    if (a->shards.takes_frees != takes_frees)
        a->shards.takes_frees = takes_frees;
    if (shards_are_careful(a) != is_careful)
        atomic_store_explicit(&a->shards.is_careful, is_careful,
                              memory_order_relaxed);
    if (a->shards.has_waiting != has_waiting)
        a->shards.has_waiting = has_waiting;
    if (a->shards.is_watching != is_watching)
        a->shards.is_watching = is_watching;
}

void larder__shards_unlock(struct allocator *a)
{
    larder__assert(allocator_is_locked(a));
    shards_publish(a);
    for (unsigned i = a->shards.count; i > 0; i--)
        lock_leave(&a->shards.list[i]->lock);
}

void larder__shards_note_thread(struct allocator *a)
{
    uintptr_t thread = shard_thread();

    larder__assert(allocator_is_locked(a));
    larder__assert(thread != 0 && thread != a->shards.owner);
    if (a->shards.owner == 0)
        a->shards.owner = thread;
    else
        a->shards.is_shared = true;
}

/* ---- headers -------------------------------------------------------------- */

static void shard_fill(struct allocator *a, struct shard *f)
{
    while (f->header_count < STOCK && larder__slab_ensure(&a->slab, 1)) {
        struct block *b = larder__slab_take(&a->slab);

        larder__assert(b->shard == 0 && b->segment == NULL);
        b->shard = f->number;
        shard_give_header(a, b);
    }
}

void larder__shard_stock(struct allocator *a, larder_stream stream)
{
    struct shard *f = shard_of(a, stream);

    if (f == NULL)
        return;
    larder__assert((f->header_count == 0) == (f->header_first == 0));
    if (f->header_count == 0)
        shard_fill(a, f);
    while (f->header_count > STOCK_LARGEST) {
        const struct block of_shard = {.shard = f->number};

        slab_give(&a->slab, shard_take_header(a, &of_shard));
    }
}

uint32_t larder__shard_headers(const struct allocator *a)
{
    uint32_t count = 0;

    for (unsigned i = 1; i <= a->shards.count; i++)
        count += a->shards.list[i]->header_count;
    return count;
}

/* ---- creating ------------------------------------------------------------- */

static void put_in_slot(struct allocator *a, struct shard *f)
{
    unsigned i = shard_hash(f->stream) % SHARD_SLOTS;

    static_assert(UINT8_MAX < SHARD_SLOTS, "one stays empty");
    while (atomic_load_explicit(&a->shards.slots[i], memory_order_relaxed) !=
           NULL)
        i = (i + 1) % SHARD_SLOTS;
    atomic_store_explicit(&a->shards.slots[i], f, memory_order_release);
}

struct shard *larder__shard_make(struct allocator *a, larder_stream stream)
{
    struct shard *f = shard_of(a, stream);

    larder__assert(allocator_is_locked(a));
    larder__assert(f == NULL || f->stream == stream);
    if (f != NULL || a->shards.count == SHARDS_MAX)
        return f;
    f = larder__host_alloc_aligned(_Alignof(struct shard), sizeof *f);
    if (f == NULL)
        return NULL;
    memset(f, 0, sizeof *f);
    f->number = (uint8_t)(a->shards.count + 1);
    lock_init(&f->lock, RANK_SHARD + f->number);
    lock_take(&f->lock); /* a new shard's lock is held like the others */
    f->stream = stream;
    larder__assert(a->shards.list[f->number] == NULL);
    a->shards.list[f->number] = f;
    a->shards.count++;
    put_in_slot(a, f);
    larder__assert(shard_of(a, stream) == f);
    return f;
}

void larder__shards_set_bell(struct allocator *a, const _Atomic uint32_t *bell)
{
    int64_t part = (int64_t)(a->props.total_bytes / ALLOWANCE_PART);

    static_assert(ALLOWANCE_MIN <= SHARDS_TOLD_WITHIN, "the lower of the two");
    if (part < ALLOWANCE_MIN)
        part = ALLOWANCE_MIN;
    if (bell != NULL && part > SHARDS_TOLD_WITHIN)
        part = SHARDS_TOLD_WITHIN;
    a->shards.bell = bell;
    a->shards.allowance = part;
}

void larder__shards_init(struct allocator *a)
{
    lock_init(&a->shards.common, RANK_SHARDS_COMMON);
    larder__shards_set_bell(a, NULL);
}

void larder__shards_destroy(struct allocator *a)
{
    for (unsigned i = 1; i <= a->shards.count; i++)
        larder__host_free(a->shards.list[i]);
}
