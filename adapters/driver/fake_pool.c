/* fake_pool.c - stream-ordered memory from pools.
 *
 * Each piece is an allocation of its own on the simulated GPU, because how the
 * driver subdivides its pools is not published.  A freed piece serves the next
 * request of its size: on its own stream at once, on another stream after the
 * work queued before the free has completed.  Any wait releases free pieces,
 * down to the pool's threshold. */
#include "driver/fake_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* CUmemPool_attribute: the first three are flags. */
enum {
    REUSE_FLAGS = 3,
    RELEASE_THRESHOLD = 4,
    RESERVED_NOW,
    RESERVED_HIGH,
    USED_NOW,
    USED_HIGH
};

/* The driver's own alignment. */
enum { POOL_ALIGNMENT = 512 };

struct fake_pool {
    struct fake_handle handle;
    struct fake_pool *next;
    int device;
    bool is_default;
    int reuse[REUSE_FLAGS];
    uint64_t threshold;
    uint64_t reserved;
    uint64_t reserved_high;
    uint64_t used;
    uint64_t used_high;
};

struct pool_piece {
    struct pool_piece *next;
    struct fake_pool *pool;
    cud_addr addr;
    uint64_t bytes;
    bool is_free;
    larder_stream stream; /* where it was freed */
    uint64_t event;       /* recorded there at the free */
};

enum { PIECE_BUCKETS = 4096 };

static struct fake_pool *pools;
static struct fake_pool *current[FAKE_DEVICES]; /* NULL: the default one */
static struct pool_piece *pieces[PIECE_BUCKETS];

/* ---- pools -------------------------------------------------------------- */

static struct fake_pool *pool_make(int device, bool is_default)
{
    struct fake_pool *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->device = device;
    p->is_default = is_default;
    for (int i = 0; i < REUSE_FLAGS; i++)
        p->reuse[i] = 1;
    p->next = pools;
    pools = p;
    (void)fake_handle_make(&p->handle, FAKE_POOL);
    return p;
}

/* NULL: it is not a pool (any more). */
static struct fake_pool *pool_find(const void *handle)
{
    return fake_handle_find(FAKE_POOL, handle);
}

static void *handle_of(const struct fake_pool *p)
{
    return p == NULL ? NULL : (void *)p->handle.value;
}

static struct fake_pool *default_pool(int device)
{
    for (struct fake_pool *p = pools; p != NULL; p = p->next) {
        if (p->is_default && p->device == device)
            return p;
    }
    return pool_make(device, true);
}

static struct fake_pool *pool_of(int device)
{
    return current[device] != NULL ? current[device] : default_pool(device);
}

static void note_high(uint64_t now, uint64_t *high)
{
    if (now > *high)
        *high = now;
}

/* ---- pieces ------------------------------------------------------------- */

static struct pool_piece **bucket_of(cud_addr addr)
{
    return &pieces[(addr / POOL_ALIGNMENT) % PIECE_BUCKETS];
}

static struct pool_piece **piece_at(cud_addr addr)
{
    struct pool_piece **at = bucket_of(addr);

    while (*at != NULL && (*at)->addr != addr)
        at = &(*at)->next;
    return at;
}

bool fake_pool_owns(cud_addr addr)
{
    return *piece_at(addr) != NULL;
}

static bool is_passed(struct fake_device *d, const struct pool_piece *p)
{
    return larder_device_event_query(d->dev, p->event) == LARDER_OK;
}

/* Release the free piece at *at to the simulated GPU. */
static void piece_release(struct fake_device *d, struct pool_piece **at)
{
    struct pool_piece *gone = *at;

    (void)larder_device_event_destroy(d->dev, gone->event);
    (void)larder__device_mem_free(d->dev, gone->addr);
    gone->pool->reserved -= gone->bytes;
    *at = gone->next;
    free(gone);
}

/* Release free pieces whose events have passed, of one pool or (NULL) of all
 * the device's, until no more than `keep` is reserved. */
