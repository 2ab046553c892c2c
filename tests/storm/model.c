/* model.c - what is allocated, what kernels do to it, and what must be found. */
#include "storm/storm.h"
#include "support/readable.h"

#include <sched.h>

/* ---- contents -------------------------------------------------------------- */

/* All words of small blocks, 17 of large ones, for each touches a page; the last
 * word always. */
static uint64_t word_step(uint64_t bytes)
{
    return bytes <= KIB(1) ? 8 : bytes / 16 / 8 * 8;
}

static uint64_t word_of(uint64_t value, uint64_t at)
{
    return (value + at) * UINT64_C(0x9E3779B97F4A7C15);
}

static void word_put(larder_addr addr, uint64_t word)
{
    memcpy((void *)(uintptr_t)addr, &word, sizeof word);
}

static uint64_t word_get(larder_addr addr)
{
    uint64_t word;

    memcpy(&word, (const void *)(uintptr_t)addr, sizeof word);
    return word;
}

static void contents_put(larder_addr addr, uint64_t bytes, uint64_t value)
{
    for (uint64_t at = 0; at + 8 <= bytes; at += word_step(bytes))
        word_put(addr + at, word_of(value, at));
    word_put(addr + bytes - 8, word_of(value, bytes - 8));
}

/* Where other contents are; bytes: nowhere. */
static uint64_t contents_differ(larder_addr addr, uint64_t bytes,
                                uint64_t value)
{
    for (uint64_t at = 0; at + 8 <= bytes - 8; at += word_step(bytes)) {
        if (word_get(addr + at) != word_of(value, at))
            return at;
    }
    if (word_get(addr + bytes - 8) != word_of(value, bytes - 8))
        return bytes - 8;
    return bytes;
}

static void contents_expect(const struct block *b, larder_addr addr,
                            uint64_t value, const char *who)
{
    uint64_t at = contents_differ(addr, b->bytes, value);

    if (at < b->bytes)
        storm_fail("%s finds 0x%llx instead of 0x%llx at 0x%llx + %llu (%llu "
                   "bytes of stream %llu, tag %d, pool %d, state %d)",
                   who, (unsigned long long)word_get(addr + at),
                   (unsigned long long)word_of(value, at),
                   (unsigned long long)addr, (unsigned long long)at,
                   (unsigned long long)b->bytes, (unsigned long long)b->stream,
                   b->tag, b->pool, (int)b->state);
}

void contents_look(const struct block *b, larder_addr addr, const char *why)
{
    if (b->value != 0)
        contents_expect(b, addr, b->value, why);
}

/* ---- kernels --------------------------------------------------------------- */

struct kernel {
    struct block *block;
    larder_stream stream;
    uint64_t value;
    bool writes;
};

/* The block's addr and bytes stay while kernels are queued for it. */
static void kernel_run(void *ctx)
{
    struct kernel *k = ctx;
    struct block *b = k->block;

    if (k->writes)
        contents_put(b->addr, b->bytes, k->value);
    else
        contents_expect(b, b->addr, k->value, "a kernel");
    atomic_fetch_sub(&b->queued[k->stream], 1);
    free(k);
}

