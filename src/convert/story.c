/* story.c - the history of one device of a snapshot, event by event, prepared
 * for replay. */
#include "convert/story.h"

#include <string.h>

#include "snapshot/snapshot_conf.h"

#define SMALL_REQUEST_BYTES ((uint64_t)1 << 20)
#define SMALL_SEGMENT_BYTES ((uint64_t)2 << 20)

static bool is_request(const struct snapshot_event *e)
{
    return e->action == SNAPSHOT_ALLOC || e->action == SNAPSHOT_OOM;
}

static bool is_segment_release(const struct snapshot_event *e)
{
    return e->action == SNAPSHOT_SEGMENT_FREE ||
           e->action == SNAPSHOT_SEGMENT_UNMAP;
}

static bool is_segment_acquire(const struct snapshot_event *e)
{
    return e->action == SNAPSHOT_SEGMENT_ALLOC ||
           e->action == SNAPSHOT_SEGMENT_MAP;
}

/* ---- naming the allocations --------------------------------------------- */

static void name_subjects(struct story *story)
{
    const struct lifetimes *l = story->lifetimes;

    memset(story->subjects, 0xff, l->event_count * sizeof *story->subjects);
    memset(story->replaced, 0xff, l->event_count * sizeof *story->replaced);
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        if (a->start < l->event_count)
            story->subjects[a->start] = (uint32_t)i;
        if (a->end < l->event_count &&
            l->events[a->end].action == SNAPSHOT_ALLOC)
            story->replaced[a->end] = (uint32_t)i;
        else if (a->end < l->event_count)
            story->subjects[a->end] = (uint32_t)i;
        if (a->done < l->event_count && a->done != a->end)
            story->subjects[a->done] = (uint32_t)i;
        story->zero_sizes += a->requested == 0;
    }
}

/* ---- emptied caches ----------------------------------------------------- */

/* The first event from `i` on that is not part of a run of releases. */
static uint32_t run_end(const struct lifetimes *l, uint32_t i)
{
    while (i < l->event_count &&
           (is_segment_release(&l->events[i]) ||
            l->events[i].action == SNAPSHOT_FREE_COMPLETED))
        i++;
    return i;
}

struct run {
    uint32_t begin;
    uint32_t end; /* the event after it */
};

/* How much larger a block may be that is not split. */
static uint64_t slack_of(const struct snapshot *s)
{
    uint64_t page_bytes = 0;
    uint64_t mib = snapshot_set_number(s, "max_non_split_rounding_mb");

    if (mib == 0)
        /* Without host memory no block serves. */
        (void)snapshot_segment(s, SMALL_SEGMENT_BYTES, NULL, &page_bytes);
    return mib != 0 ? mib << 20 : page_bytes;
}

/* Whether a free block may serve a request, as max_split_size_mb says. */
static bool may_serve(const struct snapshot *s, uint64_t block, uint64_t bytes)
{
    const struct snapshot_settings *set = &s->settings;
    uint64_t limit = set->has_max_split_size && set->max_split_size > 0
                         ? (uint64_t)set->max_split_size
                         : UINT64_MAX;

    if (block < bytes || (bytes < limit && block >= limit))
        return false;
    return bytes < limit || block - bytes < slack_of(s);
}

/* Whether a released part would have served the request that acquired memory
 * immediately afterwards: a large enough block of its stream and pool. */
static bool had_a_fit(const struct lifetimes *l, struct run run)
{
    const struct snapshot_event *request = &l->events[run.end];

    while (request < l->events + l->event_count &&
           request->action != SNAPSHOT_ALLOC)
        request++;
    if (request == l->events + l->event_count)
        return false;
    for (uint32_t i = run.begin; i < run.end; i++) {
        const struct snapshot_event *e = &l->events[i];
        bool small = e->size <= SMALL_SEGMENT_BYTES;
        uint64_t bytes = lifetimes_round(&l->snapshot->settings, request->size);

        if (is_segment_release(e) && e->stream == request->stream &&
            e->pool == request->pool &&
            small == (bytes <= SMALL_REQUEST_BYTES) &&
            may_serve(l->snapshot, e->size, bytes))
            return true;
    }
    return false;
}

/* Whether a request that the device refuses fails without any release. */
static bool is_refused_at_once(const struct snapshot *s)
{
    return snapshot_set_to(s, "throw_on_cudamalloc_oom", "True") &&
           !snapshot_set_to(s, "per_process_memory_fraction", NULL);
}

/* Whether the allocator released the run by itself, to make room for what
 * follows.  It did not if there was room (it held more at another time, and no
 * setting makes it collect garbage early), or if it had what was requested. */
static bool explained(const struct lifetimes *l, struct run run,
                      const uint64_t *reserved, uint64_t highest)
{
    const struct snapshot_settings *set = &l->snapshot->settings;
    const struct snapshot_event *next = &l->events[run.end];

    if (run.end == l->event_count)
        return false;
    if (next->action == SNAPSHOT_OOM)
        return !is_refused_at_once(l->snapshot);
    if (!is_segment_acquire(next))
        return false;
    if (had_a_fit(l, run))
        return false;
    return set->garbage_collection_threshold > 0 || next->size > highest ||
           reserved[run.begin] > highest - next->size;
}

