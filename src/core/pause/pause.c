/* pause.c - releases the memory of a private pool, and maps it again. */
#include "core/pause/pause.h"

#include "base/fail.h"
#include "core/entry/handle.h"
#include "core/peers/peers.h"
#include "core/segments/events.h"
#include "core/segments/segment.h"
#include "core/state/paged.h"

/* ---- segments and runs of pages --------------------------------------------- */

/* Take a step for each of the pool's segments, up to the first that fails. */
typedef larder_result step(struct allocator *a, struct segment *s);

static larder_result each(struct allocator *a, const struct private_pool *p,
                          step *take)
{
    larder_result r = LARDER_OK;

    for (struct segment *s = p->segments; s != NULL && r == LARDER_OK;
         s = s->pool_next)
        r = take(a, s);
    return r;
}

typedef bool block_test(const struct block *b);

/* The next run of pages that such blocks touch, from *b on, which moves on.
 * False: none. */
static bool next_run(struct allocator *a, const struct block **b,
                     block_test *test, struct page_span *run)
{
    bool found = false;

    for (; *b != NULL; *b = block_next(a, *b)) {
        struct page_span pages;

        if (!test(*b))
            continue;
        pages = block_pages(*b);
        if (found && pages.begin > run->end)
            break;
        run->begin = found ? run->begin : pages.begin;
        run->end = pages.end;
        found = true;
    }
    return found;
}

/* The sum, over the runs of the pool's segments, of what `bytes` says of each. */
static uint64_t runs_sum(struct allocator *a, const struct private_pool *p,
                         block_test *test,
                         uint64_t (*bytes)(const struct segment *,
                                           struct page_span))
{
    uint64_t sum = 0;

    for (const struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        const struct block *b = s->head;
        struct page_span run;

        while (next_run(a, &b, test, &run))
            sum += bytes(s, run);
    }
    return sum;
}

static bool is_live(const struct block *b)
{
    return b->state == BLOCK_LIVE;
}

/* Whether its contents are kept.  What is freed meanwhile keeps its place
 * there; nothing of a region is. */
static bool has_contents(const struct block *b)
{
    return is_live(b) || (b->segment->kind == SEGMENT_EXPANDABLE &&
                          b->state != BLOCK_UNMAPPED);
}

/* ---- waiting ---------------------------------------------------------------- */

/* A block that still waits once its streams have passed is held by an
 * export. */
static larder_result check_exports(struct allocator *a, struct segment *s)
{
    for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        if (b->state == BLOCK_PENDING || (is_live(b) && block_is_exported(b)))
            return larder__events_fail_exported(b);
    }
    return larder__events_pass_uses(a, s);
}

larder_result larder__pause_settle(struct allocator *a,
                                   const struct private_pool *p)
{
    larder_result r = larder__events_sync_owner(a, p);

    if (r == LARDER_OK)
        r = larder__events_pass_heaps(a, p->pools);
    return r == LARDER_OK ? each(a, p, check_exports) : r;
}

/* ---- contents --------------------------------------------------------------- */

static uint64_t contents_bytes(struct allocator *a,
                               const struct private_pool *p)
{
    return runs_sum(a, p, has_contents, span_bytes);
}

/* Copy between the run's pages and `host`, where each has its place, whether it
 * still has memory or not. */
static larder_result copy_run(struct allocator *a, const struct segment *s,
                              struct page_span run, char *host,
                              larder_copy_kind kind)
{
    struct page_span part = {.end = run.begin};
    bool is_out = kind == LARDER_COPY_TO_HOST;
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && page_next_held(s, run.end, &part)) {
        uint64_t addr = page_at(s, part.begin);
        uint64_t pointer =
            (uint64_t)(uintptr_t)host + (addr - page_at(s, run.begin));

        r = larder_device_copy(a->device, is_out ? pointer : addr,
                               is_out ? addr : pointer, span_bytes(s, part),
                               kind, s->heap->stream);
    }
    return r;
}