/* Another thread's injected fault may hit what the model itself asks for. */
static bool try_again(struct worker *me, larder_result r, const char *call)
{
    if (r == LARDER_OK)
        return false;
    if (!plan_has(&me->w->plan, GROUP_fault) || storm_failed()) {
        storm_fail("%s: %s", call, larder_last_error());
        return false;
    }
    sched_yield();
    return true;
}
#define PERSIST(me, expression)                                                \
    while (try_again((me), (expression), #expression)) {                       \
    }

/* Waiting for a stream runs nothing on a manual device, and neither does a
 * free, so work on a block's own stream cannot stay queued there. */
static void kernel_queue(struct worker *me, struct block *b,
                         larder_stream stream, bool writes)
{
    struct kernel *k = malloc(sizeof *k);

    if (k == NULL)
        abort();
    *k = (struct kernel){b, stream, b->value, writes};
    atomic_fetch_add(&b->queued[stream], 1);
    PERSIST(me, larder_sim_launch(me->w->dev, stream, kernel_run, k));
    if (me->w->plan.is_manual && stream == b->stream)
        stream_complete(me, stream);
}

void kernel_write(struct worker *me, struct block *b, larder_stream stream)
{
    pthread_mutex_lock(&me->w->lock);
    b->value = ++me->w->next_value;
    pthread_mutex_unlock(&me->w->lock);
    kernel_queue(me, b, stream, true);
}

void kernel_look(struct worker *me, struct block *b, larder_stream stream)
{
    if (b->value != 0)
        kernel_queue(me, b, stream, false);
}

void stream_follow(struct worker *me, larder_stream first, larder_stream then)
{
    larder_device *dev = me->w->dev;
    uint64_t event = 0;

    PERSIST(me, larder_device_event_create(dev, &event));
    PERSIST(me, larder_device_event_record(dev, event, first));
    PERSIST(me, larder_sim_wait_event(dev, then, event));
    PERSIST(me, larder_device_event_destroy(dev, event));
}

void stream_complete(struct worker *me, larder_stream stream)
{
    PERSIST(me, larder_sim_complete(me->w->dev, stream));
}

void streams_complete(struct worker *me)
{
    for (larder_stream s = 0; s < STREAMS; s++)
        stream_complete(me, s);
}

/* ---- overlap and order --------------------------------------------------------- */

bool block_is_idle(const struct block *b)
{
    for (int s = 0; s < STREAMS; s++) {
        if (atomic_load(&b->queued[s]) != 0)
            return false;
    }
    return true;
}

static bool overlaps(const struct block *b, larder_addr addr, uint64_t bytes)
{
    return b->addr < addr + bytes && addr < b->addr + b->bytes;
}

/* `old` is or was where `b` is now. */
static void overlap_check(const struct world *w, const struct block *old,
                          const struct block *b)
{
    const char *is =
        old->state == BLOCK_LIVE ? "a live one" : "an exported one";

    if (old->state != BLOCK_GONE) {
        storm_fail("%llu bytes at 0x%llx overlap %s: %llu bytes at 0x%llx "
                   "(tag %d, pool %d)",
                   (unsigned long long)b->bytes, (unsigned long long)b->addr,
                   is, (unsigned long long)old->bytes,
                   (unsigned long long)old->addr, old->tag, old->pool);
        return;
    }
    for (larder_stream s = 0; s < STREAMS; s++) {
        if (!plan_has(&w->plan, GROUP_ordering) ||
            (s == b->stream && b->kind != KIND_PINNED) ||
            atomic_load(&old->queued[s]) == 0)
            continue;
        storm_fail("%llu bytes at 0x%llx for stream %llu were freed, and %d "
                   "kernels on stream %llu still use them (they were of "
                   "stream %llu, tag %d, pool %d, kind %d, recorded 0x%x)",
                   (unsigned long long)b->bytes, (unsigned long long)b->addr,
                   (unsigned long long)b->stream, atomic_load(&old->queued[s]),
                   (unsigned long long)s, (unsigned long long)old->stream,
                   old->tag, old->pool, (int)old->kind, old->recorded);
    }
}

static struct block *block_register(struct world *w, const struct block *like)
{
    struct block *place = NULL;

    for (struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->state == BLOCK_GONE && !b->is_leaving && block_is_idle(b))
            b->state = BLOCK_NONE;
        if (b->state != BLOCK_NONE && overlaps(b, like->addr, like->bytes))
            overlap_check(w, b, like);
        if (b->state == BLOCK_NONE && place == NULL)
            place = b;
    }
    if (place == NULL)
        return NULL;
    place->state = BLOCK_LIVE;
    place->kind = like->kind;
    place->owner = like->owner;
    place->addr = like->addr;
    place->bytes = like->bytes;
    place->stream = like->stream;
    place->value = 0;
    place->tag = like->tag;
    place->pool = like->pool;
    place->exports = 0;
    place->recorded = 0;
    w->live++;
    return place;
}

struct block *block_add(struct worker *me, const struct block *like)
{
    struct block *b;

    for (;;) {
        pthread_mutex_lock(&me->w->lock);
        b = block_register(me->w, like);
        pthread_mutex_unlock(&me->w->lock);
        if (b != NULL)
            break;
        streams_complete(me);
    }
    if (b->kind != KIND_PINNED && !storm_failed()) {
        kernel_write(me, b, b->stream);
        if (chance(me, 2))
            kernel_look(me, b, b->stream);
    }
    return b;
}

void block_leave(struct worker *me, struct block *b)
{
    pthread_mutex_lock(&me->w->lock);
    b->state = b->exports > 0 ? BLOCK_HELD : BLOCK_GONE;
    b->is_leaving = true;
    me->w->live--;
    pthread_mutex_unlock(&me->w->lock);
}

void block_left(struct worker *me, struct block *b, bool is_freed)
{
    pthread_mutex_lock(&me->w->lock);
    b->is_leaving = false;
    if (!is_freed) {
        b->state = BLOCK_LIVE;
        me->w->live++;
    }
    pthread_mutex_unlock(&me->w->lock);
}

struct block *block_pick(struct worker *me, unsigned kinds)
{
    struct block *found = NULL;
    size_t at = draw(me, BLOCKS);

    pthread_mutex_lock(&me->w->lock);
    /* Places fill from the front. */
    if (me->w->live < BLOCKS / 8)
        at = draw(me, 1 + 2 * (uint64_t)me->w->live);
    for (size_t i = 0; i < BLOCKS && found == NULL; i++) {
        struct block *b = &me->w->blocks[(at + i) % BLOCKS];

        if (b->state == BLOCK_LIVE && (b->kind & kinds) &&
            b->owner == me->number)
            found = b;
    }
    pthread_mutex_unlock(&me->w->lock);
    return found;
}

void block_give(struct worker *me, struct block *b, int owner)
{
    pthread_mutex_lock(&me->w->lock);
    b->owner = owner;
    pthread_mutex_unlock(&me->w->lock);
}

