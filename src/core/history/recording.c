/* recording.c - the history: a ring of events, and notes on live blocks and
 * segments. */
#include "core/history/recording.h"

#include <string.h>

#include "base/callstack.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/state/shard.h"

enum {
    OWN_FRAMES = 32, /* library frames above the caller: always fewer */
    POOLS_MAX = UINT16_MAX
};

#define EVENTS_MAX (UINT64_C(1) << 40)
#define STACK_BYTES_MAX (UINT64_C(1) << 34)

/* ---- options -------------------------------------------------------------- */

static larder_result options_refuse(const char *what, uint64_t value,
                                    const char *expected)
{
    return larder__fail(LARDER_ERR_INVALID,
                        "larder_history_options.%s is %llu: expected %s", what,
                        (unsigned long long)value, expected);
}

static larder_result options_check(const larder_history_options *o)
{
    if (o->max_events > EVENTS_MAX)
        return options_refuse("max_events", o->max_events, "at most 2^40");
    if ((unsigned)o->stacks > LARDER_STACKS_CALLBACK)
        return options_refuse("stacks", (unsigned)o->stacks,
                              "a LARDER_STACKS_ value");
    if (o->depth > LARDER_STACK_DEPTH_MAX)
        return options_refuse("depth", o->depth, "at most 128");
    if (o->stack_bytes > STACK_BYTES_MAX)
        return options_refuse("stack_bytes", o->stack_bytes, "at most 2^34");
    if (o->stacks == LARDER_STACKS_CALLBACK && o->stack_fn == NULL)
        return larder__fail(LARDER_ERR_INVALID,
                            "LARDER_STACKS_CALLBACK needs a stack_fn");
    return LARDER_OK;
}

larder_result larder__history_options(const larder_history_options *opt,
                                      larder_history_options *out)
{
    larder_result r;

    larder_history_options_init(out);
    if (opt != NULL) {
        if (opt->size < sizeof opt->size || opt->size > sizeof *out)
            return larder__fail(LARDER_ERR_INVALID,
                                "larder_history_options.size is %zu: use "
                                "larder_history_options_init()",
                                opt->size);
        memcpy(out, opt, opt->size);
    }
    if ((r = options_check(out)) != LARDER_OK)
        return r;
    if (out->max_events == 0)
        out->max_events = LARDER_HISTORY_EVENTS_DEFAULT;
    if (out->depth == 0)
        out->depth = LARDER_STACK_DEPTH_DEFAULT;
    if (out->stack_bytes == 0)
        out->stack_bytes = LARDER_STACK_BYTES_DEFAULT;
    return LARDER_OK;
}

/* ---- creating ------------------------------------------------------------- */

static void history_free(struct history *h)
{
    for (int i = 0; i < SLAB_CHUNKS; i++)
        larder__host_free(h->notes[i]);
    larder__stacks_destroy(&h->stacks);
    larder__texts_destroy(&h->texts);
    larder__host_free(h->ring);
    larder__host_free(h->marks);
    larder__host_free(h->pool_ids);
    larder__host_free(h);
}

void larder__history_drop(struct history *h)
{
    if (h != NULL && atomic_fetch_sub(&h->users, 1) == 1)
        history_free(h);
}

struct history *larder__history_make(const larder_history_options *options)
{
    struct history *h = larder__host_alloc(1, sizeof *h);

    if (h == NULL)
        return NULL;
    atomic_init(&h->users, 1);
    h->options = *options;
    larder__assert(options->max_events > 0 && options->depth > 0);
    h->capacity = options->max_events;
    h->ring = larder__host_alloc(h->capacity, sizeof *h->ring);
    h->marks = larder__host_alloc(MARKS_MAX, sizeof *h->marks);
    if (h->ring == NULL || h->marks == NULL || !larder__texts_init(&h->texts) ||
        (options->stacks != LARDER_STACKS_OFF &&
         !larder__stacks_init(&h->stacks, options->stack_bytes))) {
        history_free(h);
        return NULL;
    }
    if (options->counted)
        h->clock.counted = true;
    else
        larder__ticks_begin(&h->clock);
    h->last_ticks = h->clock.begin.ticks;
    return h;
}