static larder_result copy_segment(struct allocator *a, const struct segment *s,
                                  char **host, larder_copy_kind kind)
{
    struct kept *kept = &s->heap->pool->owner->kept;
    const struct block *b = s->head;
    struct page_span run;
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && next_run(a, &b, has_contents, &run)) {
        r = copy_run(a, s, run, *host, kind);
        *host += span_bytes(s, run);
    }
    /* Even after a failure: copies may be queued. */
    fail_keep_first(&r, larder__kept_wait(a, kept, s->heap->stream));
    return r;
}

static larder_result copy_contents(struct allocator *a, struct private_pool *p,
                                   larder_copy_kind kind)
{
    char *host = p->kept.host;
    larder_result r = LARDER_OK;

    if (host == NULL)
        return LARDER_OK;
    for (struct segment *s = p->segments; s != NULL && r == LARDER_OK;
         s = s->pool_next)
        r = copy_segment(a, s, &host, kind);
    if (r == LARDER_OK) /* all streams have passed */
        p->kept.is_in_flight = false;
    larder__assert(r != LARDER_OK || host == p->kept.host + p->kept.bytes);
    return r;
}

/* Until no copy from an earlier pause is running. */
static larder_result wait_for_copies(struct allocator *a,
                                     struct private_pool *p)
{
    larder_result r = LARDER_OK;

    if (p->kept.is_in_flight) {
        r = larder__events_pass_heaps(a, p->pools);
        p->kept.is_in_flight = r != LARDER_OK;
    }
    return r;
}

larder_result larder__pause_forget(struct allocator *a, struct private_pool *p)
{
    larder_result r = wait_for_copies(a, p);

    if (r != LARDER_OK || larder__kept_free(a, &p->kept))
        return r;
    return larder__fail_plain(LARDER_ERR_DEVICE);
}

static const char *kind_of(const struct private_pool *p)
{
    return p->tag != NULL ? "tag" : "region";
}

/* `bytes`: contents_bytes(). */
static larder_result keep_contents(struct allocator *a, struct private_pool *p,
                                   uint64_t bytes)
{
    larder_result r;

    if (bytes == 0)
        return LARDER_OK;
    if (!larder__kept_take(a, &p->kept, bytes))
        return larder__fail(LARDER_ERR_NO_HOST_MEMORY,
                            "not enough host memory to keep the contents of "
                            "the %s '%s'",
                            kind_of(p), p->name);
    r = copy_contents(a, p, LARDER_COPY_TO_HOST);
    if (r != LARDER_OK)
        (void)larder__kept_free(a, &p->kept);
    return r;
}

/* ---- detaching and attaching ------------------------------------------------ */

static bool segment_is_detached(const struct segment *s)
{
    return s->detached.end != 0;
}

bool larder__detached_is_sound(const struct segment *s)
{
    const struct detached *d = &s->detached;

    if (!segment_is_detached(s))
        return d->begin == 0 && d->mapped == 0;
    return segment_is_paused(s) && d->begin <= d->mapped &&
           d->mapped <= d->end && d->end <= s->bytes / s->page_bytes;
}

static bool is_detached(const struct private_pool *p)
{
    const struct segment *s = p->segments;

    while (s != NULL && !segment_is_detached(s))
        s = s->pool_next;
    return s != NULL;
}

/* Unmap one run after another, up to the first failure. */
static larder_result detach(struct allocator *a, struct segment *s)
{
    struct page_span run = {0};
    larder_result r = LARDER_OK;

    larder__assert(!segment_is_detached(s));
    while (r == LARDER_OK &&
           page_next_held(s, s->bytes / s->page_bytes, &run)) {
        r = larder__device_unmap(a->device, page_at(s, run.begin),
                                 span_bytes(s, run),
                                 page_count_handles(s, run));
        if (r == LARDER_OK)
            s->detached.end = run.end;
    }
    return r;
}

static larder_result map_handles(struct allocator *a, struct segment *s)
{
    struct detached *d = &s->detached;

    while (d->mapped < d->end) {
        struct page_span handle = {d->mapped, d->mapped + 1};
        larder_result r = LARDER_OK;

        if (s->pages[handle.begin] != 0) {
            handle.end = page_handle_end(s, handle.begin);
            r = larder__device_map(a->device, page_at(s, handle.begin),
                                   span_bytes(s, handle),
                                   s->pages[handle.begin]);
        }
        if (r != LARDER_OK)
            return r;
        d->mapped = handle.end;
    }
    return LARDER_OK;
}

