/* advice.c - one sentence on how to reduce the memory that a run needs, with
 * the bytes it saves. */
#include "report/advice.h"

#include <inttypes.h>

#include "report/remedy.h"
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
    fputs(
        "Record one: call "
        "torch.cuda.memory._record_memory_history(max_entries=1000000) before "
        "the work and torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") "
        "after it, or where it runs out of memory.",
        out);
}

/* ---- advice after a failure --------------------------------------------- */

/* By how much less a remedy would hold then; the request counts. */
static uint64_t would_spare(const struct shortage *s, enum remedy remedy)
{
    const struct moment *m = &s->moment;
    const struct snapshot *snap = m->lifetimes->snapshot;
    uint64_t sum = remedy_of_stack(snap, remedy, s->request->stack, s->asked);
    const struct lifetime *a;

    for (size_t i = 0; (a = moment_use(m, &i)) != NULL; i++)
        sum += remedy_of_stack(snap, remedy, a->stack, a->rounded);
    return sum;
}

/* A change of one call that is enough.  False: none is. */
static bool advise_call(const struct shortage *s, uint64_t missing, FILE *out)
{
    uint64_t softmax = would_spare(s, REMEDY_ATTENTION);
    uint64_t loss = would_spare(s, REMEDY_LOSS);

    if (softmax >= missing && softmax >= loss)
        fprintf(out,
                "  Fused attention (scaled_dot_product_attention) is enough: a "
                "softmax takes %s of it.",
                units_bytes(softmax));
    else if (loss >= missing)
        fprintf(out,
                "  Computing the loss in pieces is enough: with eight pieces "
                "it takes %s less.",
                units_bytes(loss));
    return softmax >= missing || loss >= missing;
}

static void advise_less(const struct run_summary *r, const struct shortage *s,
                        uint32_t activations, FILE *out)
{
    uint64_t missing = shortage_missing(s);
    uint64_t passing = shortage_passing(s, r->categories);

    fprintf(out, "Reduce the memory in use at that moment by %s%s.",
            units_bytes(missing),
            shortage_of_all(s) ? "; no setting does that" : "");
    if (advise_call(s, missing, out))
        return;
    if (missing < passing)
        fprintf(
            out,
            "  Make the batch or sequence %" PRIu64
            " %% smaller (activations, temporaries and the request take %s)",
            rounded_up(missing, passing), units_bytes(passing));
    else
        fputs("  Quantise, shard or offload what stays allocated", out);
    if (missing < passing && activations != UINT32_MAX)
        fprintf(out, ", or recompute activations, starting with those of %s",
                report_frame(r->lifetimes->snapshot, activations, false));
    fputs(".", out);
}

/* No setting is named that was not replayed. */
static void advise_pieces(const struct run_summary *r, bool replayed,
                          const char *free_bytes, FILE *out)
{
    const char *rest = replayed ? ", or allocate it first."
                                : ", or find a setting that makes it usable: "
                                  "`larder tune` replays them.";

    fprintf(out, "Free earlier what pins %s of free memory%s", free_bytes,
            is_expandable(r)
                ? ", or allocate it first: segments are expandable already."
                : rest);
}

/* Returns the bytes that it saves at that moment. */
static uint64_t advise_cause(const struct run_summary *r,
                             const struct shortage *s, uint32_t activations,
                             bool replayed, FILE *out)
{
    const char *figure = units_bytes(shortage_figure(s));

    if (s->cause == SHORTAGE_TOO_MUCH)
        advise_less(r, s, activations, out);
    else if (s->cause == SHORTAGE_PIECES)
        advise_pieces(r, replayed, figure, out);
    else if (s->cause == SHORTAGE_REFUSED)
        fprintf(out,
                "Raise the limit%s: a free block of %s was not used.  The "
                "recording does not say which rule prevented it.",
                has_max_split(r) ? " or max_split_size_mb" : "", figure);
    else
        fprintf(out, shortage_words[s->cause].advice, figure);
    return shortage_figure(s);
}

/* The most that an earlier one of the last failures lacked. */
static uint64_t find_worst(struct arena *arena, const struct run_summary *r,
                           const struct shortage *s)
{
    const struct lifetimes *l = r->lifetimes;
    const struct arena_piece *last = arena->last;
    uint32_t i = s->event;
    uint64_t worst = 0;

    for (int looked = 1; looked < REPORT_OOMS_EXPLAINED; looked++) {
        struct shortage other;

        i = lifetimes_failure(l, i);
        if (i == UINT32_MAX)
            break;
        shortage_make(arena, l, i, &other);
        if (other.cause == SHORTAGE_TOO_MUCH &&
            shortage_missing(&other) > worst)
            worst = shortage_missing(&other);
        arena_free_since(arena, last);
    }
    return worst;
}

