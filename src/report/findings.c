/* findings.c - what stands out in a run.  Each rule has a threshold below which
 * it reports nothing. */
#include <inttypes.h>

#include "report/report_words.h"
#include "report/summary_of_run.h"

struct finding_list {
    struct arena *arena;
    struct report_finding *found;
    size_t count;
    size_t capacity;
    struct report_text *title; /* of the next finding */
    struct report_text *text;
};

static void finding_begin(struct finding_list *list)
{
    list->title = report_text_open(list->arena);
    list->text = report_text_open(list->arena);
}

/* Make a finding of what was written, and begin the next. */
static void finding_end(struct finding_list *list)
{
    ARENA_ROOM(list->arena, list->found, list->capacity, list->count + 1);
    list->found[list->count++] = (struct report_finding){
        report_text_close(list->arena, list->title),
        report_text_close(list->arena, list->text),
    };
    finding_begin(list);
}

/* ---- at the peak --------------------------------------------------------- */

/* A smaller fraction of reserved memory is not reported. */
#define WORTH_TELLING 0.05

static bool worth(uint64_t part, uint64_t whole)
{
    return whole > 0 && (double)part >= WORTH_TELLING * (double)whole;
}

/* Bytes of wholly unused segments, which are released before memory runs
 * out. */
static uint64_t wholly_free(const struct moment *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->area_count; i++) {
        if (m->areas[i].count == 0)
            sum += m->areas[i].size;
    }
    return sum;
}

static void find_unused(const struct run_summary *f, struct finding_list *list)
{
    const struct moment *m = &f->peak;
    uint64_t unused = moment_unused(m);
    uint64_t whole = wholly_free(m);

    if (!worth(unused, m->reserved))
        return;
    fprintf(list->title->out, "%s reserved but not in use at the peak",
            units_bytes(unused));
    fprintf(list->text->out,
            "Of %s held from the driver, %.0f %% was unused at the peak, in "
            "%zu block%s.\n",
            units_bytes(m->reserved), report_percent(unused, m->reserved),
            m->gap_count, report_plural(m->gap_count));
    if (whole > 0)
        fprintf(list->text->out,
                "%s of it is in entirely free segments, which are released "
                "before memory runs out.\n",
                units_bytes(whole < unused ? whole : unused));
    if (unused > whole && worth(f->savable, m->reserved) &&
        !f->lifetimes->snapshot->settings.expandable_segments)
        fprintf(list->text->out,
                "%s is in segments that are partly in use; `larder tune` "
                "replays the settings that might use it.\n",
                units_bytes(unused - whole));
    finding_end(list);
}

static void find_rounding(const struct run_summary *f,
                          struct finding_list *list)
{
    const struct moment *m = &f->peak;
    uint64_t lost =
        m->allocated > m->requested ? m->allocated - m->requested : 0;

    if (!worth(lost, m->allocated))
        return;
    fprintf(list->title->out, "%s lost to rounding at the peak",
            units_bytes(lost));
    fprintf(
        list->text->out,
        "Requests are rounded up to 512 bytes or more, and a cached block may "
        "be a little larger: %zu allocation%s in use, on "
        "average %s each.  Fewer and larger tensors waste less.\n",
        m->live_count, m->live_count == 1 ? " was" : "s were",
        units_bytes(m->requested / m->live_count));
    finding_end(list);
}

static bool is_temporary(const void *run, uint32_t number)
{
    const struct run_summary *f = run;

    return f->categories[number] == REPORT_TEMPORARIES;
}

static void find_temporaries(const struct run_summary *f,
                             struct finding_list *list)
{
    const struct snapshot *s = f->lifetimes->snapshot;
    struct moment_sum sum = moment_sum_of(&f->peak, is_temporary, f);
    const struct lifetime *a;

