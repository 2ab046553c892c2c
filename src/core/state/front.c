#include "core/state/front.h"

#include <string.h>

#include "base/host.h"

enum {
    STOCK = 64,         /* spare headers a front is left with */
    STOCK_LARGEST = 512 /* and that it may keep */
};

#define ALLOWANCE_LEAST (INT64_C(2) << 20)
/* Of the device's memory. */
#define ALLOWANCE_PART 1024

/* ---- counting ------------------------------------------------------------- */

/* Each front's rise counts from where all were when they were last added up,
 * and where all are now is a peak too. */
static void add_up_fronts(struct allocator *a)
{
    struct tally now = {.is_used = true};

    for (unsigned i = 1; i <= a->fronts.count; i++)
        larder__tally_peaks(&a->stats, &a->fronts.list[i]->tally);
    for (unsigned i = 1; i <= a->fronts.count; i++)
        larder__tally_currents(&a->stats, &a->fronts.list[i]->tally);
    larder__tally_peaks(&a->stats, &now);
}

static void add_up(struct allocator *a)
{
    larder__tally_peaks(&a->stats, &a->fronts.tally);
    larder__tally_currents(&a->stats, &a->fronts.tally);
    if (a->fronts.is_shared)
        add_up_fronts(a);
}

/* ---- locks ---------------------------------------------------------------- */

void larder__lock_all(struct allocator *a)
{
    lock_take(&a->lock);
    if (a->fronts.count == 0)
        return;
    for (unsigned i = 1; i <= a->fronts.count; i++)
        lock_take(&a->fronts.list[i]->lock);
    add_up(a);
}

/* Written only if they change: every request of every stream reads them. */
static void publish(struct allocator *a, uint64_t most_bytes, bool has_waiting)
{
    if (a->fronts.most_bytes != most_bytes)
        a->fronts.most_bytes = most_bytes;
    if (a->fronts.has_waiting != has_waiting)
        a->fronts.has_waiting = has_waiting;
}

void larder__unlock_all(struct allocator *a)
{
    bool is_open = a->is_fast && a->tag_frames == 0 && a->history == NULL &&
                   a->routes == NULL && a->captures == 0 && a->pieces == NULL;

    publish(a, is_open ? a->props.total_bytes : 0,
            !events_are_idle(&a->events));
    for (unsigned i = a->fronts.count; i > 0; i--)
        lock_leave(&a->fronts.list[i]->lock);
    lock_leave(&a->lock);
}

void larder__front_enter(struct allocator *a)
{
    uintptr_t thread = front_thread();

    if (a->fronts.owner == 0)
        a->fronts.owner = thread;
    else if (a->fronts.owner != thread)
        a->fronts.is_shared = true;
}

/* ---- headers -------------------------------------------------------------- */

static void fill(struct allocator *a, struct front *f)
{
    while (f->header_count < STOCK && larder__slab_ensure(&a->slab, 1)) {
        struct block *b = larder__slab_take(&a->slab);

        b->front = f->number;
        front_give_header(a, b);
    }
}

void larder__front_stock(struct allocator *a, larder_stream stream)
{
    struct front *f = front_of(a, stream);

    if (f == NULL)
        return;
    if (f->header_count == 0)
        fill(a, f);
    while (f->header_count > STOCK_LARGEST) {
        const struct block of_front = {.front = f->number};

        slab_give(&a->slab, front_take_header(a, &of_front));
    }
}

uint32_t larder__front_headers(const struct allocator *a)
{
    uint32_t count = 0;

    for (unsigned i = 1; i <= a->fronts.count; i++)
        count += a->fronts.list[i]->header_count;
    return count;
}

/* ---- making --------------------------------------------------------------- */

static void put_in_slot(struct allocator *a, struct front *f)
{
    unsigned i = front_hash(f->stream) % FRONT_SLOTS;

    while (atomic_load_explicit(&a->fronts.slots[i], memory_order_relaxed) !=
           NULL)
        i = (i + 1) % FRONT_SLOTS;
    atomic_store_explicit(&a->fronts.slots[i], f, memory_order_release);
}

struct front *larder__front_make(struct allocator *a, larder_stream stream)
{
    struct front *f = front_of(a, stream);

    if (f != NULL || a->fronts.count == FRONTS_MAX)
        return f;
    f = larder__host_alloc_aligned(_Alignof(struct front), sizeof *f);
    if (f == NULL)
        return NULL;
    memset(f, 0, sizeof *f);
    lock_init(&f->lock);
    lock_take(&f->lock); /* as all others */
    f->number = (uint8_t)(a->fronts.count + 1);
    f->stream = stream;
    a->fronts.list[f->number] = f;
    a->fronts.count++;
    put_in_slot(a, f);
    return f;
}

void larder__fronts_init(struct allocator *a)
{
    int64_t part = (int64_t)(a->props.total_bytes / ALLOWANCE_PART);

    a->fronts.allowance = part > ALLOWANCE_LEAST ? part : ALLOWANCE_LEAST;
}

void larder__fronts_destroy(struct allocator *a)
{
    for (unsigned i = 1; i <= a->fronts.count; i++)
        larder__host_free(a->fronts.list[i]);
    a->fronts.count = 0;
}
