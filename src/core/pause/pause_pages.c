/* pause_pages.c - the pages of a paused segment through their states, in runs
 * as long as the driver takes at once (pause.h). */
#include "core/pause/pause.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/peers/draw.h"
#include "core/pools/tags.h"
#include "core/segments/events.h"
#include "core/segments/orphan.h"
#include "core/state/held.h"

/* A run of pages in the same state. */
struct run {
    size_t begin;
    size_t end;
};

typedef bool page_test(const struct paused_page *p);

static bool is_mapped(const struct paused_page *p)
{
    return p->state == PAGE_MAPPED;
}

static bool is_mapped_new(const struct paused_page *p)
{
    return p->state == PAGE_MAPPED && p->is_new;
}

static bool is_fresh(const struct paused_page *p)
{
    return p->state == PAGE_MAPPED && p->is_fresh;
}

/* The next run of such pages after `run`.  False: none. */
static bool next_run(const struct paused *p, page_test *test, struct run *run)
{
    larder__assert(run->end <= p->end);
    run->begin = run->end;
    while (run->begin < p->end && !test(&p->pages[run->begin]))
        run->begin++;
    run->end = run->begin;
    while (run->end < p->end && test(&p->pages[run->end]))
        run->end++;
    return run->end > run->begin;
}

static larder_addr run_addr(const struct segment *s, const struct run *run)
{
    return s->addr + run->begin * s->page_bytes;
}

static uint64_t run_bytes(const struct segment *s, const struct run *run)
{
    return (run->end - run->begin) * s->page_bytes;
}

/* ---- consistency check ---------------------------------------------------- */

static bool has_handle(const struct paused_page *p)
{
    return p->state == PAGE_MAPPED || p->state == PAGE_HELD;
}

uint64_t larder__paused_held_bytes(const struct segment *s)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->paused->end; i++)
        bytes += has_handle(&s->paused->pages[i]) ? s->page_bytes : 0;
    return bytes;
}

bool larder__paused_is_sound(const struct segment *s)
{
    const struct paused *p = s->paused;

    for (size_t i = 0; i < s->bytes / s->page_bytes; i++) {
        bool expected = i < p->end && has_handle(&p->pages[i]);

        if ((s->pages[i] != 0) != expected)
            return false;
    }
    return true;
}

/* ---- creating ------------------------------------------------------------- */

static size_t pages_end(const struct segment *s)
{
    size_t end = s->bytes / s->page_bytes;

    while (end > 0 && s->pages[end - 1] == 0)
        end--;
    return end;
}

