/* findings_state.c - what stands out at the moment of the peak. */
#include <inttypes.h>
#include <string.h>

#include "report/findings.h"
#include "report/groups.h"
#include "report/report_words.h"

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
    size_t i;

    for (i = 0; i < m->area_count; i++) {
        if (m->areas[i].count == 0)
            sum += m->areas[i].size;
    }
    return sum;
}

void find_unused(const struct run_summary *f, struct finding_list *list)
{
    const struct moment *m = &f->peak;
    uint64_t unused = m->reserved > m->allocated + m->pending
                          ? m->reserved - m->allocated - m->pending
                          : 0;
    uint64_t whole = wholly_free(m);

    if (!worth(unused, m->reserved))
        return;
    finding_begin(list);
    fprintf(list->title->out, "%s reserved but not in use at the peak",
            report_bytes(unused));
    fprintf(list->text->out,
            "Of %s held from the driver, %.0f %% was unused at the peak, in "
            "%zu block%s.\n",
            report_bytes(m->reserved), report_percent(unused, m->reserved),
            m->gap_count, report_plural(m->gap_count));
    if (whole > 0)
        fprintf(list->text->out,
                "%s of it is in entirely free segments, which are released "
                "before memory runs out.\n",
                report_bytes(whole < unused ? whole : unused));
    if (unused > whole && worth(f->savable, m->reserved) &&
        !f->lifetimes->snapshot->settings.expandable_segments)
        fprintf(list->text->out,
                "%s is in segments that are partly in use; `larder tune` "
                "replays the settings that might use it.\n",
                report_bytes(unused - whole));
    finding_end(list);
}

void find_rounding(const struct run_summary *f, struct finding_list *list)
{
    const struct moment *m = &f->peak;
    uint64_t lost =
        m->allocated > m->requested ? m->allocated - m->requested : 0;

    if (!worth(lost, m->allocated))
        return;
    finding_begin(list);
    fprintf(list->title->out, "%s lost to rounding at the peak",
            report_bytes(lost));
    fprintf(
        list->text->out,
        "Requests are rounded up to 512 bytes or more, and a cached block may "
        "be a little larger: %zu allocation%s in use, on "
        "average %s each.  Fewer and larger tensors waste less.\n",
        m->live_count, m->live_count == 1 ? " was" : "s were",
        report_bytes(m->requested / m->live_count));
    finding_end(list);
}

void find_temporaries(const struct run_summary *f, struct finding_list *list)
{
    const struct snapshot *s = f->lifetimes->snapshot;
    uint32_t largest = 0;
    uint64_t bytes = moment_bytes_of(&f->peak, f->categories,
                                     1U << REPORT_TEMPORARIES, &largest);
    const struct lifetime *a;

    if (!worth(bytes, f->peak.allocated))
        return;
    finding_begin(list);
    a = &f->lifetimes->allocs[largest];
    fprintf(list->title->out, "Temporaries take %s of the peak",
            report_bytes(bytes));
    fprintf(list->text->out, "The largest is %s from %s",
            report_bytes(a->requested),
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
static const struct stream_share *share_out(struct hoard *h,
                                            const struct run_summary *f)
{
    const struct moment *m = &f->peak;
    struct stream_share *shares = hoard_take(
        h, f->lifetimes->snapshot->stream_count + 1, sizeof(*shares));
    size_t i;

    for (i = 0; i < m->area_count; i++) {
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
    finding_begin(list);
    fprintf(list->title->out, "%s stranded on stream %" PRIu64,
            report_bytes(unused),
            snapshot_stream(f->lifetimes->snapshot, stream));
    fprintf(list->text->out,
            "%s is reserved for that stream, and most of it was free when "
            "the other streams needed the most: freed memory is reused only "
            "on its own stream.\n",
            report_bytes(share->reserved));
    finding_end(list);
}

void find_stranded(const struct run_summary *f, struct finding_list *list)
{
    const struct snapshot *s = f->lifetimes->snapshot;
    const struct stream_share *shares = share_out(list->hoard, f);
    uint32_t stream;

    for (stream = 0; stream < s->stream_count; stream++)
        add_stranded(f, stream, &shares[stream], list);
}

void find_pending(const struct run_summary *f, struct finding_list *list)
{
    const struct moment *m = &f->peak;

    if (!worth(m->pending, m->reserved))
        return;
    finding_begin(list);
    fprintf(list->title->out, "%s freed but waiting at the peak",
            report_bytes(m->pending));
    fputs("record_stream delays the reuse of freed memory until the other "
          "stream has finished with it.  Let that stream catch up earlier.\n",
          list->text->out);
    finding_end(list);
}