static void pieces_trim(struct fake_device *d, const struct fake_pool *only,
                        const uint64_t *keep)
{
    for (int i = 0; i < PIECE_BUCKETS; i++) {
        struct pool_piece **at = &pieces[i];

        while (*at != NULL) {
            const struct pool_piece *p = *at;
            uint64_t least = keep != NULL ? *keep : p->pool->threshold;

            if (p->is_free && p->pool->device == fake_number(d) &&
                (only == NULL || p->pool == only) &&
                p->pool->reserved > least && is_passed(d, p))
                piece_release(d, at);
            else
                at = &(*at)->next;
        }
    }
}

void fake_pools_settle(struct fake_device *d)
{
    pieces_trim(d, NULL, NULL);
}

static struct pool_piece *piece_reuse(struct fake_device *d,
                                      const struct fake_pool *pool,
                                      uint64_t bytes, larder_stream stream)
{
    for (int i = 0; i < PIECE_BUCKETS; i++) {
        for (struct pool_piece *p = pieces[i]; p != NULL; p = p->next) {
            if (p->is_free && p->pool == pool && p->bytes == bytes &&
                (p->stream == stream || is_passed(d, p)))
                return p;
        }
    }
    return NULL;
}

static larder_result piece_make(struct fake_device *d, struct fake_pool *pool,
                                uint64_t bytes, struct pool_piece **out)
{
    struct pool_piece *p = calloc(1, sizeof *p);
    uint64_t none = 0;
    larder_addr addr = 0;
    larder_result r;

    if (p == NULL)
        return LARDER_ERR_NO_HOST_MEMORY;
    r = larder__device_mem_alloc(d->dev, bytes, &addr);
    if (r == LARDER_ERR_OUT_OF_MEMORY) {
        pieces_trim(d, NULL, &none);
        r = larder__device_mem_alloc(d->dev, bytes, &addr);
    }
    if (r != LARDER_OK) {
        free(p);
        return r;
    }
    *p = (struct pool_piece){
        .next = *bucket_of(addr), .pool = pool, .addr = addr, .bytes = bytes};
    *bucket_of(addr) = p;
    pool->reserved += bytes;
    note_high(pool->reserved, &pool->reserved_high);
    *out = p;
    return LARDER_OK;
}

static larder_result pool_take(struct fake_device *d, struct fake_pool *pool,
                               size_t bytes, larder_stream stream,
                               cud_addr *out)
{
    uint64_t rounded =
        (bytes + POOL_ALIGNMENT - 1) / POOL_ALIGNMENT * POOL_ALIGNMENT;
    struct pool_piece *p = piece_reuse(d, pool, rounded, stream);
    larder_result r = LARDER_OK;

    if (p != NULL)
        (void)larder_device_event_destroy(d->dev, p->event);
    else
        r = piece_make(d, pool, rounded, &p);
    if (r != LARDER_OK)
        return r;
    p->is_free = false;
    pool->used += rounded;
    note_high(pool->used, &pool->used_high);
    *out = p->addr;
    return LARDER_OK;
}

static larder_result piece_give(struct fake_device *d, struct pool_piece *p,
                                larder_stream stream)
{
    uint64_t event = 0;
    larder_result r;

    if (p->is_free)
        return larder__fail(LARDER_ERR_DEVICE, "it is freed already");
    r = larder_device_event_create(d->dev, &event);
    if (r != LARDER_OK)
        return r;
    r = larder_device_event_record(d->dev, event, stream);
    if (r != LARDER_OK) {
        (void)larder_device_event_destroy(d->dev, event);
        return r;
    }
    p->event = event;
    p->stream = stream;
    p->is_free = true;
    p->pool->used -= p->bytes;
    return LARDER_OK;
}

/* Like cuMemFree(): first waits for work queued on the memory's device. */
larder_result fake_pool_free(cud_addr addr)
{
    struct pool_piece *p = *piece_at(addr);
    struct fake_device *d = fake_device_get(p->pool->device);
    larder_result r = piece_give(d, p, 0);

    if (r == LARDER_OK)
        fake_pools_settle(d);
    return r;
}

/* ---- calls -------------------------------------------------------------- */

