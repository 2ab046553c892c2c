/* snap_runs.c - recognises stacks by the bytes that encode them.
 *
 * Most of a snapshot is lists of frames, each fetched from the memo one by one,
 * and most lists occur repeatedly.  Comparing a list's bytes with an earlier
 * one's is several times faster than executing them.  Training repeats itself:
 * as long as lists come in the same order as before, the next one is known
 * without a search. */
#include "snapshot/snap_builder.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_BYTES_MAX = 64 << 10, KEPT_BYTES_MAX = 32 << 20 };

struct wanted {
    const unsigned char *at;
    size_t length;
};

static bool same_run(const void *owner, uint32_t number, const void *wanted)
{
    const struct snap_runs *r = owner;
    const struct snap_run *run = &r->at[number];
    const struct wanted *w = wanted;

    return run->length == w->length &&
           memcmp(r->bytes + run->begin, w->at, w->length) == 0;
}

/* The length of the fetches up to APPENDS, and their number in *gets; 0 if
 * something else ends them, or they extend beyond the window. */
static size_t run_length(const struct snap_input *in, uint32_t *gets)
{
    const unsigned char *p = in->at;
    const unsigned char *last = in->end;
    uint32_t n = 0;

    if ((size_t)(last - p) > RUN_BYTES_MAX)
        last = p + RUN_BYTES_MAX;
    last -= 5;
    while (p < last) {
        if (*p == 'h')
            p += 2;
        else if (*p == 'j')
            p += 5;
        else
            break;
        n++;
    }
    *gets = n;
    return p < last && *p == 'e' ? (size_t)(p - in->at) : 0;
}

/* Collect the frames that are fetched.  False: one of the items is none. */
static bool run_frames(struct snap_builder *b, const unsigned char *p,
                       uint32_t gets)
{
    for (uint32_t i = 0; i < gets; i++) {
        uint32_t index = p[1];
        uint32_t packed;

        if (*p == 'j')
            index |= (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16 |
                     (uint32_t)p[4] << 24;
        p += *p == 'j' ? 5 : 2;
        packed = index < b->memo_end ? b->memo[index] : 0;
        if (packed >> SNAP_MEMO_SHIFT != SNAP_FRAME)
            return false;
        b->ids[i] = packed & (((uint32_t)1 << SNAP_MEMO_SHIFT) - 1);
    }
    return true;
}

/* The run that followed last time, if it follows here too.  Its bytes are
 * complete fetches, so these are all of them.  If it was so long ago that
 * another run has its place, that run is tried, which is harmless. */
static uint32_t run_expected(const struct snap_builder *b)
{
    const struct snap_runs *r = &b->runs;
    const struct snap_input *in = &b->in;
    const struct snap_run *run;
    uint32_t n;

    if (r->follow >= r->past_count)
        return SNAP_NONE;
    n = r->past[r->follow % SNAP_PAST];
    run = &r->at[n];
    return snap_input_left(in) > run->length && in->at[run->length] == 'e' &&
                   memcmp(r->bytes + run->begin, in->at, run->length) == 0
               ? n
               : SNAP_NONE;
}

/* Append the run to the past, and expect what followed it last time.  If it
 * occurs at several places of an iteration that may be the wrong one, but the
 * first run that is unique in an iteration corrects this for good. */
static void run_passes(struct snap_builder *b, uint32_t n)
{
    struct snap_runs *r = &b->runs;

    if (r->past == NULL)
        r->past = snap_alloc(&b->memory, SNAP_PAST, sizeof *r->past);
    if (r->past == NULL)
        return;
    r->at[n].seen = r->past_count;
    r->past[r->past_count++ % SNAP_PAST] = n;
}

/* Remember a run; if there is no room nothing is lost. */
static void run_keep(struct snap_builder *b, uint32_t hash,
                     const struct wanted *w, uint32_t gets, uint32_t stack)
{
    struct snap_memory *m = &b->memory;
    struct snap_runs *r = &b->runs;

    if (r->bytes_used + w->length > KEPT_BYTES_MAX ||
        !snap_reserve(m, &r->bytes, &r->bytes_capacity,
                      r->bytes_used + w->length, 1) ||
        !snap_reserve(m, &r->at, &r->capacity, r->count + 1, sizeof *r->at) ||
        !snap_table_add(m, &r->table, hash, (uint32_t)r->count))
        return;
    memcpy(r->bytes + r->bytes_used, w->at, w->length);
    r->at[r->count] = (struct snap_run){
        .begin = r->bytes_used,
        .length = (uint32_t)w->length,
        .frames = gets,
        .stack = stack,
    };
    run_passes(b, (uint32_t)r->count++);
    r->follow = r->past_count;
    r->bytes_used += w->length;
}

static void runs_forget(struct snap_builder *b)
{
    struct snap_runs *r = &b->runs;

    /* Freed rather than cleared: clearing a large table each time would be
     * slow. */
    snap_table_free(&b->memory, &r->table);
    r->count = 0;
    r->bytes_used = 0;
    r->past_count = 0;
    r->follow = 0;
    b->memo_rewritten = false;
}

/* The list below the mark is now the stack; APPENDS is consumed too. */
static void list_take(struct snap_builder *b, struct snap_object *list,
                      uint32_t stack, uint32_t gets, size_t length)
{
    list->range = SNAP_STACK;
    list->first = stack;
    list->count = gets;
    b->mark_count--;
    b->in.at += length + 1;
}

static void run_take(struct snap_builder *b, struct snap_object *list,
                     uint32_t n)
{
    const struct snap_run *run = &b->runs.at[n];

    list_take(b, list, run->stack, run->frames, run->length);
    run_passes(b, n);
}

/* A run not seen before; its fetches may be of anything. */
static void run_new(struct snap_builder *b, struct snap_object *list,
                    const struct wanted *w, uint32_t gets, uint32_t hash)
{
    uint32_t stack;

    SNAP_ROOM(b, b->ids, b->id_capacity, gets);
    if (!run_frames(b, w->at, gets))
        return;
    stack = snap_intern_stack(b, b->ids, gets);
    run_keep(b, hash, w, gets, stack);
    list_take(b, list, stack, gets, w->length);
}

/* It is not the expected run, or none was expected: search for it. */
static void run_search(struct snap_builder *b, struct snap_object *list)
{
    struct snap_runs *r = &b->runs;
    struct wanted w = {.at = b->in.at};
    uint32_t hash, n, gets;

    w.length = run_length(&b->in, &gets);
    if (w.length == 0)
        return;
    hash = snap_hash(w.at, w.length);
    n = snap_table_find(&r->table, hash, same_run, r, &w);
    if (n == SNAP_NONE) {
        run_new(b, list, &w, gets, hash);
        return;
    }
    r->follow = r->at[n].seen + 1;
    run_take(b, list, n);
}

void snap_runs_stack(struct snap_builder *b)
{
    struct snap_object *list;
    uint32_t n;

    if (snap_input_left(&b->in) < 8 || (*b->in.at != 'h' && *b->in.at != 'j'))
        return;
    list = snap_top_empty_list(b);
    if (list == NULL)
        return;
    if (b->memo_rewritten)
        runs_forget(b);
    n = run_expected(b);
    if (n == SNAP_NONE) {
        run_search(b, list);
        return;
    }
    b->runs.follow++;
    run_take(b, list, n);
}

void snap_runs_free(struct snap_builder *b)
{
    free(b->runs.table.slots);
    free(b->runs.at);
    free(b->runs.bytes);
    free(b->runs.past);
}
