/* storage.c - creates and counts storages, for tensors only. */
#include "tensor/tensor.h"

#include "tensor/host_memory.h"

static void *storage_as_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void observe(const struct lab__storage *s, bool freed)
{
    const lab_event event = {freed, s->id, s->bytes, s->address};

    if (s->session->observer != NULL)
        s->session->observer(s->session->observer_context, &event);
}

/* ---- host --------------------------------------------------------------- */

static larder_result host_take(struct lab__storage *s, int *zeroed)
{
    lab *l = s->session;
    void *got = lab__host_pages(s->bytes, zeroed);

    if (got == NULL)
        return lab__fail_host(s->bytes);
    s->address = (uint64_t)(uintptr_t)got;
    l->host_bytes += s->bytes;
    if (l->host_bytes > l->host_peak)
        l->host_peak = l->host_bytes;
    return LARDER_OK;
}

static void host_give(struct lab__storage *s)
{
    s->session->host_bytes -= s->bytes;
    lab__host_pages_free(storage_as_pointer(s->address), s->bytes);
}

/* ---- device ------------------------------------------------------------- */

static larder_result device_take(struct lab__storage *s)
{
    lab *l = s->session;
    larder_result r;

    if (l->stack_fn != NULL)
        l->stack_depth =
            l->stack_fn(l->stack_context, l->stack, LARDER_STACK_DEPTH_MAX);
    r = larder_alloc(l->allocator, s->bytes, l->stream, &s->address);
    l->stack_depth = 0;
    return lab__of_larder(r);
}

/* If the allocator cannot free it the memory stays there: the error cannot be
 * reported when the last reference is dropped. */
static void device_give(struct lab__storage *s)
{
    (void)larder_free(s->session->allocator, s->address);
}

/* ---- storages ----------------------------------------------------------- */

static void memory_give(struct lab__storage *s)
{
    if (s->bytes != 0 && s->place == LAB_HOST)
        host_give(s);
    else if (s->bytes != 0)
        device_give(s);
}

/* The values come last, and may fail: what was taken is then given back. */
static larder_result memory_take(struct lab__storage *s, int *zeroed)
{
    *zeroed = 0;
    if (s->bytes == 0)
        return LARDER_OK;
    LAB__TRY(s->place == LAB_HOST ? host_take(s, zeroed) : device_take(s));
    if (s->values_bytes == 0 ||
        (s->place == LAB_DEVICE && !s->session->computes))
        return LARDER_OK;
    s->values = lab__host_pages(s->values_bytes, zeroed);
    *zeroed = 0;
    if (s->values != NULL)
        return LARDER_OK;
    memory_give(s);
    return lab__fail_host(s->values_bytes);
}

static bool is_seen(const struct lab__storage *s)
{
    return s->place == LAB_DEVICE && s->bytes != 0;
}

larder_result lab__storage_new(lab *l, lab_place place, uint64_t bytes,
                               uint64_t values, int *zeroed,
                               struct lab__pair **out)
{
    struct lab__pair *pair = lab__host_alloc(sizeof *pair);
    struct lab__storage *s;
    int unused;
    larder_result r;

    if (pair == NULL)
        return lab__fail_host(sizeof *pair);
    s = &pair->storage;
    *s = (struct lab__storage){.refs = 1,
                               .place = place,
                               .session = l,
                               .bytes = bytes,
                               .values_bytes = values};
    r = memory_take(s, zeroed != NULL ? zeroed : &unused);
    if (r != LARDER_OK) {
        lab__host_free(pair);
        return r;
    }
    l->storages++;
    s->id = is_seen(s) ? l->next_storage++ : LAB__UNSEEN_ID + l->next_unseen++;
    if (is_seen(s))
        observe(s, false);
    *out = pair;
    return LARDER_OK;
}

void lab__pair_wrap(struct lab__pair *pair, lab *l, lab_dtype kind, int ndim,
                    const int64_t *sizes, const void *values)
{
    pair->storage = (struct lab__storage){
        .refs = 1,
        .place = LAB_HOST,
        .session = l,
        .address = (uint64_t)(uintptr_t)values,
        .bytes = (uint64_t)lab__count(ndim, sizes) * lab__dtype_bytes(kind),
    };
    pair->tensor = (lab_tensor){.refs = 1,
                                .dtype = kind,
                                .kind = kind,
                                .ndim = ndim,
                                .storage = &pair->storage};
    for (int i = 0; i < ndim; i++)
        pair->tensor.sizes[i] = sizes[i];
    lab__strides_of(ndim, sizes, pair->tensor.strides);
}

void lab__storage_unref(struct lab__storage *s)
{
    if (--s->refs != 0)
        return;
    s->session->storages--;
    memory_give(s);
    if (is_seen(s))
        observe(s, true);
    if (s->values != NULL)
        lab__host_pages_free(s->values, s->values_bytes);
    lab__host_free(s); /* the whole pair: it begins with the storage */
}