cud_result cuMemAllocFromPoolAsync(cud_addr *out, size_t bytes, void *pool,
                                   cud_stream stream)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    struct fake_pool *from;
    larder_stream number = 0;

    if (answer != CUD_SUCCESS)
        return answer;
    from = pool_find(pool);
    if (bytes == 0 || from == NULL || from->device != fake_number(d))
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "0 bytes, or not a pool of the device"));
    answer = fake_stream_number(__func__, d, stream, &number);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d, pool_take(d, from, bytes, number, out));
}

cud_result cuMemAllocAsync(cud_addr *out, size_t bytes, cud_stream stream)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    void *pool;

    if (answer != CUD_SUCCESS)
        return answer;
    pool = handle_of(pool_of(fake_number(d)));
    fake_unlock();
    return pool == NULL ? CUD_OUT_OF_MEMORY
                        : cuMemAllocFromPoolAsync(out, bytes, pool, stream);
}

/* A piece is freed in the order of a stream of its own device. */
static cud_result free_piece(const char *symbol, struct fake_device *d,
                             cud_addr addr, larder_stream stream)
{
    struct pool_piece *p = *piece_at(addr);

    if (p->pool->device != fake_number(d))
        return fake_end(fake_broken(symbol, CUD_INVALID_VALUE,
                                    "the stream and the memory are of two "
                                    "devices"));
    return fake_end_sim(symbol, d, piece_give(d, p, stream));
}

/* Memory of cuMemAlloc() may be freed this way too. */
cud_result cuMemFreeAsync(cud_addr addr, cud_stream stream)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_stream number = 0;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(__func__, d, stream, &number);
    if (answer != CUD_SUCCESS || addr == 0)
        return fake_end(answer);
    if (fake_pool_owns(addr))
        return free_piece(__func__, d, addr, number);
    return fake_end_sim(__func__, d, larder__device_mem_free(d->dev, addr));
}

/* Pinned memory (1) on a device (1); the two fields are adjacent. */
cud_result cuMemPoolCreate(void **out, const void *properties)
{
    cud_result answer = fake_begin_bare(__func__);
    const int *words = properties;

    if (answer != CUD_SUCCESS)
        return answer;
    if (words[0] != 1 || words[2] != 1 || fake_device_get(words[3]) == NULL)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "not pinned memory on a device"));
    if (words[1] != 0)
        return fake_end(CUD_NOT_SUPPORTED);
    *out = handle_of(pool_make(words[3], false));
    return fake_end(*out == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS);
}

/* Begin a call about a pool, and find its device. */
static cud_result begin_pool(const char *symbol, const void *handle,
                             struct fake_pool **p, struct fake_device **d)
{
    cud_result answer = fake_begin_handle(symbol, FAKE_POOL, handle, p);

    if (answer == CUD_SUCCESS)
        *d = fake_device_get((*p)->device);
    return answer;
}

/* Completes the work that the frees of its pieces wait for. */
static void pool_complete(struct fake_device *d, const struct fake_pool *pool)
{
    for (int i = 0; i < PIECE_BUCKETS; i++) {
        for (const struct pool_piece *p = pieces[i]; p != NULL; p = p->next) {
            if (p->is_free && p->pool == pool)
                (void)larder_sim_complete(d->dev, p->stream);
        }
    }
}

/* Live pieces keep it: the driver would wait until they are freed. */
cud_result cuMemPoolDestroy(void *pool)
{
    struct fake_device *d;
    struct fake_pool *gone;
    cud_result answer = begin_pool(__func__, pool, &gone, &d);
    struct fake_pool **at = &pools;
    uint64_t none = 0;

    if (answer != CUD_SUCCESS)
        return answer;
    if (gone->is_default || gone->used != 0)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "the default pool, or memory of it lives"));
    if (current[gone->device] == gone)
        current[gone->device] = NULL;
    pool_complete(d, gone);
    pieces_trim(d, gone, &none);
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    fake_handle_drop(&gone->handle);
    free(gone);
    return fake_end(CUD_SUCCESS);
}