/* Map what is detached.  If it fails it continues at the next call. */
static larder_result attach(struct allocator *a, struct segment *s)
{
    struct detached *d = &s->detached;
    struct page_span run = {.end = d->begin};
    larder_result r = map_handles(a, s);

    while (r == LARDER_OK && page_next_held(s, d->end, &run)) {
        r = larder__device_set_access(a->device, page_at(s, run.begin),
                                      span_bytes(s, run));
        if (r == LARDER_OK)
            d->begin = run.end;
    }
    if (r == LARDER_OK)
        *d = (struct detached){0};
    return r;
}

void larder__pause_reattach(struct allocator *a, struct private_pool *p)
{
    char words[LARDER_FAIL_MAX - 256];

    larder__copy_error(words, sizeof words);
    if (each(a, p, attach) == LARDER_OK) {
        larder__set_error("%s", words);
        return;
    }
    p->is_paused = true;
    larder__set_error("%s; what was unmapped could not be mapped again: the "
                      "%s '%s' is paused with all of its memory, and "
                      "%s tries again",
                      words, kind_of(p), p->name,
                      p->tag != NULL ? "larder_resume()"
                                     : "larder_region_resume()");
}

larder_result larder__pause_detach(struct allocator *a, struct private_pool *p)
{
    larder_result r = each(a, p, detach);

    larder__assert(allocator_is_locked(a) && !p->is_paused);
    if (r != LARDER_OK)
        larder__pause_reattach(a, p);
    return r;
}

/* ---- releasing -------------------------------------------------------------- */

static larder_result let_go(struct allocator *a, struct segment *s)
{
    struct page_span span = {s->detached.mapped, s->detached.end};

    if (s->kind == SEGMENT_PAGED)
        larder__paged_let_go(a, s, span);
    else
        larder__expandable_drop(a, s, span);
    s->detached = (struct detached){0};
    return LARDER_OK;
}

void larder__pause_let_go(struct allocator *a, const struct private_pool *p)
{
    (void)each(a, p, let_go);
}

/* The same, and to the device. */
static void release(struct allocator *a, const struct private_pool *p)
{
    uint64_t loose = larder__paged_loose_bytes(a);

    larder__pause_let_go(a, p);
    larder__paged_keep(a, loose);
}

larder_result larder__pause_begin(struct allocator *a, struct private_pool *p,
                                  bool keep)
{
    uint64_t bytes = contents_bytes(a, p);
    larder_result r = wait_for_copies(a, p);

    if (r != LARDER_OK)
        return r;
    (void)larder__kept_free(a, &p->kept); /* is not in the way if it stays */
    if (keep)
        r = keep_contents(a, p, bytes);
    if (r != LARDER_OK)
        return r;
    r = larder__pause_detach(a, p);
    if (r != LARDER_OK) {
        if (!p->is_paused)
            (void)larder__kept_free(a, &p->kept);
        return r;
    }
    release(a, p);
    p->is_paused = true;
    p->paused_bytes = bytes;
    return LARDER_OK;
}

/* ---- resuming --------------------------------------------------------------- */

/* Live and pending blocks.  What is free by now has no pages or, where they could
 * not be released, all. */
static bool needs_pages(const struct block *b)
{
    if (b->state == BLOCK_FREE)
        return b->segment->kind == SEGMENT_EXPANDABLE &&
               larder__expandable_has_pages(b);
    return b->state != BLOCK_UNMAPPED;
}

static uint64_t missing_bytes(const struct segment *s, struct page_span run)
{
    uint64_t bytes = 0;

    for (size_t i = run.begin; i < run.end; i++)
        bytes += s->pages[i] == 0 ? s->page_bytes : 0;
    return bytes;
}

/* Bytes of the pages that resuming has to supply. */
static uint64_t pause_missing(struct allocator *a, const struct private_pool *p)
{
    return runs_sum(a, p, needs_pages, missing_bytes);
}