    if (!worth(sum.bytes, f->peak.allocated))
        return;
    a = &f->lifetimes->allocs[sum.largest];
    fprintf(list->title->out, "Temporaries take %s of the peak",
            units_bytes(sum.bytes));
    fprintf(list->text->out, "The largest is %s from %s",
            units_bytes(a->requested),
            report_frame(s, report_own_frame(s, a->stack), false));
    if (a->end < f->lifetimes->event_count && a->start != LIFETIME_BEFORE)
        fprintf(list->text->out, ", freed after %" PRIu32 " event%s",
                a->end - a->start, report_plural(a->end - a->start));
    fputs(".  Doing that step in smaller parts, or in place, lowers the "
          "peak.\n",
          list->text->out);
    finding_end(list);
}

struct stream_share {
    uint64_t reserved;
    uint64_t used;
};

/* The shares of all streams at the peak. */
static const struct stream_share *share_out(struct arena *arena,
                                            const struct run_summary *f)
{
    const struct moment *m = &f->peak;
    struct stream_share *shares = arena_take(
        arena, f->lifetimes->snapshot->stream_count + 1, sizeof(*shares));

    for (size_t i = 0; i < m->area_count; i++) {
        const struct moment_area *area = &m->areas[i];

        shares[area->stream].reserved += area->size;
        shares[area->stream].used += area->allocated + area->pending;
    }
    return shares;
}

static void add_stranded(const struct run_summary *f, uint32_t stream,
                         const struct stream_share *share,
                         struct finding_list *list)
{
    uint64_t unused =
        share->reserved > share->used ? share->reserved - share->used : 0;

    /* With a single stream this is ordinary fragmentation. */
    if (share->reserved == f->peak.reserved || unused < share->reserved / 2 ||
        !worth(unused, f->peak.reserved))
        return;
    fprintf(list->title->out, "%s stranded on stream %" PRIu64,
            units_bytes(unused),
            snapshot_stream(f->lifetimes->snapshot, stream));
    fprintf(list->text->out,
            "%s is reserved for that stream, and most of it was free when "
            "the other streams needed the most: freed memory is reused only "
            "on its own stream.\n",
            units_bytes(share->reserved));
    finding_end(list);
}

static void find_stranded(const struct run_summary *f,
                          struct finding_list *list)
{
    const struct snapshot *s = f->lifetimes->snapshot;
    const struct stream_share *shares = share_out(list->arena, f);

    for (uint32_t stream = 0; stream < s->stream_count; stream++)
        add_stranded(f, stream, &shares[stream], list);
}

static void find_pending(const struct run_summary *f, struct finding_list *list)
{
    const struct moment *m = &f->peak;

    if (!worth(m->pending, m->reserved))
        return;
    fprintf(list->title->out, "%s freed but waiting at the peak",
            units_bytes(m->pending));
    fputs("record_stream delays the reuse of freed memory until the other "
          "stream has finished with it.  Let that stream catch up earlier.\n",
          list->text->out);
    finding_end(list);
}

enum {
    LEAK_ITERATIONS = 4, /* fewer show no trend */
    GROWTH_STEPS = 8,    /* requests, each larger than the last */
    GROWTH_PART = 8,     /* ... by at most an eighth */
    LEAK_PART = 5,       /* if more than a fifth stays it is intended */
    LATE_ITERATIONS = 3,
    DRIVER_CALLS = 100,
    LOOP_BURSTS = 10 /* fewer are not a loop */
};

/* ---- leaks -------------------------------------------------------------- */

/* Weights, gradients and optimizer state are kept on purpose. */
bool finding_is_left(const struct run_summary *f, uint32_t number)
{
    const struct lifetimes *l = f->lifetimes;

    return l->allocs[number].end == l->event_count &&
           (f->categories[number] == REPORT_OTHER ||
            f->categories[number] == REPORT_ACTIVATIONS);
}

/* Bytes allocated in iteration `i` that are live at the end of the run.  0 as
 * well if they are so many that the iteration cannot be complete: a forward
 * pass keeps a large part of what each layer allocates. */
