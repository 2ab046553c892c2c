/* ranks.c - the ranks of one job side by side. */
#include "report/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "report/frame_groups.h"
#include "report/shortage.h"
#include "report/summary_of_run.h"
#include "snapshot/device_list.h"
#include "trace/array_room.h"

/* ---- the largest holders at a device's peak ------------------------------ */

static size_t holders_of(const struct run_summary *r, size_t max,
                         struct report_holder *out)
{
    size_t count = r->lines.count < max ? r->lines.count : max;

    for (size_t i = 0; i < count; i++) {
        const struct report_group *g = &r->lines.items[i];

        out[i].bytes = g->bytes;
        out[i].count = g->count;
        report_group_label_in(r->lifetimes->snapshot, g, BY_LINE, false,
                              out[i].frame);
    }
    return count;
}

bool report_holders(const struct snapshot *s, size_t device, size_t max,
                    struct report_holder *out, size_t *count,
                    struct tool_error *error)
{
    struct arena arena = {.error = error, .words = REPORT_NO_MEMORY};

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    *count = holders_of(run_summary_of(&arena, s, device), max, out);
    return arena_end(&arena, true);
}

/* ---- one rank ----------------------------------------------------------- */

const char *report_rank_cause(const char *name)
{
    for (int i = 0; i < SHORTAGE_CAUSES; i++) {
        if (strcmp(shortage_words[i].name, name) == 0)
            return shortage_words[i].name;
    }
    return NULL;
}

/* The last request that failed, if one did. */
static void find_failure(struct arena *arena, const struct lifetimes *l,
                         struct report_rank *rank)
{
    uint32_t event = lifetimes_failure(l, l->event_count);
    struct shortage s;

    if (event == UINT32_MAX)
        return;
    shortage_make(arena, l, event, &s);
    rank->asked = s.asked > 0 ? s.asked : 1;
    rank->cause = shortage_words[s.cause].name;
    if (l->events[event].stack != 0)
        report_requester_in(l->snapshot, l->events[event].stack,
                            rank->requester);
}

static bool make_rank(const struct snapshot *s, struct report_rank *rank,
                      struct tool_error *error)
{
    struct arena arena = {.error = error, .words = REPORT_NO_MEMORY};
    const struct run_summary *r;

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    r = run_summary_of(&arena, s, rank->device);
    rank->events = r->lifetimes->event_count;
    rank->peak_allocated = r->peak_allocated;
    rank->peak_reserved = r->peak_reserved;
    rank->holder_count = holders_of(r, RANK_HOLDERS, rank->holders);
    find_failure(&arena, r->lifetimes, rank);
    return arena_end(&arena, true);
}

struct report_rank *report_ranks_new(struct report_ranks *out, const char *file,
                                     struct tool_error *error)
{
    char *name = strdup(file);

    if (name == NULL ||
        !ARRAY_ROOM(out->items, out->capacity, out->count + 1)) {
        free(name);
        tool_set_error(error, "not enough host memory for the ranks");
        return NULL;
    }
    out->items[out->count] = (struct report_rank){.file = name};
    return &out->items[out->count++];
}

bool report_ranks_add(struct report_ranks *out, const char *file,
                      const struct snapshot *s, struct tool_error *error)
{
    struct device_list devices;

    if (!device_list_make(s, NULL, &devices, error))
        return false;
    for (size_t i = 0; i < devices.count; i++) {
        struct report_rank *rank = report_ranks_new(out, file, error);

        if (rank == NULL)
            return false;
        rank->device = devices.numbers[i];
        if (!make_rank(s, rank, error))
            return false;
    }
    return true;
}

void report_ranks_free(struct report_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        free(ranks->items[i].file);
    free(ranks->items);
    *ranks = (struct report_ranks){0};
}

/* ---- all of them -------------------------------------------------------- */

size_t report_ranks_worst(const struct report_ranks *ranks)
{
    size_t worst = 0;

    for (size_t i = 1; i < ranks->count; i++) {
        const struct report_rank *a = &ranks->items[i];
        const struct report_rank *b = &ranks->items[worst];

        if ((a->asked > 0) != (b->asked > 0)
                ? a->asked > 0
                : a->peak_allocated > b->peak_allocated)
            worst = i;
    }
    return worst;
}

size_t report_ranks_failed(const struct report_ranks *ranks)
{
    size_t count = 0;

    for (size_t i = 0; i < ranks->count; i++)
        count += ranks->items[i].asked > 0;
    return count;
}

typedef uint64_t rank_figure(const struct report_rank *rank, uint64_t than);

static uint64_t allocated_of(const struct report_rank *rank, uint64_t than)
{
    (void)than;
    return rank->peak_allocated;
}

static uint64_t reserved_of(const struct report_rank *rank, uint64_t than)
{
    (void)than;
    return rank->peak_reserved;
}