/* Mark the late completions from `end` back to the last event that neither
 * completes a free nor releases memory. */
static void name_late(struct story *story, uint32_t end)
{
    const struct snapshot_event *events = story->lifetimes->events;

    while (end-- > 0 && (is_segment_release(&events[end]) ||
                         events[end].action == SNAPSHOT_FREE_COMPLETED)) {
        if (story->empties[end])
            break;
        story->late[end] = events[end].action == SNAPSHOT_FREE_COMPLETED;
    }
}

static void name_empties(struct story *story)
{
    const struct lifetimes *l = story->lifetimes;
    const struct arena_piece *last = story->arena.last;
    uint64_t *reserved =
        arena_take(&story->arena, (size_t)l->event_count + 1, sizeof *reserved);
    uint64_t highest = 0;

    lifetimes_curve(l, CURVE_RESERVED, reserved);
    for (uint32_t i = 0; i <= l->event_count; i++)
        highest = reserved[i] > highest ? reserved[i] : highest;
    for (uint32_t i = 0; i < l->event_count; i++) {
        struct run run = {.begin = i};

        if (l->events[i].action == SNAPSHOT_OOM)
            name_late(story, i);
        if (!is_segment_release(&l->events[i]))
            continue;
        run.end = run_end(l, i);
        story->empties[i] = !explained(l, run, reserved, highest);
        story->empty_count += story->empties[i];
        if (!story->empties[i])
            name_late(story, run.end);
        i = run.end - 1;
    }
    arena_free_since(&story->arena, last);
}

/* ---- delayed frees ------------------------------------------------------ */

/* counts[k] is the number of requests among the first k events. */
static bool count_requests(const struct lifetimes *l, uint32_t *counts)
{
    bool completes = false;

    counts[0] = 0;
    for (uint32_t i = 0; i < l->event_count; i++) {
        counts[i + 1] = counts[i] + is_request(&l->events[i]);
        completes |= l->events[i].action == SNAPSHOT_FREE_COMPLETED;
    }
    return completes;
}

/* Whether the block would have served the request after its late completion:
 * then it was not available before. */
static bool was_missed(const struct lifetimes *l, const struct lifetime *a)
{
    const struct snapshot_event *request = &l->events[a->done];

    while (request < l->events + l->event_count && !is_request(request))
        request++;
    return request < l->events + l->event_count &&
           request->stream == a->stream && request->pool == a->pool &&
           a->rounded >= lifetimes_round(&l->snapshot->settings, request->size);
}

/* A free that does not wait is completed at once. */
static bool has_waited(const struct story *story, const struct lifetime *a,
                       const uint32_t *counts)
{
    const struct lifetimes *l = story->lifetimes;

    if (a->end == LIFETIME_BEFORE)
        return a->done == l->event_count || counts[a->done] != 0;
    if (a->end >= l->event_count || a->done == a->end)
        return false;
    if (a->done == l->event_count || counts[a->done] != counts[a->end + 1])
        return true;
    return story->late[a->done] && (a->done != a->end + 1 || was_missed(l, a));
}

static void name_deferred(struct story *story)
{
    const struct lifetimes *l = story->lifetimes;
    const struct arena_piece *last = story->arena.last;
    uint32_t *counts =
        arena_take(&story->arena, (size_t)l->event_count + 1, sizeof *counts);

    if (count_requests(l, counts)) {
        for (size_t i = 0; i < l->alloc_count; i++) {
            story->deferred[i] = has_waited(story, &l->allocs[i], counts);
            story->deferred_count += story->deferred[i];
        }
    }
    arena_free_since(&story->arena, last);
}

/* ---- the whole trace ---------------------------------------------------- */

static void take_memory(struct story *story)
{
    struct arena *arena = &story->arena;
    size_t events = story->lifetimes->event_count;

    arena_need(arena, story->lifetimes->alloc_count < UINT32_MAX);
    story->subjects = arena_take(arena, events, sizeof *story->subjects);
    story->replaced = arena_take(arena, events, sizeof *story->replaced);
    story->empties = arena_take(arena, events, 1);
    story->late = arena_take(arena, events, 1);
    story->deferred = arena_take(arena, story->lifetimes->alloc_count, 1);
}

bool story_is_late(const struct story *story, uint32_t request, uint32_t *event)
{
    const struct snapshot_event *events = story->lifetimes->events;

    while (*event > 0) {
        const struct snapshot_event *e = &events[--*event];

        if (*event < request && is_request(e))
            return false;
        if (e->action == SNAPSHOT_FREE_REQUESTED)
            return false;
        if (story->late[*event])
            return true;
    }
    return false;
}

bool story_make(const struct snapshot *s, size_t device, struct story *out,
                struct tool_error *error)
{
    *out = (struct story){.arena = {.error = error}};
    if (setjmp(out->arena.failed) != 0) {
        story_free(out);
        return false;
    }
    out->lifetimes = lifetimes_take(&out->arena, s, device);
    take_memory(out);
    name_subjects(out);
    name_empties(out);
    name_deferred(out);
    return true;
}

void story_free(struct story *story)
{
    arena_end(&story->arena, true);
    *story = (struct story){0};
}