/* The owner's own limit: nothing that filling releases elsewhere would help. */
static larder_result check_limit(struct allocator *a,
                                 const struct private_pool *p)
{
    uint64_t bytes = pause_missing(a, p);
    const struct holding *h = &p->holding;

    if (bytes == 0 || holding_is_within(h, bytes))
        return LARDER_OK;
    return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                        "the %s '%s' may hold %llu bytes and needs %llu to "
                        "resume: raise its limit%s",
                        kind_of(p), p->name, (unsigned long long)h->limit_bytes,
                        (unsigned long long)(h->held_bytes + bytes),
                        p->tag != NULL ? ", or free some of its allocations"
                                       : "");
}

static larder_result fill_pool(struct allocator *a,
                               const struct private_pool *p, pause_fill *fill)
{
    larder_result r = LARDER_OK;

    for (struct segment *s = p->segments; s != NULL && r == LARDER_OK;
         s = s->pool_next) {
        const struct block *b = s->head;
        struct page_span run;

        while (r == LARDER_OK && next_run(a, &b, needs_pages, &run))
            r = fill(a, s, run);
    }
    return r;
}

/* The headers that marking what was freed as unmapped takes. */
static bool ensure_headers(struct allocator *a, const struct private_pool *p)
{
    uint32_t headers = SLAB_SPARE;

    for (struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b))
            headers += b->state == BLOCK_FREE ? 2 : 0;
    }
    return larder__slab_ensure(&a->slab, headers);
}

static larder_result supply(struct allocator *a, struct private_pool *p,
                            pause_fill *fill)
{
    larder_result r = check_limit(a, p);

    if (r == LARDER_OK)
        r = fill_pool(a, p, fill);
    if (r == LARDER_OK && !ensure_headers(a, p))
        r = larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return r == LARDER_OK ? copy_contents(a, p, LARDER_COPY_TO_DEVICE) : r;
}

/* All pages of live blocks are mapped. */
static void resumed(struct allocator *a, struct private_pool *p)
{
    struct segment *next;

    p->is_paused = false;
    p->paused_bytes = 0;
    (void)larder__kept_free(a, &p->kept);
    for (struct segment *s = p->segments; s != NULL; s = next) {
        next = s->pool_next;
        if (s->kind == SEGMENT_EXPANDABLE)
            larder__expandable_forget(a, s);
    }
}

/* Without pages again, as far as the device unmaps them, unless a copy may still
 * write there. */
static void resume_undo(struct allocator *a, const struct private_pool *p)
{
    char words[LARDER_FAIL_MAX];

    larder__copy_error(words, sizeof words);
    for (struct segment *s = p->segments; s != NULL && !p->kept.is_in_flight;
         s = s->pool_next)
        (void)detach(a, s);
    release(a, p);
    larder__set_error("%s", words);
}

/* After an error it is still paused, and what `fill` mapped is released. */
static larder_result pause_end(struct allocator *a, struct private_pool *p,
                               pause_fill *fill)
{
    bool was_detached = is_detached(p); /* with its contents */
    larder_result r = was_detached ? each(a, p, attach) : supply(a, p, fill);

    larder__assert(allocator_is_locked(a) && p->is_paused);
    if (r == LARDER_OK)
        resumed(a, p);
    else if (!was_detached)
        resume_undo(a, p);
    return r;
}

static larder_result resume(struct allocator *a, struct private_pool *p,
                            pause_fill *fill)
{
    larder_result r;

    if (!p->is_paused)
        return larder__fail(LARDER_ERR_INVALID, "the %s '%s' is not paused",
                            kind_of(p), p->name);
    r = larder__capturing_forbids(a, "memory cannot be paused or resumed");
    return r == LARDER_OK ? pause_end(a, p, fill) : r;
}

larder_result larder__pause_resume(struct allocator *a, struct private_pool *p,
                                   pause_fill *fill)
{
    struct peers_search search = larder__peers_search(a);
    larder_result r = resume(a, p, fill);

    while (
        r == LARDER_ERR_OUT_OF_MEMORY &&
        larder__peers_help_owner(a, &p->holding, &search, pause_missing(a, p)))
        r = resume(a, p, fill);
    return r;
}

void larder__pause_destroy(struct allocator *a)
{
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next) {
        if (p->is_paused)
            larder__pause_let_go(a, p);
        p->is_paused = false;
        larder__kept_leave(a, &p->kept);
    }
}
