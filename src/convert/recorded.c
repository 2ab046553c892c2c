/* recorded.c - repeats a recording with the allocator, event by event, and
 * checks that each does what was recorded. */
#include "convert/recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/recorded_start.h"
#include "snapshot/snapshot_conf.h"
#include "snapshot/plain_text.h"
#include "trace/ends_with.h"

struct recorded_playback {
    struct playback r;
    const struct lifetimes *l;
    struct recorded_device *device;
    struct recorded_result *out;
};

/* A failure other than lack of memory stops the comparison. */
static void check(struct recorded_playback *t, uint32_t event, larder_result r)
{
    if (r != LARDER_OK)
        playback_stop(&t->r, "event %" PRIu32 ": %s", event,
                      larder_last_error());
}

/* Make the event's request; 0: memory was lacking. */
static larder_addr request(struct recorded_playback *t, uint32_t event)
{
    const struct snapshot_event *e = &t->l->events[event];
    larder_addr got = 0;
    larder_result r = playback_alloc(&t->r, e->size, e->stream, e->pool, &got);

    if (r != LARDER_ERR_OUT_OF_MEMORY)
        check(t, event, r);
    return got;
}

/* ---- differences -------------------------------------------------------- */

/* The innermost frame of Python; the innermost of all if there is none. */
static void name_frame(const struct snapshot *s, uint32_t stack,
                       struct recorded_difference *d)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);
    size_t chosen = 0;

    while (chosen < count &&
           !ends_with(snapshot_string(s, s->frames[frames[chosen]].filename),
                      ".py"))
        chosen++;
    if (count > 0) {
        const struct snapshot_frame *f =
            &s->frames[frames[chosen < count ? chosen : 0]];

        snprintf(d->frame, sizeof d->frame, "%s:%" PRIu32 " %s",
                 snapshot_string(s, f->filename), f->line,
                 snapshot_string(s, f->name));
        plain_text(d->frame);
    }
}

static void note_first(struct recorded_playback *t, uint32_t event,
                       larder_addr got)
{
    const struct snapshot_event *e = &t->l->events[event];
    struct recorded_difference *d = &t->out->first;

    *d = (struct recorded_difference){
        .event = event, .bytes = e->size, .expected = e->address, .got = got};
    name_frame(t->l->snapshot, e->stack, d);
    for (size_t i = 0; i < t->l->span_count; i++) {
        const struct segment_span *span = &t->l->spans[i];

        if (lifetime_began(span->start, event) && span->end > event &&
            e->address >= span->address &&
            e->address - span->address < span->size) {
            d->segment = span->address;
            d->segment_bytes = span->size;
        }
    }
}

/* ---- events ------------------------------------------------------------- */

static void play_alloc(struct recorded_playback *t, uint32_t event)
{
    const struct snapshot_event *e = &t->l->events[event];
    uint32_t replaced = t->r.story->replaced[event];
    larder_addr got;

    if (replaced != STORY_NONE && t->r.got[replaced] != 0)
        check(t, event, playback_free(&t->r, replaced));
    got = request(t, event);
    t->r.got[t->r.story->subjects[event]] = got;
    recorded_device_settle(t->device, event);
    if (got == e->address)
        t->out->same++;
    else if (t->out->same == t->out->placements)
        note_first(t, event, got);
    t->out->placements++;
}

/* A request that failed when recorded must fail now, with the same releases. */
static void play_oom(struct recorded_playback *t, uint32_t event)
{
    larder_addr got = request(t, event);

    if (got != 0)
        check(t, event, larder_free(t->r.allocator, got));
    if (got != 0 && t->device->difference[0] == '\0') {
        snprintf(t->device->difference, sizeof t->device->difference,
                 "recorded: out of memory for %" PRIu64
                 " bytes; in the replay it succeeded",
                 t->l->events[event].size);
        t->device->difference_event = event;
    }
    recorded_device_settle(t->device, event);
}

static void play_free(struct recorded_playback *t, uint32_t event)
{
    uint32_t number = t->r.story->subjects[event];

    if (number != STORY_NONE && t->r.got[number] != 0)
        check(t, event, playback_free(&t->r, number));
}

static void play_completed(struct recorded_playback *t, uint32_t event)
{
    uint32_t number = t->r.story->subjects[event];

    if (number != STORY_NONE && t->r.waits[number] != 0)
        recorded_device_complete(t->device, t->r.waits[number]);
}

static void play_delayed_frees(struct recorded_playback *t, uint32_t request)
{
    uint32_t event = request;

    while (story_is_late(t->r.story, request, &event))
        play_completed(t, event);
}

