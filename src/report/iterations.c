/* iterations.c - see iterations.h.
 *
 * Allocations are sorted by kind (size and stack), so that equal ones are
 * adjacent in order of allocation.  Each such row is judged by the evenness of
 * its distances. */
#include "report/iterations.h"

#include <string.h>

#include "report/frame_kind.h"

/* Fewer repeats do not count. */
enum { REPEATS_MIN = 3, REPEATS_MAX = 100000 };

/* If there are many kinds of allocations, several must agree on the number of
 * repeats: a single one may be even by chance. */
enum { KINDS_MANY = 16, WITNESSES = 3 };

/* Bytes of the sort key. */
enum { DIGITS = 12, DIGIT_VALUES = 256 };

/* Maximum spread of the distances, relative to their mean. */
#define UNEVEN_MAX 0.15

struct made {
    uint64_t requested;
    uint32_t stack;
    uint32_t start;
};

/* A byte of the sort key, lowest first: of the stack, then of the bytes
 * requested. */
static unsigned digit_of(const struct made *m, unsigned digit)
{
    return digit < 4 ? m->stack >> 8 * digit & 0xff
                     : (unsigned)(m->requested >> 8 * (digit - 4) & 0xff);
}

static void count_digits(const struct made *all, size_t count,
                         size_t counts[DIGITS][DIGIT_VALUES])
{
    memset(counts, 0, sizeof(*counts) * DIGITS);
    for (size_t i = 0; i < count; i++) {
        for (unsigned digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(&all[i], digit)]++;
    }
}

/* Compute where each value begins.  False: all are equal. */
static bool place_values(size_t counts[DIGIT_VALUES], size_t all)
{
    size_t sum = 0;

    for (size_t i = 0; i < DIGIT_VALUES; i++) {
        size_t here = counts[i];

        if (here == all)
            return false;
        counts[i] = sum;
        sum += here;
    }
    return true;
}

/* A stable radix sort, so that equal ones stay in order of allocation: there
 * are millions, and a comparison sort took a tenth of a report. `other` has
 * room for as many.  Returns the array that has the result. */
static struct made *sort_by_kind(struct made *all, struct made *other,
                                 size_t count)
{
    size_t counts[DIGITS][DIGIT_VALUES];

    count_digits(all, count, counts);
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        size_t *places = counts[digit];
        struct made *from = all;

        if (!place_values(places, count))
            continue;
        for (size_t i = 0; i < count; i++)
            other[places[digit_of(&from[i], digit)]++] = from[i];
        all = other;
        other = from;
    }
    return all;
}

static bool same_kind(const struct made *a, const struct made *b)
{
    return a->requested == b->requested && a->stack == b->stack;
}

/* The variance of the distances, divided by the square of their mean. */
static double unevenness(const struct made *row, size_t count)
{
    double mean =
        (double)(row[count - 1].start - row[0].start) / (double)(count - 1);
    double sum = 0;

    for (size_t i = 1; i < count; i++) {
        double off = (double)(row[i].start - row[i - 1].start) - mean;

        sum += off * off;
    }
    return mean > 0 ? sum / (double)(count - 1) / (mean * mean) : 1;
}

/* How good a row is as a clock: it should cover the run evenly and be
 * significant (large allocations are rarely incidental).  0: unusable. */
static double quality(const struct lifetimes *l, const struct made *row,
                      size_t count)
{
    double covered;

    if (count < REPEATS_MIN || count > REPEATS_MAX ||
        unevenness(row, count) > UNEVEN_MAX * UNEVEN_MAX)
        return 0;
    covered = (double)(row[count - 1].start - row[0].start) *
              ((double)count / (double)(count - 1)) / (double)l->event_count;
    /* Iterations are long: a row that repeats every few events is a layer, or a
     * loop within one. */
    return covered < 0.5 ? 0 : covered / (double)count;
}

/* The end of the row that begins at `begin`. */
static size_t row_end(const struct made *all, size_t count, size_t begin)
{
    size_t end = begin + 1;

    while (end < count && same_kind(&all[end], &all[begin]))
        end++;
    return end;
}

/* Count the rows for each number of repeats.  Returns the number of all
 * rows. */