cud_result cuMemPoolTrimTo(void *pool, size_t keep_bytes)
{
    struct fake_device *d;
    struct fake_pool *p;
    cud_result answer = begin_pool(__func__, pool, &p, &d);
    uint64_t keep = keep_bytes;

    if (answer != CUD_SUCCESS)
        return answer;
    pieces_trim(d, p, &keep);
    return fake_end(CUD_SUCCESS);
}

static uint64_t *counter_of(struct fake_pool *p, int which)
{
    uint64_t *const all[] = {&p->threshold, &p->reserved, &p->reserved_high,
                             &p->used, &p->used_high};

    return all[which - RELEASE_THRESHOLD];
}

cud_result cuMemPoolGetAttribute(void *pool, int which, void *out)
{
    struct fake_device *d;
    struct fake_pool *p;
    cud_result answer = begin_pool(__func__, pool, &p, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (which >= 1 && which <= REUSE_FLAGS)
        memcpy(out, &p->reuse[which - 1], sizeof(int));
    else if (which >= RELEASE_THRESHOLD && which <= USED_HIGH)
        memcpy(out, counter_of(p, which), sizeof(uint64_t));
    else
        answer = fake_broken(__func__, CUD_INVALID_VALUE,
                             "there is no attribute %d", which);
    return fake_end(answer);
}

/* A high mark can only be set to 0; it restarts from the current value. */
cud_result cuMemPoolSetAttribute(void *pool, int which, void *value)
{
    struct fake_device *d;
    struct fake_pool *p;
    cud_result answer = begin_pool(__func__, pool, &p, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (which >= 1 && which <= REUSE_FLAGS)
        memcpy(&p->reuse[which - 1], value, sizeof(int));
    else if (which == RELEASE_THRESHOLD)
        memcpy(&p->threshold, value, sizeof p->threshold);
    else if (which == RESERVED_HIGH)
        p->reserved_high = p->reserved;
    else if (which == USED_HIGH)
        p->used_high = p->used;
    else
        answer = fake_broken(__func__, CUD_INVALID_VALUE,
                             "attribute %d cannot be set", which);
    return fake_end(answer);
}

cud_result cuMemPoolSetAccess(void *pool, const cud_access *list, size_t count)
{
    struct fake_device *d;
    struct fake_pool *p;
    cud_result answer = begin_pool(__func__, pool, &p, &d);

    (void)list;
    (void)count;
    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

cud_result cuMemPoolGetAccess(int *out, void *pool, cud_location *where)
{
    struct fake_device *d;
    struct fake_pool *p;
    cud_result answer = begin_pool(__func__, pool, &p, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = where->id == fake_number(d) ? CUD_READ_WRITE : 0;
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceGetDefaultMemPool(void **out, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = handle_of(default_pool(device));
    return fake_end(*out == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS);
}

cud_result cuDeviceGetMemPool(void **out, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = handle_of(pool_of(device));
    return fake_end(*out == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS);
}

cud_result cuDeviceSetMemPool(cud_device device, void *pool)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);
    struct fake_pool *p;

    if (answer != CUD_SUCCESS)
        return answer;
    p = pool_find(pool);
    if (p == NULL || p->device != device)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "not a pool of device %d", device));
    current[device] = p;
    return fake_end(CUD_SUCCESS);
}

/* ---- a device that is reset --------------------------------------------- */

void fake_pools_forget(int device)
{
    struct fake_pool **at = &pools;

    for (int i = 0; i < PIECE_BUCKETS; i++) {
        struct pool_piece **piece = &pieces[i];

        while (*piece != NULL) {
            struct pool_piece *p = *piece;

            if (p->pool->device == device) {
                *piece = p->next;
                free(p);
            } else {
                piece = &p->next;
            }
        }
    }
    while (*at != NULL) {
        struct fake_pool *p = *at;

        if (p->device == device) {
            *at = p->next;
            fake_handle_drop(&p->handle);
            free(p);
        } else {
            at = &p->next;
        }
    }
    current[device] = NULL;
}