/* ---- memory that is away --------------------------------------------------------- */

bool world_is_lost(const struct world *w, larder_addr addr, uint64_t bytes)
{
    for (int i = 0; i < LOST; i++) {
        const struct place *p = &w->lost[i];

        if (p->bytes != 0 && p->addr < addr + bytes &&
            addr < p->addr + p->bytes && !memory_is_readable(p->addr))
            return true;
    }
    return false;
}

/* The message has the range. */
void world_note_lost(struct worker *me)
{
    const char *at = larder_last_error();
    unsigned long long bytes = 0, addr = 0;
    int is_whole = 0;

    if (strstr(at, "whose contents are kept") == NULL)
        return;
    while (!is_whole && (at = strstr(at, "the ")) != NULL)
        (void)sscanf(at++, "the %llu bytes at 0x%llx, whose %n", &bytes, &addr,
                     &is_whole);
    if (!is_whole)
        return;
    pthread_mutex_lock(&me->w->lock);
    for (int i = 0; i < LOST; i++) {
        if (me->w->lost[i].bytes == 0) {
            me->w->lost[i] = (struct place){.addr = addr, .bytes = bytes};
            break;
        }
    }
    pthread_mutex_unlock(&me->w->lock);
}

bool block_is_usable(const struct world *w, const struct block *b)
{
    if (b->tag >= 0 && w->tags[b->tag].is_paused)
        return false;
    if (b->kind == KIND_REGION && w->regions[b->owner].is_paused)
        return false;
    return !world_is_lost(w, b->addr, b->bytes);
}

/* ---- everything ------------------------------------------------------------------ */

void world_settle(struct worker *me)
{
    streams_complete(me);
    for (const struct block *b = me->w->blocks; b < me->w->blocks + BLOCKS;
         b++) {
        if (b->state != BLOCK_NONE && b->state != BLOCK_GONE &&
            block_is_usable(me->w, b) && !storm_failed())
            contents_look(b, b->addr, "the host");
    }
}

struct audit {
    const struct world *w;
    int found;
};

/* Before an allocation there may be a red zone. */
static const struct block *live_at(const struct world *w, larder_addr addr,
                                   uint64_t bytes)
{
    for (const struct block *b = w->blocks; b < w->blocks + BLOCKS; b++) {
        if (b->state == BLOCK_LIVE && b->kind == KIND_PLAIN &&
            b->addr >= addr && b->addr < addr + bytes &&
            (b->addr == addr || plan_has(&w->plan, GROUP_debug)))
            return b;
    }
    return NULL;
}

static bool is_of_region(const struct world *w, larder_addr addr)
{
    for (int i = 0; i < REGIONS; i++) {
        const struct region *g = &w->regions[i];

        if (g->handle != NULL && addr >= g->addr &&
            addr < g->addr + (uint64_t)REGION_PAGES * LARDER_REGION_PAGE)
            return true;
    }
    return false;
}

static int audit_block(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *block)
{
    struct audit *audit = ctx;
    const struct block *b;

    if (block->state != LARDER_BLOCK_ALLOCATED ||
        is_of_region(audit->w, block->addr))
        return 0;
    b = live_at(audit->w, block->addr, block->bytes);
    if (b == NULL)
        storm_fail("larder_walk() has an allocation of %llu bytes at 0x%llx "
                   "that the program does not have",
                   (unsigned long long)block->requested_bytes,
                   (unsigned long long)block->addr);
    else if (b->bytes > block->bytes || b->bytes != block->requested_bytes ||
             (b->pool < 0 && segment->stream != b->stream &&
              segment->pool.first == 0))
        storm_fail("%llu bytes at 0x%llx of stream %llu are %llu (%llu "
                   "requested) of stream %llu in larder_walk()",
                   (unsigned long long)b->bytes, (unsigned long long)b->addr,
                   (unsigned long long)b->stream,
                   (unsigned long long)block->bytes,
                   (unsigned long long)block->requested_bytes,
                   (unsigned long long)segment->stream);
    else
        audit->found++;
    return 0;
}

void world_audit(struct worker *me)
{
    struct audit audit = {.w = me->w};
    int live = 0;

    if (larder_check(me->w->a) != LARDER_OK)
        storm_fail("larder_check(): %s", larder_last_error());
    if (me->w->pinned != NULL && larder_check(me->w->pinned) != LARDER_OK)
        storm_fail("larder_check() of pinned memory: %s", larder_last_error());
    if (storm_failed())
        return;
    for (int i = 0; i < BLOCKS; i++)
        live += me->w->blocks[i].state == BLOCK_LIVE &&
                me->w->blocks[i].kind == KIND_PLAIN;
    if (larder_walk(me->w->a, NULL, audit_block, &audit) != LARDER_OK)
        storm_fail("larder_walk(): %s", larder_last_error());
    if (audit.found != live)
        storm_fail("larder_walk() finds %d of %d live allocations", audit.found,
                   live);
}
