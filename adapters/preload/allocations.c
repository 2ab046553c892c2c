/* allocations.c - the table of the program's allocations (P3). */
#include "preload_state.h"
#include "base/host.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *table;

static struct allocation *of(struct range *r)
{
    return (struct allocation *)r; /* its first member */
}

struct allocation *preload_allocation_new(const struct preload_place *p,
                                          uint64_t bytes)
{
    struct allocation *a = larder__host_alloc(1, sizeof *a);

    if (a == NULL)
        return NULL;
    a->range.bytes = bytes == 0 ? 1 : bytes;
    a->slot = p->slot;
    a->context = p->context;
    return a;
}

void preload_allocation_add(struct allocation *a, cud_addr addr)
{
    a->range.addr = addr;
    preload_allocation_return(a);
}

void preload_allocation_return(struct allocation *a)
{
    pthread_mutex_lock(&lock);
    preload_ranges_add(&table, &a->range);
    pthread_mutex_unlock(&lock);
}

struct allocation *preload_allocation_take(cud_addr addr)
{
    struct range *r;

    pthread_mutex_lock(&lock);
    r = preload_ranges_at(table, addr);
    if (r != NULL)
        preload_ranges_remove(&table, r);
    pthread_mutex_unlock(&lock);
    return of(r);
}

bool preload_allocation_find(cud_addr addr, struct allocation *out)
{
    struct range *r;

    pthread_mutex_lock(&lock);
    r = preload_ranges_holding(table, addr);
    if (r != NULL)
        *out = *of(r);
    pthread_mutex_unlock(&lock);
    return r != NULL;
}

void preload_allocations_forget(cud_context context)
{
    struct range *r;
    uint64_t from = 0;

    pthread_mutex_lock(&lock);
    while ((r = preload_ranges_from(table, from)) != NULL) {
        struct allocation *a = of(r);

        from = r->addr + 1;
        if (a->context != context)
            continue;
        preload_ranges_remove(&table, r);
        preload_uncount(a);
        larder__host_free(a);
    }
    pthread_mutex_unlock(&lock);
}
