/* ranks_facts.c - what is known of several ranks, as text. */
#include "ranks_facts.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void put_rank(FILE *out, const struct report_rank *r)
{
    fprintf(out, "%s device %zu events %" PRIu64 " peaks %" PRIu64 " %" PRIu64,
            r->file, r->device, r->events, r->peak_allocated, r->peak_reserved);
    fprintf(out, " asked %" PRIu64 " cause '%s' by '%s'\n", r->asked,
            r->cause != NULL ? r->cause : "", r->requester);
    for (size_t i = 0; i < r->holder_count; i++)
        fprintf(out, "  %s %" PRIu64 " in %" PRIu64 "\n", r->holders[i].frame,
                r->holders[i].bytes, r->holders[i].count);
}

static void put_spread(FILE *out, const char *name, struct report_spread s)
{
    fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, s.min,
            s.median, s.max);
}

static void put_outlier(FILE *out, const struct report_ranks *ranks,
                        const struct report_middle *middle, size_t rank)
{
    struct report_outlier o;

    if (!report_ranks_outlier(ranks, middle, rank, &o))
        return;
    fprintf(out, "rank %zu is %s by %" PRIu64 ", '%s' by %" PRIu64 "\n", o.rank,
            o.over ? "over" : "below", o.by, o.frame != NULL ? o.frame : "",
            o.frame_by);
}

char *ranks_facts(const struct report_ranks *ranks)
{
    struct report_middle middle = report_ranks_middle(ranks);
    struct report_common cause = report_ranks_cause(ranks);
    struct report_common holder = report_ranks_holder(ranks);
    struct report_text t;

    assert_true(report_text_begin(&t));
    fputs("==== ranks\n", t.out);
    for (size_t i = 0; i < ranks->count; i++)
        put_rank(t.out, &ranks->items[i]);
    fprintf(t.out, "worst %zu failed %zu\n", report_ranks_worst(ranks),
            report_ranks_failed(ranks));
    put_spread(t.out, "allocated", report_ranks_allocated(ranks));
    put_spread(t.out, "reserved", report_ranks_reserved(ranks));
    fprintf(t.out, "middle %zu usual %" PRIu64 "\n",
            (size_t)(middle.rank - ranks->items), middle.usual);
    for (size_t i = 0; i < ranks->count; i++)
        put_outlier(t.out, ranks, &middle, i);
    fprintf(t.out, "cause of %zu as in %zu, holder of %zu as in %zu\n",
            cause.count, cause.rank, holder.count, holder.rank);
    return report_text_take(&t);
}

char *ranks_json(const struct report_ranks *ranks)
{
    struct tool_error error;
    struct report_text t;

    assert_true(report_text_begin(&t));
    if (!report_ranks_write_json(t.out, ranks, &error))
        fail_msg("%s", error.text);
    return report_text_take(&t);
}