larder_result larder__paused_make(struct allocator *a, struct segment *s,
                                  bool keep)
{
    size_t end = pages_end(s);
    struct paused *p =
        larder__host_alloc(1, sizeof *p + end * sizeof *p->pages);
    uint32_t places = 0;

    if (p == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    p->end = end;
    for (size_t i = 0; i < end; i++) {
        p->pages[i].place = places;
        p->pages[i].state = s->pages[i] != 0 ? PAGE_MAPPED : PAGE_ABSENT;
        places += s->pages[i] != 0;
    }
    if (keep && places > 0 &&
        !larder__kept_take(a, &p->kept, places * s->page_bytes)) {
        larder__host_free(p);
        return larder__fail(LARDER_ERR_NO_HOST_MEMORY,
                            "not enough host memory to keep the contents");
    }
    larder__assert(s->paused == NULL && s->kind == SEGMENT_EXPANDABLE);
    s->paused = p;
    larder__assert_slow(larder__paused_is_sound(s));
    return LARDER_OK;
}

/* Free it, or keep it with its tag until that is possible. */
static void paused_give(struct allocator *a, struct tag *tag, struct paused *p)
{
    if (larder__kept_free(a, &p->kept)) {
        larder__host_free(p);
        return;
    }
    p->next = tag->stale;
    tag->stale = p;
}

void larder__paused_free(struct allocator *a, struct segment *s)
{
    struct paused *p = s->paused;

    s->paused = NULL;
    paused_give(a, s->heap->pool->owner->tag, p);
}

void larder__paused_free_stale(struct allocator *a, struct tag *tag)
{
    struct paused *p = tag->stale;

    tag->stale = NULL;
    while (p != NULL) {
        struct paused *next = p->next;

        p->kept.is_in_flight = false;
        paused_give(a, tag, p);
        p = next;
    }
}

/* ---- unmapping and mapping ------------------------------------------------ */

static larder_result unmap_runs(struct allocator *a, const struct segment *s,
                                page_test *test)
{
    struct paused *p = s->paused;
    struct run run = {0};

    while (next_run(p, test, &run)) {
        larder_result r =
            larder__device_unmap(a->device, run_addr(s, &run),
                                 run_bytes(s, &run), run.end - run.begin);

        if (r != LARDER_OK)
            return r;
        for (size_t i = run.begin; i < run.end; i++)
            p->pages[i].state = PAGE_HELD;
    }
    larder__assert_slow(larder__paused_is_sound(s));
    return LARDER_OK;
}

larder_result larder__paused_unmap(struct allocator *a, struct segment *s)
{
    return unmap_runs(a, s, is_mapped);
}

void larder__paused_unmap_new(struct allocator *a, struct segment *s)
{
    if (!s->paused->kept.is_in_flight)
        (void)unmap_runs(a, s, is_mapped_new);
}

larder_result larder__paused_map(struct allocator *a, struct segment *s)
{
    struct paused *p = s->paused;
    struct run run = {0};
    larder_result r = LARDER_OK;

    for (size_t i = 0; i < p->end; i++) {
        if (p->pages[i].state != PAGE_HELD)
            continue;
        r = larder__device_map(a->device, s->addr + i * s->page_bytes,
                               s->page_bytes, s->pages[i]);
        if (r != LARDER_OK)
            return r;
        p->pages[i].state = PAGE_MAPPED;
    }
    while (r == LARDER_OK && next_run(p, is_mapped, &run))
        r = larder__device_set_access(a->device, run_addr(s, &run),
                                      run_bytes(s, &run));
    return r;
}

/* ---- releasing and creating --------------------------------------------- */

uint64_t larder__paused_release(struct allocator *a, struct segment *s,
                                bool only_new)
{
    struct paused *p = s->paused;
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->end; i++) {
        struct orphan orphan = {.page = s->pages[i], .bytes = s->page_bytes};

        if (p->pages[i].state != PAGE_HELD || (only_new && !p->pages[i].is_new))
            continue;
        larder__orphan_try_release(a, orphan);
        larder__assert(a->page_count > 0 && s->pages[i] != 0);
        s->pages[i] = 0;
        a->page_count--;
        held_sub(a, s->heap->pool, s->page_bytes);
        p->pages[i].state = PAGE_GONE;
        bytes += s->page_bytes;
        history_range(a, LARDER_ACTION_segment_unmap, s,
                      s->addr + i * s->page_bytes, s->page_bytes);
    }
    return bytes;
}

larder_result larder__paused_create(struct allocator *a, struct segment *s)
{
    struct paused *p = s->paused;

    for (size_t i = 0; i < p->end; i++) {
        larder_result r;

        if (p->pages[i].state != PAGE_GONE)
            continue;
        r = larder__draw_page(a, s->page_bytes, &s->pages[i]);
        if (r != LARDER_OK)
            return r;
        a->page_count++;
        held_add(a, s->heap->pool, s->page_bytes);
        larder__assert(s->pages[i] != 0);
        p->pages[i].state = PAGE_HELD;
        p->pages[i].is_fresh = p->pages[i].is_new = true;
        history_segment(a, s, s->addr + i * s->page_bytes, s->page_bytes,
                        LARDER_ACTION_segment_map);
    }
    return LARDER_OK;
}

/* ---- contents ------------------------------------------------------------- */

static larder_result copy_run(struct allocator *a, const struct segment *s,
                              const struct run *run, char *host,
                              larder_copy_kind kind)
{
    uint64_t addr = run_addr(s, run);
    uint64_t pointer = (uint64_t)(uintptr_t)host;
    bool is_out = kind == LARDER_COPY_TO_HOST;

    return larder_device_copy(a->device, is_out ? pointer : addr,
                              is_out ? addr : pointer, run_bytes(s, run), kind,
                              s->heap->stream);
}

/* Adjacent pages have adjacent places, so a run takes one copy. */
larder_result larder__paused_copy(struct allocator *a, const struct segment *s,
                                  larder_copy_kind kind)
{
    const struct paused *p = s->paused;
    page_test *test = kind == LARDER_COPY_TO_HOST ? is_mapped : is_fresh;
    struct run run = {0};
    larder_result r = LARDER_OK;
    bool any = false;

    while (p->kept.host != NULL && r == LARDER_OK && next_run(p, test, &run)) {
        any = true;
        r = copy_run(a, s, &run,
                     p->kept.host + p->pages[run.begin].place * s->page_bytes,
                     kind);
    }
    if (any) /* wait even after a failure: copies may be queued */
        fail_keep_first(
            &r, larder__kept_wait(a, &s->paused->kept, s->heap->stream));
    return r;
}