static uint64_t distance_of(const struct report_rank *rank, uint64_t than)
{
    return rank->peak_allocated > than ? rank->peak_allocated - than
                                       : than - rank->peak_allocated;
}

/* How many ranks have less than this, or as much but an earlier place. */
static size_t place_of(const struct report_ranks *ranks, rank_figure *figure,
                       uint64_t than, size_t rank)
{
    uint64_t own = figure(&ranks->items[rank], than);
    size_t place = 0;

    for (size_t i = 0; i < ranks->count; i++) {
        uint64_t other = figure(&ranks->items[i], than);

        place += other < own || (other == own && i < rank);
    }
    return place;
}

static size_t median_rank(const struct report_ranks *ranks, rank_figure *figure,
                          uint64_t than)
{
    size_t rank = 0;

    while (place_of(ranks, figure, than, rank) != (ranks->count - 1) / 2)
        rank++;
    return rank;
}

static struct report_spread spread_of(const struct report_ranks *ranks,
                                      rank_figure *figure)
{
    struct report_spread s = {.min = UINT64_MAX};

    for (size_t i = 0; i < ranks->count; i++) {
        uint64_t one = figure(&ranks->items[i], 0);

        s.min = one < s.min ? one : s.min;
        s.max = one > s.max ? one : s.max;
    }
    s.median = figure(&ranks->items[median_rank(ranks, figure, 0)], 0);
    return s;
}

struct report_spread report_ranks_allocated(const struct report_ranks *ranks)
{
    return spread_of(ranks, allocated_of);
}

struct report_spread report_ranks_reserved(const struct report_ranks *ranks)
{
    return spread_of(ranks, reserved_of);
}

/* What the rank holds from a line; at most: where its list ends before it. */
static uint64_t held_from(const struct report_rank *rank, const char *frame)
{
    for (size_t i = 0; i < rank->holder_count; i++) {
        if (strcmp(rank->holders[i].frame, frame) == 0)
            return rank->holders[i].bytes;
    }
    return rank->holder_count == RANK_HOLDERS
               ? rank->holders[RANK_HOLDERS - 1].bytes
               : 0;
}

/* The line of `more` that accounts for most of what it has beyond `less`. */
static void explain_more(const struct report_rank *more,
                         const struct report_rank *less,
                         struct report_outlier *out)
{
    for (size_t i = 0; i < more->holder_count; i++) {
        const struct report_holder *h = &more->holders[i];
        uint64_t there = held_from(less, h->frame);

        if (h->bytes > there && h->bytes - there > out->frame_by) {
            out->frame = h->frame;
            out->frame_by = h->bytes - there;
        }
    }
}

struct report_middle report_ranks_middle(const struct report_ranks *ranks)
{
    const struct report_rank *rank =
        &ranks->items[median_rank(ranks, allocated_of, 0)];
    uint64_t median = rank->peak_allocated;
    size_t usual = median_rank(ranks, distance_of, median);

    return (struct report_middle){rank,
                                  distance_of(&ranks->items[usual], median)};
}

bool report_ranks_outlier(const struct report_ranks *ranks,
                          const struct report_middle *middle, size_t rank,
                          struct report_outlier *out)
{
    const struct report_rank *one = &ranks->items[rank];
    uint64_t median = middle->rank->peak_allocated;
    uint64_t by = distance_of(one, median);

    if (by / 3 <= middle->usual || by < median / 20)
        return false;
    *out = (struct report_outlier){
        .rank = rank, .over = one->peak_allocated > median, .by = by};
    if (out->over)
        explain_more(one, middle->rank, out);
    else
        explain_more(middle->rank, one, out);
    return true;
}

/* ---- what they have in common ------------------------------------------- */

typedef bool rank_alike(const struct report_rank *a,
                        const struct report_rank *b);

static bool fail_alike(const struct report_rank *a, const struct report_rank *b)
{
    return a->asked > 0 && b->asked > 0 && strcmp(a->cause, b->cause) == 0 &&
           strcmp(a->requester, b->requester) == 0;
}

static bool hold_alike(const struct report_rank *a, const struct report_rank *b)
{
    return a->holder_count > 0 && b->holder_count > 0 &&
           strcmp(a->holders[0].frame, b->holders[0].frame) == 0;
}

static struct report_common most_alike(const struct report_ranks *ranks,
                                       rank_alike *alike)
{
    struct report_common most = {0, 0};

    for (size_t i = 0; i < ranks->count; i++) {
        size_t count = 0;

        for (size_t k = 0; k < ranks->count; k++)
            count += alike(&ranks->items[i], &ranks->items[k]);
        if (count > most.count)
            most = (struct report_common){i, count};
    }
    return most;
}

struct report_common report_ranks_cause(const struct report_ranks *ranks)
{
    return most_alike(ranks, fail_alike);
}

struct report_common report_ranks_holder(const struct report_ranks *ranks)
{
    return most_alike(ranks, hold_alike);
}