/* What is advised is about one request. */
static void write_limits(const struct run_summary *r, const struct shortage *s,
                         uint64_t saves, uint64_t worst, FILE *out)
{
    if (worst > saves)
        fprintf(out, "  An earlier failure was %s short.", units_bytes(worst));
    if (report_allocations_after(r, s->event) == 0)
        fputs("  Nothing after that request was recorded.", out);
    else
        fputs("  This applies to that request only.", out);
}

uint64_t advice_for_failure(struct arena *arena, const struct run_summary *r,
                            const struct shortage *s, uint32_t activations,
                            const char *why_none, FILE *out)
{
    uint64_t saves = advise_cause(r, s, activations, why_none != NULL, out);

    if (why_none != NULL)
        fprintf(out, "  %s", why_none);
    write_limits(r, s, saves, find_worst(arena, r, s), out);
    return saves;
}

/* ---- advice to lower a peak --------------------------------------------- */

static bool is_offered(const struct run_summary *r, enum remedy remedy,
                       const struct remedy_worth *w)
{
    if (w->bytes <= r->peak_allocated / 20)
        return false;
    /* Weights that are trained need their precision, and an uncertain category
     * that matters little is not acted on. */
    return remedy != REMEDY_WEIGHTS ||
           (!r->trains && w->bytes >= r->peak_allocated / 4);
}

/* What changes one call is easier than what changes the program. */
static uint64_t weight(enum remedy remedy, const struct remedy_worth *w)
{
    return remedy == REMEDY_ATTENTION || remedy == REMEDY_LOSS ? 2 * w->bytes
                                                               : w->bytes;
}

static enum remedy find_best(struct arena *arena, const struct run_summary *r,
                             struct remedy_worth *out)
{
    enum remedy best = REMEDY_NONE;

    *out = (struct remedy_worth){0, 0, UINT32_MAX};
    for (int i = 1; i < REMEDIES; i++) {
        struct remedy_worth w = remedy_measure(arena, r, (enum remedy)i);

        if (is_offered(r, (enum remedy)i, &w) &&
            weight((enum remedy)i, &w) > weight(best, out)) {
            best = (enum remedy)i;
            *out = w;
        }
    }
    return best;
}

/* The line of the largest allocation that would be smaller. */
static uint32_t line_of(const struct run_summary *r,
                        const struct remedy_worth *w)
{
    const struct lifetimes *l = r->lifetimes;

    return w->largest != UINT32_MAX
               ? report_own_frame(l->snapshot, l->allocs[w->largest].stack)
               : UINT32_MAX;
}

static void advise_leak(const struct run_summary *r,
                        const struct remedy_worth *w, FILE *out)
{
    uint32_t largest;

    fprintf(out,
            "Free what each iteration leaves behind (%s each time, from %s): "
            "that saves about %s.",
            units_bytes(finding_leak(r, &largest)),
            report_frame(r->lifetimes->snapshot, line_of(r, w), false),
            units_bytes(w->bytes));
}

#define NO_PATHS "  No call path shows the origin."

/* A mark of the program is none. */
static bool has_path(const struct run_summary *r, uint32_t line)
{
    return line != UINT32_MAX && !r->lifetimes->snapshot->stacks_are_notes;
}

/* Temporaries of the backward pass do not come from a line that could be
 * changed. */
static void advise_temporaries(const struct run_summary *r,
                               const struct remedy_worth *w, FILE *out)
{
    const char *a = units_bytes(w->at_peak);
    const char *b = units_bytes(w->bytes);
    const char *frame =
        report_frame(r->lifetimes->snapshot, r->main_temporaries, false);

    if (!has_path(r, r->main_temporaries))
        fprintf(out,
                "Halve the temporaries: they take %s at the peak, and halving "
                "them lowers it by %s." NO_PATHS,
                a, b);
    else if (remedy_has_line(r))
        fprintf(out,
                "Do the step at %s in place or in parts: its temporaries take "
                "%s at the peak, and halving them lowers it by %s.",
                frame, a, b);
    else
        fprintf(out,
                "Halve the batch, or fuse operations of the backward pass: its "
                "temporaries take %s at the peak (most of them from %s), and "
                "halving them lowers it by %s.",
                a, frame, b);
}