static size_t count_witnesses(const struct lifetimes *l, const struct made *all,
                              size_t count, uint32_t *witnesses)
{
    size_t rows = 0;
    size_t end;

    for (size_t begin = 0; begin < count; begin = end, rows++) {
        end = row_end(all, count, begin);
        if (quality(l, all + begin, end - begin) > 0)
            witnesses[end - begin]++;
    }
    return rows;
}

/* Take the best row whose number of repeats enough rows share. */
static void search(const struct lifetimes *l, const struct made *all,
                   size_t count, const uint32_t *witnesses, uint32_t needed,
                   struct iterations *out)
{
    double best = 0;
    size_t best_at = 0;
    size_t best_count = 0;
    size_t end;

    for (size_t begin = 0; begin < count; begin = end) {
        double good;

        end = row_end(all, count, begin);
        if (end - begin > REPEATS_MAX || witnesses[end - begin] < needed)
            continue;
        good = quality(l, all + begin, end - begin);
        if (good > best) {
            best = good;
            best_at = begin;
            best_count = end - begin;
        }
    }
    for (size_t i = 0; i < best_count; i++)
        out->begin[i] = all[best_at + i].start;
    out->count = best_count;
}

/* Choose the best of the sorted rows. */
static void choose_row(struct arena *arena, const struct lifetimes *l,
                       const struct made *all, size_t count,
                       struct iterations *out)
{
    uint32_t *witnesses =
        arena_take(arena, REPEATS_MAX + 1, sizeof(*witnesses));
    size_t kinds = count_witnesses(l, all, count, witnesses);

    search(l, all, count, witnesses, kinds < KINDS_MANY ? 1 : WITNESSES, out);
}

static void find_repeats(struct arena *arena, const struct lifetimes *l,
                         struct iterations *out)
{
    size_t count = l->alloc_count - l->before_count;
    /* A note may contain the number of its iteration. */
    bool notes = l->snapshot->stacks_are_notes;
    const struct arena_piece *last;
    struct made *all;

    out->begin = arena_take(arena, count < REPEATS_MAX ? count : REPEATS_MAX,
                            sizeof(*out->begin));
    last = arena->last;
    all = arena_take(arena, 2 * count + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        const struct lifetime *a = &l->allocs[l->before_count + i];

        all[i] = (struct made){a->requested, notes ? 0 : a->stack, a->start};
    }
    choose_row(arena, l, sort_by_kind(all, all + count, count), count, out);
    arena_free_since(arena, last);
}

/* ---- layers -------------------------------------------------------------
 *
 * What repeats within one call of a module's forward() are layers.  A call path
 * does not tell one call from the next, but a pass does more than its layers,
 * before or after them: if the same forward() made something else, and only
 * outside the repetition, it was called once. */

/* Inner calls beyond these are of no interest. */
enum { CALLS_MAX = 256 };

/* The Python calls of a path, outermost first.  C++ frames are left out: where
 * they are among the others differs from one unwinding to the next. */
struct path {
    uint32_t frames[CALLS_MAX];
    size_t count;
};

static bool is_python(const struct snapshot *s, uint32_t frame)
{
    enum frame_kind kind = frame_kind_of(s, frame);

    return kind == FRAME_STANDARD || kind >= FRAME_TORCH;
}

static void path_of(const struct snapshot *s, uint32_t stack, struct path *out)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);

    out->count = 0;
    while (count-- > 0 && out->count < CALLS_MAX) {
        if (is_python(s, frames[count]))
            out->frames[out->count++] = frames[count];
    }
}

/* How many outer calls, of at most `max`, both paths may share: those below the
 * first that is on another line are other calls. */
static size_t common_depth(const struct snapshot *s, const struct path *a,
                           const struct path *b, size_t max)
{
    for (size_t k = 0; k < max; k++) {
        const struct snapshot_frame *x;
        const struct snapshot_frame *y;

        if (k == a->count || k == b->count)
            return k;
        x = &s->frames[a->frames[k]];
        y = &s->frames[b->frames[k]];
        if (x->name != y->name || x->filename != y->filename)
            return k;
        if (x->line != y->line)
            return k + 1;
    }
    return max;
}