static uint64_t kept_from(const struct run_summary *f, size_t i,
                          uint32_t *largest)
{
    uint64_t made = 0;
    const struct lifetimes *l = f->lifetimes;
    uint32_t begin_event = f->iterations.begin[i];
    uint32_t end_event = f->iterations.begin[i + 1];
    uint64_t sum = 0;
    uint64_t max = 0;
    size_t low = l->before_count;
    size_t high = l->alloc_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->allocs[middle].start < begin_event)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < l->alloc_count && l->allocs[low].start < end_event; low++) {
        const struct lifetime *a = &l->allocs[low];

        made += a->rounded;
        if (!finding_is_left(f, (uint32_t)low))
            continue;
        sum += a->rounded;
        if (a->rounded > max) {
            max = a->rounded;
            *largest = (uint32_t)low;
        }
    }
    return sum > made / LEAK_PART ? 0 : sum;
}

/* The first iteration allocates state, and the last two are not complete. */
uint64_t finding_leak(const struct run_summary *f, uint32_t *largest)
{
    uint64_t min = UINT64_MAX;

    if (f->iterations.count < LEAK_ITERATIONS + 2)
        return 0;
    for (size_t i = 1; i + 2 < f->iterations.count && min > 0; i++) {
        uint64_t kept = kept_from(f, i, largest);

        if (kept < min)
            min = kept;
    }
    return min;
}

static void find_leaks(const struct run_summary *f, struct finding_list *list)
{
    const struct snapshot *s = f->lifetimes->snapshot;
    uint32_t largest = 0;
    uint64_t min = finding_leak(f, &largest);

    if (min == 0)
        return;
    fprintf(list->title->out, "Each iteration leaves %s behind",
            units_bytes(min));
    fprintf(
        list->text->out,
        "In each of %zu iterations at least that much is never freed; the "
        "largest such allocation of the last one: %s from %s.  %s\n",
        f->iterations.count - 3,
        units_bytes(f->lifetimes->allocs[largest].requested),
        report_frame(
            s, report_own_frame(s, f->lifetimes->allocs[largest].stack), false),
        f->are_iterations
            ? "Something keeps a reference, usually a list of losses or "
              "outputs."
            : "If these are layers, they keep it for later (keys and "
              "values, say); otherwise something keeps a reference, "
              "usually a list of losses or outputs.");
    finding_end(list);
}

/* ---- requests that grow ------------------------------------------------- */

/* A sequence of requests of one call path, each at least as large as the
 * previous one. */
struct row {
    uint64_t first;
    uint64_t last;
    uint32_t steps; /* number of increases */
};

/* The longest sequence of each call path so far, and the current one. */
struct grower {
    struct row now;
    struct row best;
};

static void grow(struct grower *g, uint64_t requested)
{
    struct row *now = &g->now;

    if (requested < now->last ||
        requested - now->last > now->last / GROWTH_PART)
        *now = (struct row){requested, requested, 0};
    now->steps += requested > now->last;
    now->last = requested;
    if (now->steps > g->best.steps)
        g->best = *now;
}

/* The call path that grew the most, in many small steps. */
static uint32_t fastest_grower(const struct lifetimes *l,
                               struct grower *growers)
{
    const struct snapshot *s = l->snapshot;
    uint32_t best = 0;
    uint64_t max = 0;

    for (size_t i = l->before_count; i < l->alloc_count; i++)
        grow(&growers[l->allocs[i].stack], l->allocs[i].requested);
    for (uint32_t stack = 1; stack < s->stack_count; stack++) {
        const struct row *row = &growers[stack].best;

        if (row->steps >= GROWTH_STEPS && row->last - row->first > max) {
            max = row->last - row->first;
            best = stack;
        }
    }
    return best;
}

static void find_growth(const struct run_summary *f, struct finding_list *list)
{
    const struct snapshot *s = f->lifetimes->snapshot;
    struct grower *rows =
        arena_take(list->arena, s->stack_count + 1, sizeof(*rows));
    uint32_t stack = fastest_grower(f->lifetimes, rows);

    if (stack != 0) {
        fprintf(list->title->out, "Requests that grow: from %s to %s",
                units_bytes(rows[stack].best.first),
                units_bytes(rows[stack].best.last));
        fprintf(list->text->out,
                "%s requested %" PRIu32 " times a little more than before: "
                "the block that each frees is too small for the next.  "
                "Allocating the final size once, or growing in larger steps, "
                "avoids that.\n",
                report_frame(s, report_own_frame(s, stack), false),
                rows[stack].best.steps);
        finding_end(list);
    }
}

