/* snap_runs.c - recognises stacks by the bytes that encode them.
 *
 * Most of a snapshot is lists of frames, each fetched from the memo one by one,
 * and most lists occur repeatedly.  Comparing a list's bytes with an earlier
 * one's is several times faster than executing them.  Training repeats itself:
 * as long as lists come in the same order as before, the next one is known
 * without a search. */
#include <string.h>

#include "snapshot/snap_pickle.h"

enum { RUN_BYTES_MAX = 64 << 10, KEPT_BYTES_MAX = 32 << 20 };

struct wanted {
    const unsigned char *at;
    size_t length;
};

static bool same_run(const void *owner, uint32_t number, const void *wanted)
{
    const struct snap_pickle *k = owner;
    const struct snap_run *run = &k->runs[number];
    const struct wanted *w = wanted;

    return run->length == w->length &&
           memcmp(k->run_bytes + run->begin, w->at, w->length) == 0;
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
static uint32_t run_expected(const struct snap_pickle *k)
{
    const struct snap_input *in = &k->b->in;
    const struct snap_run *run;
    uint32_t n;

    if (k->follow >= k->past_count)
        return SNAP_NONE;
    n = k->past[k->follow % SNAP_PAST];
    run = &k->runs[n];
    return snap_input_left(in) > run->length && in->at[run->length] == 'e' &&
                   memcmp(k->run_bytes + run->begin, in->at, run->length) == 0
               ? n
               : SNAP_NONE;
}

/* Append the run to the past, and expect what followed it last time.  If it
 * occurs at several places of an iteration that may be the wrong one, but the
 * first run that is unique in an iteration corrects this for good. */
static void run_passes(struct snap_pickle *k, uint32_t n)
{
    if (k->past == NULL)
        k->past = snap_alloc(&k->b->memory, SNAP_PAST, sizeof *k->past);
    if (k->past == NULL)
        return;
    k->runs[n].seen = k->past_count;
    k->past[k->past_count++ % SNAP_PAST] = n;
}

/* Remember a run; if there is no room nothing is lost. */
static void run_keep(struct snap_pickle *k, uint32_t hash,
                     const struct wanted *w, uint32_t gets, uint32_t stack)
{
    struct snap_memory *m = &k->b->memory;

    if (k->run_bytes_used + w->length > KEPT_BYTES_MAX ||
        !snap_reserve(m, &k->run_bytes, &k->run_bytes_capacity,
                      k->run_bytes_used + w->length, 1) ||
        !snap_reserve(m, &k->runs, &k->run_capacity, k->run_count + 1,
                      sizeof *k->runs) ||
        !snap_table_add(m, &k->run_table, hash, (uint32_t)k->run_count))
        return;
    memcpy(k->run_bytes + k->run_bytes_used, w->at, w->length);
    k->runs[k->run_count] = (struct snap_run){
        .begin = k->run_bytes_used,
        .length = (uint32_t)w->length,
        .frames = gets,
        .stack = stack,
    };
    run_passes(k, (uint32_t)k->run_count++);
    k->follow = k->past_count;
    k->run_bytes_used += w->length;
}

static void runs_forget(struct snap_pickle *k)
{
    /* Freed rather than cleared: clearing a large table each time would be
     * slow. */
    snap_table_free(&k->b->memory, &k->run_table);
    k->run_count = 0;
    k->run_bytes_used = 0;
    k->past_count = 0;
    k->follow = 0;
    k->b->memo_rewritten = false;
}

/* The list below the mark is now the stack; APPENDS is consumed too. */
static void list_take(struct snap_pickle *k, struct snap_object *list,
                      uint32_t stack, uint32_t gets, size_t length)
{
    list->range = SNAP_STACK;
    list->first = stack;
    list->count = gets;
    k->b->mark_count--;
    k->b->in.at += length + 1;
}

static void run_take(struct snap_pickle *k, struct snap_object *list,
                     uint32_t n)
{
    const struct snap_run *run = &k->runs[n];

    list_take(k, list, run->stack, run->frames, run->length);
    run_passes(k, n);
}

/* A run not seen before; its fetches may be of anything. */
static bool run_new(struct snap_pickle *k, struct snap_object *list,
                    const struct wanted *w, uint32_t gets, uint32_t hash)
{
    struct snap_builder *b = k->b;
    uint32_t stack;

    if (!snap_reserve(&b->memory, &b->ids, &b->id_capacity, gets,
                      sizeof *b->ids))
        return snap_no_memory(b);
    if (!run_frames(b, w->at, gets))
        return true;
    stack = snap_intern_stack(&b->intern, b->ids, gets);
    if (stack == SNAP_NONE)
        return snap_no_memory(b);
    run_keep(k, hash, w, gets, stack);
    list_take(k, list, stack, gets, w->length);
    return true;
}

/* It is not the expected run, or none was expected: search for it. */
static bool run_search(struct snap_pickle *k, struct snap_object *list)
{
    struct wanted w = {.at = k->b->in.at};
    uint32_t hash, n, gets;

    w.length = run_length(&k->b->in, &gets);
    if (w.length == 0)
        return true;
    hash = snap_hash(w.at, w.length);
    n = snap_table_find(&k->run_table, hash, same_run, k, &w);
    if (n == SNAP_NONE)
        return run_new(k, list, &w, gets, hash);
    k->follow = k->runs[n].seen + 1;
    run_take(k, list, n);
    return true;
}

bool snap_pickle_stack(struct snap_pickle *k)
{
    struct snap_builder *b = k->b;
    struct snap_object *list;
    uint32_t n;

    if (snap_input_left(&b->in) < 8 || (*b->in.at != 'h' && *b->in.at != 'j'))
        return true;
    if (!snap_top_is_empty_list(b, &list))
        return true;
    if (b->memo_rewritten)
        runs_forget(k);
    n = run_expected(k);
    if (n == SNAP_NONE)
        return run_search(k, list);
    k->follow++;
    run_take(k, list, n);
    return true;
}

void snap_pickle_free(struct snap_pickle *k)
{
    struct snap_memory *m = &k->b->memory;

    snap_table_free(m, &k->run_table);
    snap_release(m, k->runs, k->run_capacity * sizeof *k->runs);
    snap_release(m, k->run_bytes, k->run_bytes_capacity);
    snap_release(m, k->past, SNAP_PAST * sizeof *k->past);
}
