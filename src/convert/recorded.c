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

/* A failure other than lack of memory stops the comparison. */
static void check(struct playback *t, uint32_t event, larder_result r)
{
    if (r != LARDER_OK)
        playback_stop(t, "event %" PRIu32 ": %s", event, larder_last_error());
}

/* Make the event's request; 0: memory was lacking. */
static larder_addr request(struct playback *t, uint32_t event)
{
    const struct snapshot_event *e = &t->l->events[event];
    larder_addr got = 0;
    larder_result r = playback_alloc(t, e->size, e->stream, e->pool, &got);

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

static void note_first(struct playback *t, uint32_t event, larder_addr got)
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

static void play_alloc(struct playback *t, uint32_t event)
{
    const struct snapshot_event *e = &t->l->events[event];
    uint32_t replaced = t->story->replaced[event];
    larder_addr got;

    if (replaced != STORY_NONE && t->got[replaced] != 0)
        check(t, event, playback_free(t, replaced));
    got = request(t, event);
    t->got[t->story->subjects[event]] = got;
    recorded_device_settle(t->device, event);
    if (got == e->address)
        t->out->same++;
    else if (t->out->same == t->out->placements)
        note_first(t, event, got);
    t->out->placements++;
}

/* A request that failed when recorded must fail now, with the same releases. */
static void play_oom(struct playback *t, uint32_t event)
{
    larder_addr got = request(t, event);

    if (got != 0)
        check(t, event, larder_free(t->allocator, got));
    if (got != 0 && t->device->difference[0] == '\0') {
        snprintf(t->device->difference, sizeof t->device->difference,
                 "recorded: out of memory for %" PRIu64
                 " bytes; in the replay it succeeded",
                 t->l->events[event].size);
        t->device->difference_event = event;
    }
    recorded_device_settle(t->device, event);
}

static void play_free(struct playback *t, uint32_t event)
{
    uint32_t number = t->story->subjects[event];

    if (number != STORY_NONE && t->got[number] != 0)
        check(t, event, playback_free(t, number));
}

static void play_completed(struct playback *t, uint32_t event)
{
    uint32_t number = t->story->subjects[event];

    if (number != STORY_NONE && t->waits[number] != 0)
        recorded_device_complete(t->device, t->waits[number]);
}

static void play_delayed_frees(struct playback *t, uint32_t request)
{
    uint32_t event = request;

    while (story_is_late(t->story, request, &event))
        play_completed(t, event);
}

/* The complete run of releases that begins here is now allowed. */
static void play_empty(struct playback *t, uint32_t event)
{
    uint32_t end = event;

    while (end < t->l->event_count &&
           (t->l->events[end].action == SNAPSHOT_SEGMENT_FREE ||
            t->l->events[end].action == SNAPSHOT_SEGMENT_UNMAP ||
            t->l->events[end].action == SNAPSHOT_FREE_COMPLETED))
        end++;
    t->device->now = end - 1;
    check(t, event, larder_empty_cache(t->allocator));
    recorded_device_settle(t->device, end - 1);
}

static void play_event(struct playback *t, uint32_t event)
{
    const struct snapshot_event *e = &t->l->events[event];

    if (t->story->empties[event])
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
        if (!t->story->late[event])
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
static const struct end_block *collect(struct arena *arena,
                                       const struct lifetimes *l, size_t *count)
{
    const struct snapshot *s = l->snapshot;
    struct end_block *blocks =
        arena_take(arena, s->block_count, sizeof *blocks);

    *count = 0;
    for (size_t i = 0; i < s->segment_count; i++) {
        const struct snapshot_segment *seg = &s->segments[i];

        for (size_t j = 0; seg->device == l->device && j < seg->block_count;
             j++) {
            const struct snapshot_block *b = &s->blocks[seg->block + j];

            blocks[(*count)++] =
                (struct end_block){b->address, b->size, b->state};
        }
    }
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

enum { BLOCK_WORDS_MAX = 96 };

static const char *block_words(const struct end_block *b,
                               char out[BLOCK_WORDS_MAX])
{
    if (b == NULL)
        return "nothing more";
    snprintf(out, BLOCK_WORDS_MAX, "0x%" PRIx64 ", %" PRIu64 " bytes, %s",
             b->address, b->bytes,
             snapshot_state_name((enum snapshot_state)b->state));
    return out;
}

/* NULL: there is no such block. */
static void note_end(struct recorded_result *out,
                     const struct end_block *recorded,
                     const struct end_block *replayed)
{
    snprintf(out->end_words, sizeof out->end_words, "recorded: %s; replay: %s",
             block_words(recorded, (char[BLOCK_WORDS_MAX]){0}),
             block_words(replayed, (char[BLOCK_WORDS_MAX]){0}));
}

static int visit_block(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *block)
{
    struct end_walk *w = ctx;
    const struct end_block *b = w->next < w->count ? &w->wanted[w->next] : NULL;
    const struct end_block got = {block->addr, block->bytes,
                                  state_of(block->state)};

    (void)segment;
    if (b != NULL && b->address == got.address && b->bytes == got.bytes &&
        b->state == got.state) {
        w->next++;
        return 0;
    }
    note_end(w->out, b, &got);
    return 1;
}

/* Compare the state at the end, block by block, with the allocator's. */
static void compare_end(struct playback *t)
{
    struct recorded_result *out = t->out;
    struct end_walk w = {.out = out};

    w.wanted = collect(&t->arena, t->l, &w.count);
    out->end_blocks = w.count;
    /* As far as it went. */
    (void)larder_walk(t->allocator, NULL, visit_block, &w);
    out->end_same = w.next == w.count && out->end_words[0] == '\0';
    if (w.next < w.count && out->end_words[0] == '\0')
        note_end(out, &w.wanted[w.next], NULL);
}

/* ---- the whole run ------------------------------------------------------ */

static void take_segments(struct playback *t)
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

static bool play_all(struct playback *t, const char *conf)
{
    if (setjmp(t->stopped) != 0)
        return false;
    recorded_start_build(t);
    if (larder_configure(t->allocator, conf) != LARDER_OK)
        playback_stop(t, "%s", larder_last_error());
    for (uint32_t i = 0; i < t->l->event_count; i++)
        play_event(t, i);
    if (t->l->event_count > 0)
        recorded_device_settle(t->device, t->l->event_count - 1);
    return true;
}

static void make_allocator(struct playback *t, const char *conf)
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
    arena_check(&t->arena,
                larder_create(t->device->device, &opt, &t->allocator) ==
                        LARDER_OK ||
                    tool_fail(t->arena.error, "%s", larder_last_error()));
}

/* Whether the recorded decisions depend on what a recording does not have: the
 * clock, other processes, memory that was cut before the events begin, or what
 * only another policy knows.  Then `reason` says so. */
static bool is_beyond_repeating(struct playback *t, const char *conf)
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

/* False: it failed. */
static bool compare(struct playback *t, const char *conf)
{
    if (setjmp(t->arena.failed) != 0)
        return false;
    recorded_device_open(t->device, &t->arena, t->story, conf);
    if (is_beyond_repeating(t, conf))
        return true;
    t->got = arena_take(&t->arena, t->l->alloc_count, sizeof *t->got);
    t->waits = arena_take(&t->arena, t->l->alloc_count, sizeof *t->waits);
    make_allocator(t, conf);
    t->out->compared = play_all(t, conf);
    take_segments(t);
    if (t->out->compared)
        compare_end(t);
    return true;
}

bool recorded_compare(const struct story *story, const char *conf,
                      struct recorded_result *out, struct tool_error *error)
{
    struct recorded_device device = {0};
    struct playback t = {.arena = {.error = error},
                         .story = story,
                         .l = story->lifetimes,
                         .device = &device,
                         .out = out};
    bool ok;

    memset(out, 0, sizeof *out);
    ok = compare(&t, conf);
    larder_destroy(t.allocator);
    recorded_device_close(&device);
    return arena_end(&t.arena, ok);
}