/* ---- late frees --------------------------------------------------------- */

/* Allocated in one iteration and freed in a later one, though of a category
 * that is not kept on purpose: the variable that refers to it was overwritten
 * late. */
static bool is_late(const void *run, uint32_t number)
{
    const struct run_summary *f = run;
    const struct lifetime *a = &f->lifetimes->allocs[number];
    uint8_t category = f->categories[number];

    return (category == REPORT_ACTIVATIONS || category == REPORT_OTHER) &&
           a->start != LIFETIME_BEFORE && a->end < f->lifetimes->event_count &&
           a->end - a->start > f->iterations.events_each;
}

static void find_late_frees(const struct run_summary *f,
                            struct finding_list *list)
{
    const struct lifetimes *l = f->lifetimes;
    const struct lifetime *largest;
    struct moment_sum sum;

    /* If memory does not return to the same level repeatedly, what repeats may
     * be a layer, and activations outlive layers. */
    if (f->iterations.count < LATE_ITERATIONS || !f->steady)
        return;
    sum = moment_sum_of(&f->peak, is_late, f);
    if (sum.bytes == 0 || sum.bytes < f->peak.allocated / 20)
        return;
    largest = &l->allocs[sum.largest];
    fprintf(
        list->title->out,
        "%s at the peak was freed more than an iteration after its allocation",
        units_bytes(sum.bytes));
    fprintf(list->text->out,
            "The largest is %s from %s: if it is not needed in the next "
            "iteration, deleting it at the end of its own lowers the peak.\n",
            units_bytes(largest->requested),
            report_frame(l->snapshot,
                         report_own_frame(l->snapshot, largest->stack), false));
    finding_end(list);
}

/* ---- the driver --------------------------------------------------------- */

struct driver_calls {
    uint64_t all;
    uint64_t releases;
    uint64_t bursts; /* releases with nothing else between them count once */
};

static struct driver_calls count_driver_calls(const struct lifetimes *l)
{
    struct driver_calls n = {0};
    bool in_burst = false;

    for (uint32_t i = 0; i < l->event_count; i++) {
        uint8_t action = l->events[i].action;
        bool is_release =
            action == SNAPSHOT_SEGMENT_FREE || action == SNAPSHOT_SEGMENT_UNMAP;

        n.all += is_release || action == SNAPSHOT_SEGMENT_ALLOC ||
                 action == SNAPSHOT_SEGMENT_MAP;
        n.releases += is_release;
        n.bursts += is_release && !in_burst;
        in_burst = is_release;
    }
    return n;
}

static void find_driver_calls(const struct run_summary *f,
                              struct finding_list *list)
{
    const struct driver_calls n = count_driver_calls(f->lifetimes);

    if (n.releases < DRIVER_CALLS)
        return;
    fprintf(list->title->out,
            "Memory was released to the driver %" PRIu64 " times, in %" PRIu64
            " burst%s",
            n.releases, n.bursts, report_plural(n.bursts));
    fprintf(list->text->out,
            "%" PRIu64 " driver calls in total, of tens of microseconds or "
            "more each, and a release waits for the device.  %s\n",
            n.all,
            n.bursts >= LOOP_BURSTS
                ? "The cause is empty_cache in a loop, or a limit so tight "
                  "that the cache is emptied again and again."
                : "A burst is one empty_cache, or a request for which the "
                  "cache was emptied.");
    finding_end(list);
}

/* ---- all of them --------------------------------------------------------- */

const struct report_finding *report_findings(struct arena *arena,
                                             const struct run_summary *r,
                                             size_t *count)
{
    static void (*const rules[])(const struct run_summary *,
                                 struct finding_list *) = {
        find_unused,   find_rounding,   find_temporaries,
        find_stranded, find_pending,    find_leaks,
        find_growth,   find_late_frees, find_driver_calls,
    };
    struct finding_list list = {.arena = arena};

    finding_begin(&list);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        rules[i](r, &list);
    *count = list.count;
    return list.found;
}