/* The complete run of releases that begins here is now allowed. */
static void play_empty(struct recorded_playback *t, uint32_t event)
{
    uint32_t end = event;

    while (end < t->l->event_count &&
           (t->l->events[end].action == SNAPSHOT_SEGMENT_FREE ||
            t->l->events[end].action == SNAPSHOT_SEGMENT_UNMAP ||
            t->l->events[end].action == SNAPSHOT_FREE_COMPLETED))
        end++;
    t->device->now = end - 1;
    check(t, event, larder_empty_cache(t->r.allocator));
    recorded_device_settle(t->device, end - 1);
}

static void play_event(struct recorded_playback *t, uint32_t event)
{
    const struct snapshot_event *e = &t->l->events[event];

    if (t->r.story->empties[event])
        play_empty(t, event);
    if (event > t->device->now)
        t->device->now = event;
    switch ((enum snapshot_action)e->action) {
    case SNAPSHOT_ALLOC:
        play_alloc(t, event);
        play_delayed_frees(t, event);
        break;
    case SNAPSHOT_FREE_REQUESTED:
        play_free(t, event);
        break;
    case SNAPSHOT_FREE_COMPLETED:
        if (!t->r.story->late[event])
            play_completed(t, event);
        break;
    case SNAPSHOT_OOM:
        play_oom(t, event);
        play_delayed_frees(t, event);
        break;
    default:
        break;
    }
}

/* ---- the end ------------------------------------------------------------- */

struct end_block {
    uint64_t address;
    uint64_t bytes;
    uint8_t state; /* enum snapshot_state */
};

struct end_walk {
    const struct end_block *wanted;
    size_t count;
    size_t next;
    struct recorded_result *out;
};