void larder__history_end(struct allocator *a)
{
    larder__history_drop(a->history);
    a->history = NULL;
}

void larder__history_use(struct allocator *a, struct history *made)
{
    larder__history_end(a);
    if (made == NULL)
        return;
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next)
        p->history_id = 0;
    for (struct segment *s = a->segments; s != NULL; s = s->next)
        s->stack = 0;
    a->call = (struct history_call){0};
    if (made->options.stacks == LARDER_STACKS_UNWIND)
        larder__callstack_prepare();
    a->history = made;
}

larder_result larder__history_begin(struct allocator *a,
                                    const larder_history_options *options)
{
    struct history *made = larder__history_make(options);

    if (made == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    larder__history_use(a, made);
    return LARDER_OK;
}

/* ---- stacks --------------------------------------------------------------- */

/* Drop the library's own frames.  If the chain does not contain the caller it
 * is wrong, and only the caller is kept. */
static size_t drop_own_frames(uint64_t *frames, size_t n, const void *caller)
{
    size_t own = 0;

    larder__assert(caller != NULL);
    while (own < n && own < OWN_FRAMES && frames[own] != (uintptr_t)caller)
        own++;
    if (own == n || own == OWN_FRAMES) {
        frames[0] = (uintptr_t)caller;
        return 1;
    }
    memmove(frames, &frames[own], (n - own) * sizeof *frames);
    return n - own;
}

static uint32_t capture(const struct allocator *a, struct history *h)
{
    uint64_t frames[LARDER_STACK_DEPTH_MAX + OWN_FRAMES];
    size_t capacity = h->options.depth + OWN_FRAMES;
    size_t n;

    switch (h->options.stacks) {
    case LARDER_STACKS_FRAME_POINTERS:
        n = larder__callstack_frames(frames, capacity);
        break;
    case LARDER_STACKS_UNWIND:
        n = larder__callstack_unwind(frames, capacity);
        break;
    case LARDER_STACKS_CALLBACK:
        n = h->options.stack_fn(h->options.stack_ctx, frames, h->options.depth);
        break;
    case LARDER_STACKS_OFF:
    default:
        return 0;
    }
    if (h->options.stacks != LARDER_STACKS_CALLBACK)
        n = drop_own_frames(frames, n, a->call.caller);
    if (n > h->options.depth)
        n = h->options.depth;
    larder__assert(n <= LARDER_STACK_DEPTH_MAX);
    return larder__stacks_put(&h->stacks, frames, n);
}

/* The stack of the current public call, captured once. */
static uint32_t call_stack(struct allocator *a, struct history *h)
{
    if (h->options.stacks == LARDER_STACKS_OFF || a->call.caller == NULL)
        return 0;
    if (!a->call.captured) {
        a->call.stack = capture(a, h);
        a->call.captured = true;
    }
    return a->call.stack;
}

/* ---- pools ---------------------------------------------------------------- */

/* The number of the pool's name; 0 for the default pool; -1: no room. */
static int pool_number(struct history *h, struct private_pool *p)
{
    size_t i;

    if (p == NULL)
        return 0;
    if (p->history_id != 0)
        return p->history_id;
    for (i = 0; i < h->pool_count; i++) {
        if (h->pool_ids[i].first == p->id.first &&
            h->pool_ids[i].second == p->id.second)
            break;
    }
    if (i == h->pool_count) {
        if (i == POOLS_MAX ||
            !HOST_ROOM(h->pool_ids, h->pool_capacity, h->pool_count + 1))
            return -1;
        h->pool_ids[h->pool_count++] = p->id;
    }
    larder__assert(i < h->pool_count && h->pool_count <= h->pool_capacity);
    p->history_id = (uint16_t)(i + 1);
    return p->history_id;
}

/* ---- recording ------------------------------------------------------------ */

static bool is_in(uint32_t mask, larder_action action)
{
    return (mask >> action & 1) != 0;
}

uint64_t larder__history_ticks(struct history *h)
{
    uint64_t ticks =
        h->clock.counted ? h->last_ticks + 1 : ticks_now(&h->clock);

    if (ticks > h->last_ticks)
        h->last_ticks = ticks;
    return h->last_ticks;
}

void larder__history_record(struct allocator *a, larder_action action,
                            uint64_t addr, uint64_t bytes, larder_stream stream,
                            struct private_pool *owner)
{
    struct history *h = a->history;
    struct history_event *e;
    int pool;

    larder__assert(shards_common_is_held(a));
    larder__assert((unsigned)action < 1u << EVENT_ACTION_BITS);
    if (is_in(h->options.skip_actions, action))
        return;
    pool = pool_number(h, owner);
    if (pool < 0) {
        h->missed++;
        return;
    }
    larder__assert(h->next < h->capacity);
    larder__assert(h->recorded >= h->capacity || h->next == h->recorded);
    e = &h->ring[h->next];
    h->next = h->next + 1 == h->capacity ? 0 : h->next + 1;
    h->recorded++;
    e->addr = addr;
    e->bytes = bytes;
    e->stream = stream;
    e->when = larder__history_ticks(h) << EVENT_ACTION_BITS | action;
    e->stack =
        is_in(h->options.stackless_actions, action) ? 0 : call_stack(a, h);
    e->annotation = larder__annotation_now(&h->texts);
    e->pool = (uint16_t)pool;
}

/* ---- notes ---------------------------------------------------------------- */

/* The chunk of a header's note, and its index there. */
static unsigned note_chunk(uint32_t number, uint32_t *at)
{
    uint32_t biased = number + (1u << SLAB_FIRST_LOG2);
    unsigned log2 = bits_log2(biased);

    larder__assert(number > 0 && log2 - SLAB_FIRST_LOG2 < SLAB_CHUNKS);
    *at = biased - (1u << log2);
    return log2 - SLAB_FIRST_LOG2;
}

struct block_note *larder__history_note(const struct history *h,
                                        uint32_t number)
{
    uint32_t at;
    unsigned chunk = note_chunk(number, &at);

    return h->notes[chunk] == NULL ? NULL : &h->notes[chunk][at];
}

/* The note to write; its chunk is made only if there is something to store. */
static struct block_note *note_for(struct history *h, uint32_t number,
                                   bool says_something)
{
    uint32_t at;
    unsigned chunk = note_chunk(number, &at);

    if (h->notes[chunk] == NULL && says_something) {
        h->notes[chunk] = larder__host_alloc(
            (size_t)1 << (chunk + SLAB_FIRST_LOG2), sizeof(struct block_note));
        if (h->notes[chunk] == NULL)
            h->lost_notes++;
    }
    return h->notes[chunk] == NULL ? NULL : &h->notes[chunk][at];
}

void larder__history_alloc(struct allocator *a, const struct block *b)
{
    struct history *h = a->history;
    uint32_t stack = 0;
    uint16_t text = larder__annotation_now(&h->texts);
    struct block_note *note;

    larder__assert(b->state == BLOCK_LIVE);
    larder__history_record(a, LARDER_ACTION_alloc, b->addr, b->requested,
                           b->segment->heap->stream,
                           b->segment->heap->pool->owner);
    if (!is_in(h->options.stackless_actions, LARDER_ACTION_alloc))
        stack = call_stack(a, h);
    note = note_for(h, b->self, stack != 0 || text != 0);
    if (note != NULL) {
        note->stack = stack;
        note->annotation = text;
    }
}

void larder__history_segment(struct allocator *a, struct segment *s,
                             uint64_t addr, uint64_t bytes,
                             larder_action action)
{
    struct history *h = a->history;

    larder__assert(s->head != NULL && bytes > 0);
    if (s->kind != SEGMENT_CARVED) /* a piece counts when acquired */
        history_range(a, action, s, addr, bytes);
    s->stack =
        is_in(h->options.stackless_actions, action) ? 0 : call_stack(a, h);
}
