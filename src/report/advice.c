#include "report/advice.h"

#include <inttypes.h>

#include "report/findings.h"
#include "report/frame_kind.h"
#include "report/report_words.h"

/* In hundredths. */
static uint64_t rounded_up(uint64_t part, uint64_t whole)
{
    double share = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
    uint64_t below = (uint64_t)share;

    return below + ((double)below < share);
}

static bool is_expandable(const struct run_summary *r)
{
    const struct snapshot_settings *set = &r->lifetimes->snapshot->settings;

    return set->has_expandable_segments && set->expandable_segments;
}

static bool has_max_split(const struct run_summary *r)
{
    const struct snapshot_settings *set = &r->lifetimes->snapshot->settings;

    return set->has_max_split_size && set->max_split_size > 0;
}

void advice_to_record(FILE *out)
{
    fputs("Record one: torch.cuda.memory._record_memory_history("
          "max_entries=1000000) before the work, "
          "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") after it or "
          "where it runs out of memory.",
          out);
}

/* ---- advice after a failure --------------------------------------------- */

static uint64_t in_use(const struct run_summary *r, const struct shortage *s,
                       unsigned categories)
{
    const struct moment *m = &s->moment;
    uint64_t sum = 0;

    for (size_t i = 0; i < m->live_count; i++) {
        const struct lifetime *a = &m->lifetimes->allocs[m->live[i]];

        if ((categories >> r->categories[m->live[i]] & 1) != 0 &&
            moment_in_use(a, m->state))
            sum += a->rounded;
    }
    return sum;
}

/* Estimate what scales with the batch size: activations, temporaries, the
 * request. */
static uint64_t advise_less(const struct run_summary *r,
                            const struct shortage *s, uint32_t activations,
                            FILE *out)
{
    uint64_t needed = s->moment.allocated + s->moment.pending + s->asked;
    uint64_t missing =
        needed > s->attainable ? needed - s->attainable : s->asked;
    uint64_t passing =
        s->asked +
        in_use(r, s, 1U << REPORT_ACTIVATIONS | 1U << REPORT_TEMPORARIES);
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    char frame[REPORT_FRAME];

    fprintf(out, "Hold %s less at that moment; no setting does that.",
            report_bytes(missing, a));
    if (missing < passing)
        fprintf(out,
                "  A batch or sequence smaller by %" PRIu64
                " %% would (activations, "
                "temporaries and the request are %s)",
                rounded_up(missing, passing), report_bytes(passing, b));
    else
        fputs("  Quantising, sharding or offloading what stays would", out);
    if (missing < passing && activations != UINT32_MAX)
        fprintf(
            out, ", or recomputing activations, first those of %s",
            report_frame(r->lifetimes->snapshot, activations, false, frame));
    fputs(".", out);
    return missing;
}

static uint64_t advise_pieces(const struct run_summary *r,
                              const struct shortage *s, FILE *out)
{
    char a[REPORT_WORD];

    if (is_expandable(r))
        fprintf(out,
                "Free what pins %s of free memory earlier, or allocate it "
                "first: segments can grow already.",
                report_bytes(s->free_bytes, a));
    else
        fprintf(out,
                "Set expandable_segments:True, so that %s of fragmented free "
                "memory can be used; `larder tune` tries this and other "
                "settings.",
                report_bytes(s->free_bytes, a));
    return s->free_bytes;
}

static uint64_t advise_waiting(const struct shortage *s, FILE *out)
{
    char a[REPORT_WORD];

    fprintf(out,
            "Let the other stream catch up before this request, or use "
            "record_stream less: %s was freed but still in use by it.",
            report_bytes(s->moment.pending, a));
    return s->moment.pending;
}

uint64_t advice_for_failure(const struct run_summary *r,
                            const struct shortage *s, const char *cure,
                            uint32_t activations, FILE *out)
{
    char a[REPORT_WORD];

    if (cure != NULL) {
        fprintf(out, "%s", cure);
        return 0;
    }
    switch (s->cause) {
    case SHORTAGE_TOO_MUCH:
        return advise_less(r, s, activations, out);
    case SHORTAGE_PIECES:
        return advise_pieces(r, s, out);
    case SHORTAGE_PENDING:
        return advise_waiting(s, out);
    case SHORTAGE_STREAMS:
        fprintf(out,
                "Allocate on the stream that owns the memory, or on fewer "
                "streams: a free block of %s belonged to another.",
                report_bytes(s->stream_largest, a));
        return s->stream_largest;
    case SHORTAGE_POOLS:
        fprintf(out,
                "Release the captured graph or memory pool that holds a free "
                "block of %s before this request.",
                report_bytes(s->pool_largest, a));
        return s->pool_largest;
    case SHORTAGE_LIMIT:
        fprintf(out,
                "Raise the process's own limit "
                "(set_per_process_memory_fraction): the driver had %s left.",
                report_bytes(s->driver_free, a));
        return s->driver_free;
    case SHORTAGE_REFUSED:
        fprintf(out, "Raise the limit%s: a free block of %s was not used.",
                has_max_split(r) ? " or max_split_size_mb" : "",
                report_bytes(s->own_largest, a));
        return s->own_largest;
    }
    return 0;
}

/* ---- advice to lower a peak --------------------------------------------- */