static int compare_blocks(const void *a, const void *b)
{
    const struct end_block *x = a;
    const struct end_block *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* The blocks of the device by address. */
static struct end_block *collect(const struct lifetimes *l, size_t *count)
{
    const struct snapshot *s = l->snapshot;
    struct end_block *blocks = calloc(s->block_count + 1, sizeof *blocks);

    *count = 0;
    for (size_t i = 0; blocks != NULL && i < s->segment_count; i++) {
        const struct snapshot_segment *seg = &s->segments[i];

        for (size_t j = 0; seg->device == l->device && j < seg->block_count;
             j++) {
            const struct snapshot_block *b = &s->blocks[seg->block + j];

            blocks[(*count)++] =
                (struct end_block){b->address, b->size, b->state};
        }
    }
    if (blocks != NULL && *count > 0)
        qsort(blocks, *count, sizeof *blocks, compare_blocks);
    return blocks;
}

static uint8_t state_of(larder_block_state state)
{
    if (state == LARDER_BLOCK_ALLOCATED)
        return SNAPSHOT_ACTIVE_ALLOCATED;
    return state == LARDER_BLOCK_PENDING ? SNAPSHOT_ACTIVE_PENDING_FREE
                                         : SNAPSHOT_INACTIVE;
}

static const char *state_name(uint8_t state)
{
    return snapshot_state_name((enum snapshot_state)state);
}

static int visit_block(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *block)
{
    struct end_walk *w = ctx;
    const struct end_block *b = &w->wanted[w->next];
    uint8_t state = state_of(block->state);
    char *words = w->out->end_words;

    (void)segment;
    if (w->next < w->count && b->address == block->addr &&
        b->bytes == block->bytes && b->state == state) {
        w->next++;
        return 0;
    }
    if (w->next < w->count)
        snprintf(words, sizeof w->out->end_words,
                 "recorded: 0x%" PRIx64 ", %" PRIu64
                 " bytes, %s; replay: 0x%" PRIx64 ", %" PRIu64 " bytes, %s",
                 b->address, b->bytes, state_name(b->state), block->addr,
                 block->bytes, state_name(state));
    else
        snprintf(words, sizeof w->out->end_words,
                 "recorded: nothing more; replay: 0x%" PRIx64 ", %" PRIu64
                 " bytes, %s",
                 block->addr, block->bytes, state_name(state));
    return 1;
}

/* Compare the state at the end, block by block, with the allocator's.  False: no
 * host memory. */
static bool compare_end(const struct lifetimes *l, larder_allocator *a,
                        struct recorded_result *out, struct tool_error *error)
{
    struct end_walk w = {.out = out};
    struct end_block *wanted = collect(l, &w.count);

    if (wanted == NULL)
        return tool_fail(error, "out of host memory");
    w.wanted = wanted;
    out->end_blocks = w.count;
    (void)larder_walk(a, NULL, visit_block, &w); /* as far as it went */
    out->end_same = w.next == w.count && out->end_words[0] == '\0';
    if (w.next < w.count && out->end_words[0] == '\0')
        snprintf(out->end_words, sizeof out->end_words,
                 "recorded: 0x%" PRIx64 ", %" PRIu64
                 " bytes, %s; replay: nothing more",
                 wanted[w.next].address, wanted[w.next].bytes,
                 state_name(wanted[w.next].state));
    free(wanted);
    return true;
}

/* ---- the whole run ------------------------------------------------------ */

static void take_segments(struct recorded_playback *t)
{
    const struct recorded_device *d = t->device;

    t->out->segments_same = d->difference[0] == '\0';
    for (size_t i = 0; i < d->count; i++)
        t->out->segment_events +=
            t->l->events[d->sequence[i]].action != SNAPSHOT_OOM;
    if (!t->out->segments_same)
        snprintf(t->out->segment_words, sizeof t->out->segment_words,
                 "event %" PRIu32 ": %s", d->difference_event, d->difference);
}

static bool play_all(struct recorded_playback *t, const char *conf)
{
    if (!recorded_start_build(&t->r))
        return false;
    if (setjmp(t->r.stopped) != 0)
        return false;
    if (larder_configure(t->r.allocator, conf) != LARDER_OK)
        playback_stop(&t->r, "%s", larder_last_error());
    for (uint32_t i = 0; i < t->l->event_count; i++)
        play_event(t, i);
    if (t->l->event_count > 0)
        recorded_device_settle(t->device, t->l->event_count - 1);
    return true;
}

static bool make_allocator(struct recorded_playback *t, const char *conf,
                           struct tool_error *error)
{
    larder_options opt;
    char release[32];

    /* The release cannot change later and comes first; the other settings
     * follow. */
    snprintf(release, sizeof release, "%.*s",
             strncmp(conf, "pytorch:", 8) == 0 ? (int)strcspn(conf, ",") : 0,
             conf);
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = release;
    return larder_create(t->device->device, &opt, &t->r.allocator) ==
               LARDER_OK ||
           tool_fail(error, "%s", larder_last_error());
}

/* Whether the recorded decisions depend on what a recording does not have: the
 * clock, other processes, memory that was cut before the events begin, or what
 * only another policy knows.  Then `reason` says so. */
static bool is_beyond_repeating(struct recorded_playback *t, const char *conf)
{
    static const char *const keys[] = {
        "preallocate", "trim_age",      "reclaim_budget_ms", "pending_limit",
        "minimum",     "process_limit", "group_limit",       "debug",
    };
    larder_policy policy = snapshot_policy(t->l->snapshot);
    size_t length;

    if (policy != LARDER_POLICY_PYTORCH)
        snprintf(t->out->reason, sizeof t->out->reason,
                 "recorded under the policy %s: only placements under pytorch "
                 "are repeated",
                 larder_policy_name(policy));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (t->out->reason[0] == '\0' &&
            snapshot_conf_value(conf, keys[i], &length) != NULL)
            snprintf(t->out->reason, sizeof t->out->reason,
                     "recorded under %s: placements under this key are not "
                     "repeated",
                     keys[i]);
    }
    return t->out->reason[0] != '\0';
}

static bool compare(struct recorded_playback *t, const char *conf,
                    struct tool_error *error)
{
    bool ok;

    if (is_beyond_repeating(t, conf))
        return true;
    t->r.got = calloc(t->l->alloc_count + 1, sizeof *t->r.got);
    t->r.waits = calloc(t->l->alloc_count + 1, sizeof *t->r.waits);
    if (t->r.got == NULL || t->r.waits == NULL)
        return tool_fail(error, "out of host memory");
    if (!make_allocator(t, conf, error))
        return false;
    t->out->compared = play_all(t, conf);
    take_segments(t);
    ok = !t->out->compared || compare_end(t->l, t->r.allocator, t->out, error);
    larder_destroy(t->r.allocator);
    return ok;
}

bool recorded_compare(const struct story *story, const char *conf,
                      struct recorded_result *out, struct tool_error *error)
{
    struct recorded_device device;
    struct recorded_playback t = {.r = {.story = story,
                                        .l = &story->lifetimes,
                                        .device = &device,
                                        .reason = out->reason},
                                  .l = &story->lifetimes,
                                  .device = &device,
                                  .out = out};
    bool ok;

    memset(out, 0, sizeof *out);
    if (!recorded_device_open(
            &device, t.l,
            &(struct recorded_device_options){conf, story->deferred_count},
            error))
        return false;
    ok = compare(&t, conf, error);
    free(t.r.got);
    free(t.r.waits);
    recorded_device_close(&device);
    return ok;
}