/* Checkpointing does not help for activations that no backward pass needs. */
static void advise_activations(const struct run_summary *r,
                               const struct remedy_worth *w, FILE *out)
{
    const char *a = units_bytes(w->bytes);
    const char *frame =
        report_frame(r->lifetimes->snapshot, r->main_activations, false);

    if (!has_path(r, r->main_activations))
        fprintf(out,
                "Halve the memory that is held for a while: that saves about "
                "%s." NO_PATHS,
                a);
    else if (r->activations_known)
        fprintf(out, "%s: that saves about %s; the largest are from %s.",
                r->trains ? "Recompute activations (checkpointing), or halve "
                            "the batch"
                          : "Halve the batch or the sequence",
                a, frame);
    else
        fprintf(out,
                "Halve the memory that is held for a while, most of it from "
                "%s: that saves about %s.  Halving the batch does that if its "
                "size depends on the batch.",
                frame, a);
}

/* Whether nothing but their age speaks for most of the weights. */
static bool are_older(const struct run_summary *r)
{
    const struct snapshot *s = r->lifetimes->snapshot;
    const struct lifetime *a;
    enum report_category told;
    uint64_t older = 0;
    uint64_t all = 0;

    for (size_t i = 0; (a = moment_use(&r->peak, &i)) != NULL; i++) {
        if (r->categories[r->peak.live[i]] != REPORT_WEIGHTS)
            continue;
        all += a->rounded;
        if (a->start == LIFETIME_BEFORE && a->stack == 0 &&
            !report_category_told(s, a->user_metadata, &told))
            older += a->rounded;
    }
    return older > all - older;
}

static void advise_remedy(const struct run_summary *r, enum remedy remedy,
                          const struct remedy_worth *w, FILE *out)
{
    const char *a = units_bytes(w->bytes);
    const char *frame =
        report_frame(r->lifetimes->snapshot, line_of(r, w), false);

    switch (remedy) {
    case REMEDY_ATTENTION:
        fprintf(out,
                "Use fused attention (scaled_dot_product_attention) at %s: "
                "without the allocations of its softmax the peak is %s lower.",
                frame, a);
        break;
    case REMEDY_LOSS:
        fprintf(out,
                "Compute the loss at %s in pieces: with eight pieces the peak "
                "is %s lower.",
                frame, a);
        break;
    case REMEDY_ACTIVATIONS:
        advise_activations(r, w, out);
        break;
    case REMEDY_TEMPORARIES:
        advise_temporaries(r, w, out);
        break;
    case REMEDY_OPTIMIZER:
        fprintf(out,
                "Use an optimizer with 8-bit state, or shard or offload its "
                "state: that saves about %s if the state is 32-bit now.",
                a);
        break;
    case REMEDY_WEIGHTS:
        fprintf(out,
                are_older(r)
                    ? "Quantise what is older than the recording (most likely "
                      "weights) to half its size, or offload half of it: that "
                      "lowers the peak by %s."
                    : "Quantise the weights to half their size, or offload "
                      "half of them: that lowers the peak by %s.",
                a);
        break;
    case REMEDY_LEAK:
        advise_leak(r, w, out);
        break;
    default:
        fputs("Nothing stands out: the memory that is held is in use, and none "
              "of it longer than needed.",
              out);
    }
}

/* What could be used if it were not in pieces is a setting's to save. */
static bool is_in_pieces(const struct run_summary *r)
{
    return !is_expandable(r) && r->savable > r->peak_allocated / 20;
}

struct setting_found advice_find_setting(const struct run_summary *r,
                                         const struct report_cure *cure,
                                         bool may_help)
{
    struct setting_found found = {.words = NULL};

    if (!may_help || cure == NULL || cure->find == NULL)
        return found;
    found.words = cure->find(cure->ctx, r->lifetimes->snapshot,
                             r->lifetimes->device, &found.saves);
    if (found.words == NULL && cure->why_none != NULL)
        found.why_none = cure->why_none(cure->ctx);
    return found;
}

/* A change of code, which takes work, is accompanied by a setting, which does
 * not, or by the reason why there is none. */
void advice_for_peak(struct arena *arena, const struct run_summary *r,
                     const struct report_cure *cure, struct report_verdict *v,
                     FILE *out)
{
    struct remedy_worth w;
    enum remedy best = find_best(arena, r, &w);
    struct setting_found setting =
        advice_find_setting(r, cure, best != REMEDY_NONE || is_in_pieces(r));

    v->saves = w.bytes;
    v->saves_by = remedy_name(best);
    if (setting.words != NULL && setting.saves > w.bytes) {
        v->saves = setting.saves;
        v->saves_by = "setting";
        fputs(setting.words, out);
        return;
    }
    advise_remedy(r, best, &w, out);
    if (setting.words != NULL)
        fprintf(out, "  %s%s",
                setting.saves > 0 ? "Without changing code: " : "",
                setting.words);
    else if (setting.why_none != NULL)
        fprintf(out, "  %s", setting.why_none);
}