/* What could be done, and how much it would save. */
enum remedy {
    REMEDY_NONE,
    REMEDY_UNUSED,
    REMEDY_ACTIVATIONS,
    REMEDY_TEMPORARIES,
    REMEDY_OPTIMIZER,
    REMEDY_WEIGHTS,
    REMEDY_LEAK,
    REMEDIES
};

static uint64_t of_category(const struct run_summary *r,
                            enum report_category category)
{
    for (size_t i = 0; i < r->kind_count; i++) {
        if (r->kinds[i].key == (uint32_t)category)
            return r->kinds[i].bytes;
    }
    return 0;
}

static void fill_worth(const struct run_summary *r, uint64_t worth[REMEDIES])
{
    uint32_t largest = 0;

    worth[REMEDY_NONE] = r->peak_allocated / 20;
    /* If segments can grow, their free pages can be released. */
    worth[REMEDY_UNUSED] = is_expandable(r) ? 0 : r->savable;
    worth[REMEDY_ACTIVATIONS] = of_category(r, REPORT_ACTIVATIONS) / 2;
    worth[REMEDY_TEMPORARIES] = of_category(r, REPORT_TEMPORARIES) / 2;
    worth[REMEDY_OPTIMIZER] = of_category(r, REPORT_OPTIMIZER) / 4 * 3;
    worth[REMEDY_WEIGHTS] = of_category(r, REPORT_WEIGHTS) / 2;
    /* Weights that are trained need their precision, and an uncertain category
     * that matters little is not acted on. */
    if (r->trains || worth[REMEDY_WEIGHTS] < r->peak_allocated / 4)
        worth[REMEDY_WEIGHTS] = 0;
    worth[REMEDY_LEAK] = finding_leak(r, &largest) * r->iterations.count;
}

static void advise_leak(const struct run_summary *r, uint64_t bytes, FILE *out)
{
    const struct lifetimes *l = r->lifetimes;
    uint32_t largest = 0;
    uint64_t each = finding_leak(r, &largest);
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    char frame[REPORT_FRAME];

    fprintf(
        out,
        "Free what each iteration leaves behind, %s each time from %s: about "
        "%s by now.",
        report_bytes(each, a),
        report_frame(l->snapshot,
                     report_own_frame(l->snapshot, l->allocs[largest].stack),
                     false, frame),
        report_bytes(bytes, b));
}

/* Temporaries of the backward pass do not come from a line that could be
 * changed. */
static void advise_temporaries(const struct run_summary *r, uint64_t bytes,
                               FILE *out)
{
    const struct snapshot *s = r->lifetimes->snapshot;
    uint32_t line = r->main_temporaries;
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    char frame[REPORT_FRAME];

    report_bytes(of_category(r, REPORT_TEMPORARIES), a);
    report_bytes(bytes, b);
    report_frame(s, line, false, frame);
    if (line == UINT32_MAX || frame_kind_of(s, line) < FRAME_TORCH)
        fprintf(
            out,
            "Halve the batch, or fuse what the backward pass takes apart: "
            "its temporaries are %s of the peak (most of them from %s), and "
            "half of them %s less.",
            a, frame, b);
    else
        fprintf(out,
                "Do the step at %s in place or in parts: temporaries are %s "
                "of the peak, and half of them %s less.",
                frame, a, b);
}

/* Checkpointing does not help for activations that no backward pass needs. */
static void advise_activations(const struct run_summary *r, uint64_t bytes,
                               FILE *out)
{
    char a[REPORT_WORD];
    char frame[REPORT_FRAME];

    fprintf(out, "%s: that saves about %s; the largest are from %s.",
            r->trains
                ? "Recompute activations (checkpointing), or halve the batch"
                : "Halve the batch or the sequence",
            report_bytes(bytes, a),
            report_frame(r->lifetimes->snapshot, r->main_activations, false,
                         frame));
}

static void advise_remedy(const struct run_summary *r, enum remedy remedy,
                          uint64_t bytes, FILE *out)
{
    char a[REPORT_WORD];

    report_bytes(bytes, a);
    switch (remedy) {
    case REMEDY_UNUSED:
        fprintf(out,
                "Up to %s that was free in segments partly in use could be "
                "used with expandable_segments:True; `larder tune` reports "
                "what each setting needs.",
                a);
        break;
    case REMEDY_ACTIVATIONS:
        advise_activations(r, bytes, out);
        break;
    case REMEDY_TEMPORARIES:
        advise_temporaries(r, bytes, out);
        break;
    case REMEDY_OPTIMIZER:
        fprintf(out,
                "An optimizer with state of 8 bits, or sharded or offloaded "
                "state, saves about %s.",
                a);
        break;
    case REMEDY_WEIGHTS:
        fprintf(out,
                "Keep the weights in half as many bits (quantised), or part of "
                "them elsewhere: %s less of the peak.",
                a);
        break;
    case REMEDY_LEAK:
        advise_leak(r, bytes, out);
        break;
    default:
        fputs("Nothing stands out: memory that is held is in use, and none of "
              "it for longer than needed.",
              out);
    }
}

uint64_t advice_for_peak(const struct run_summary *r, FILE *out)
{
    uint64_t worth[REMEDIES];
    int best = REMEDY_NONE;

    fill_worth(r, worth);
    for (int i = 1; i < REMEDIES; i++) {
        if (worth[i] > worth[best])
            best = i;
    }
    advise_remedy(r, (enum remedy)best, worth[best], out);
    return best == REMEDY_NONE ? 0 : worth[best];
}