/* The number of calls down to the outermost forward(); 0: there is none. */
static size_t depth_of_pass(const struct snapshot *s, const struct path *p,
                            size_t max)
{
    for (size_t k = 0; k < max; k++) {
        if (strcmp(snapshot_string(s, s->frames[p->frames[k]].name),
                   "forward") == 0)
            return k + 1;
    }
    return 0;
}

static bool is_between(const struct lifetime *a, uint32_t from, uint32_t to)
{
    return a->start >= from && a->start < to;
}

/* Mark the stacks that repeat.  Returns how many outer calls all share with
 * *first, the path of one of them. */
static size_t mark_repeated(const struct lifetimes *l, uint32_t from,
                            uint32_t to, bool *repeated, struct path *first)
{
    const struct snapshot *s = l->snapshot;
    size_t depth = SIZE_MAX;

    for (size_t i = l->before_count; i < l->alloc_count; i++) {
        uint32_t stack = l->allocs[i].stack;
        struct path p;

        if (!is_between(&l->allocs[i], from, to) || repeated[stack])
            continue;
        repeated[stack] = true;
        path_of(s, stack, &p);
        if (depth == SIZE_MAX) {
            *first = p;
            depth = p.count;
        }
        depth = common_depth(s, first, &p, depth);
    }
    return depth == SIZE_MAX ? 0 : depth;
}

/* Whether what repeats between the events `from` and `to` is part of one
 * pass. */
static bool is_one_pass(struct arena *arena, const struct lifetimes *l,
                        uint32_t from, uint32_t to)
{
    const struct snapshot *s = l->snapshot;
    const struct arena_piece *last = arena->last;
    bool *repeated = arena_take(arena, s->stack_count + 1, sizeof *repeated);
    struct path first = {.count = 0};
    bool is = false;
    size_t depth;

    depth = mark_repeated(l, from, to, repeated, &first);
    depth = depth_of_pass(s, &first, depth);
    for (size_t i = l->before_count; depth > 0 && i < l->alloc_count; i++) {
        uint32_t stack = l->allocs[i].stack;
        struct path p;

        if (repeated[stack])
            continue;
        repeated[stack] = true; /* looked at */
        path_of(s, stack, &p);
        is = is || common_depth(s, &first, &p, depth) == depth;
    }
    arena_free_since(arena, last);
    return is;
}

/* Recognise repeated layers. */
static void set_layers_apart(struct arena *arena, const struct lifetimes *l,
                             struct iterations *it)
{
    if (is_one_pass(arena, l, it->begin[0], it->begin[it->count - 1])) {
        it->layers = it->count;
        it->count = 0;
    }
}

/* ---- marks -------------------------------------------------------------- */

static bool is_mark(const struct lifetimes *l,
                    const struct snapshot_annotation *a)
{
    const struct snapshot *s = l->snapshot;

    return a->device == l->device &&
           strcmp(snapshot_string(s, a->stage), "END") != 0 &&
           (strncmp(snapshot_string(s, a->name), "ProfilerStep", 12) == 0 ||
            strncmp(snapshot_string(s, a->name), "iter", 4) == 0 ||
            strncmp(snapshot_string(s, a->name), "step", 4) == 0);
}

static void find_marks(struct arena *arena, const struct lifetimes *l,
                       struct iterations *out)
{
    const struct snapshot *s = l->snapshot;

    out->begin =
        arena_take(arena, s->annotation_count + 1, sizeof(*out->begin));
    for (size_t i = 0; i < s->annotation_count; i++) {
        uint32_t event = lifetimes_event_at(l, s->annotations[i].time_us);

        if (is_mark(l, &s->annotations[i]) && event < l->event_count &&
            (out->count == 0 || event > out->begin[out->count - 1]))
            out->begin[out->count++] = event;
    }
    out->marked = out->count >= REPEATS_MIN;
}

void iterations_find(struct arena *arena, const struct lifetimes *l,
                     struct iterations *out)
{
    memset(out, 0, sizeof(*out));
    if (l->event_count == 0)
        return;
    find_marks(arena, l, out);
    if (!out->marked)
        find_repeats(arena, l, out);
    if (out->count == 0)
        return;
    out->events_each = (out->begin[out->count - 1] - out->begin[0]) /
                       (uint32_t)(out->count - 1);
    if (!out->marked)
        set_layers_apart(arena, l, out);
}
